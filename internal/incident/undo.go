package incident

import "slices"

// Undoable returns the steps that a person can have rolled back now, the latest first: exactly those of which an undo
// is not refused.
func (i Incident) Undoable() []Step {
	if i.DryRun || !slices.Contains(transitions[i.State][KindDecided], StateUndoing) {
		return nil
	}
	out := slices.DeleteFunc(i.Applied(), func(s Step) bool {
		return i.OnTopOf(s) != "" || i.Active != nil && i.Active.Step != s.ID
	})
	slices.Reverse(out)
	return out
}

// OnTopOf names the step that was applied on top of this one, or "": the same field of the same object, later. Undoing
// the older one first would find a value that is not its own.
func (i Incident) OnTopOf(s Step) string {
	for _, o := range i.Applied() {
		if o.ID != s.ID && o.Target.Key() == s.Target.Key() && o.Target.Field == s.Target.Field &&
			o.AppliedAt.After(s.AppliedAt) {
			return o.Title
		}
	}
	return ""
}

// OnlyDryRun says of an applied step that it was only a dry run: nothing was written.
func (i Incident) OnlyDryRun(s Step) bool { return i.DryRun && !s.Written }
