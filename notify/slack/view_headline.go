package slack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// dryRunMark is the first thing that a message of a dry run says, whatever else it says.
const dryRunMark = "🧪 [DRY RUN] "

// headline says what happened and how bad it is; after a change, what is going on. It is one line of a phone where the
// names allow it.
func headline(inc incident.Incident) string {
	icon, text := icon(inc)+" ", subject(inc)+": "+news(inc)
	if inc.DryRun {
		icon = dryRunMark
	}
	return icon + text
}

// subject is the pool, or the alerts that lead to none.
func subject(inc incident.Incident) string {
	if inc.Pool == "" {
		return firing(inc)
	}
	return clip(line(inc.Pool), 60)
}

// firing names the alerts: the first one, and how many others there are. Whether one of them has resolved meanwhile
// does not change the order, which would look like news.
func firing(inc incident.Incident) string {
	names := inc.AlertNames()
	if len(names) == 0 {
		return "alerts"
	}
	text := clip(line(slices.Min(names)), 60)
	if n := len(names) - 1; n > 0 {
		text += " and " + plural(n, "other")
	}
	return text
}

// icon is the severity while something is wrong. Color never is the only sign: the headline says the same.
func icon(inc incident.Incident) string {
	switch {
	case inc.State == incident.StateClosed && resolved(inc):
		return "✅"
	case inc.State == incident.StateClosed:
		return "⚪"
	case inc.Pool == "":
		return "🟠" // nobody has looked how bad it is
	case !inc.HealthySince.IsZero():
		return "🟢"
	case inc.Severity() == "critical", inc.Severity() == "page":
		return "🔴"
	}
	return "🟠"
}

// resolved says that the signals were healthy when the incident ended.
func resolved(inc incident.Incident) bool { return inc.Pool != "" && !inc.HealthySince.IsZero() }

// news is what the headline says of the pool.
func news(inc incident.Incident) string {
	switch {
	case inc.Pool == "" && inc.State == incident.StateClosed:
		return "resolved after " + incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)) + " (no pool configured)"
	case inc.Pool == "":
		return "no pool configured"
	case resolved(inc) && inc.State == incident.StateClosed:
		return "resolved in " + incident.FormatDuration(inc.HealthySince.Sub(inc.OpenedAt))
	case inc.State == incident.StateClosed:
		return "closed after " + incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)) + unchangedText(inc)
	case inc.State.Running():
		return underway(inc)
	case !inc.HealthySince.IsZero():
		return healthyNews(inc)
	}
	if s, ok := offered(inc); ok {
		if v := s.Verification; v != nil && v.Verdict == incident.VerdictWorse {
			return change(s) + " made it worse"
		}
		return change(s) + " didn't help"
	}
	switch s, ok := latest(inc); {
	case !ok:
	case s.State == incident.StepFailed:
		return "couldn't " + change(s)
	case s.State == incident.StepReverted:
		return change(s) + " was reverted"
	case s.State == incident.StepUndone && stale(inc):
		return change(s) + " rolled back"
	case inc.OnlyDryRun(s) && s.State == incident.StepApplied:
		return "dry run passed"
	case s.State == incident.StepApplied && improved(s) && inc.State == incident.StateDeciding:
		return "better, not fixed" + beyondStill(inc)
	case s.State == incident.StepApplied && stale(inc):
		return change(s) + " is in place"
	}
	return trouble(inc)
}

// unchangedText says of a closed incident that nothing was done to it.
func unchangedText(inc incident.Incident) string {
	if !changed(inc) {
		return ", no change made"
	}
	return ""
}

// trouble is the worst reading with its limit, else the alerts: a cause without a number says less.
func trouble(inc incident.Incident) string {
	if r, ok := present.Worst(inc); ok && !stale(inc) {
		return clip(line(r.Label()), 50) + " " + r.Text() + limitText(r)
	}
	if inc.Diagnosis == nil && !inc.ReadAt.IsZero() {
		return firing(inc) + " firing, no diagnosis"
	}
	return firing(inc) + " firing"
}

// beyondStill is the worst reading after a change that helped; empty when none is out of its limits.
func beyondStill(inc incident.Incident) string {
	if r, ok := present.Worst(inc); ok && !stale(inc) {
		return ". " + clip(line(r.Label()), 50) + " " + r.Text() + limitText(r)
	}
	return ""
}

// stale says that the readings are older than the last change: they say nothing about now.
func stale(inc incident.Incident) bool {
	return !inc.ChangedAt.IsZero() && inc.ReadAt.Before(inc.ChangedAt)
}

func improved(s incident.Step) bool {
	return s.Verification != nil && s.Verification.Verdict == incident.VerdictImproved
}

// underway is what is being done, while readings of before would say nothing about now.
func underway(inc incident.Incident) string {
	a := inc.Active
	if a == nil {
		return string(inc.State)
	}
	s, ok := inc.Step(a.Step)
	switch {
	case !ok:
		return string(inc.State)
	case a.Op == incident.OpUndo:
		return "rolling back " + change(s)
	case a.Phase == incident.PhaseRollout && s.Kind.RollsOut():
		return "rolling out " + change(s)
	case a.Phase == incident.PhaseRollout:
		return change(s) + " written, not live yet"
	case a.Phase == incident.PhaseSettle:
		return change(s) + " is live"
	case a.Phase == incident.PhaseVerify && inc.DryRun:
		return "dry run of " + change(s)
	case a.Phase == incident.PhaseVerify:
		return soFar(s, a) + change(s)
	}
	return "applying " + change(s)
}

// soFar is what the checks after a change say until now.
func soFar(s incident.Step, a *incident.Active) string {
	switch v := s.Verification; {
	case v == nil || a.Readings == 0:
		return "checking "
	case v.Verdict == incident.VerdictImproved, v.Verdict == incident.VerdictRecovered:
		return "improving after "
	case v.Verdict == incident.VerdictWorse:
		return "maybe worse after "
	}
	return "no effect yet of "
}

func healthyNews(inc incident.Incident) string {
	if active := inc.Mitigations(); len(active) > 0 {
		return "recovered, temporary " + noun(active[len(active)-1]) + " in place"
	}
	if s, ok := latest(inc); ok && s.State == incident.StepApplied && !inc.OnlyDryRun(s) {
		return "recovered after " + change(s)
	}
	if inc.ClosesOnResolve() && inc.ChangedAt.IsZero() {
		return "healthy, but " + firing(inc) + " still firing"
	}
	return "healthy again"
}

// noun is what a step leaves behind.
func noun(s incident.Step) string {
	if s.Kind == incident.StepThrottle {
		return "throttle"
	}
	return "change"
}

// change is a step in the middle of a sentence: "scale 2 → 3".
func change(s incident.Step) string {
	return uncapital(verb(s, incident.OpApply))
}

// uncapital is a text of ours in the middle of a sentence.
func uncapital(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// offered is the step whose rollback is offered.
func offered(inc incident.Incident) (incident.Step, bool) {
	if inc.UndoOffered == "" || inc.State != incident.StateDeciding {
		return incident.Step{}, false
	}
	return inc.Step(inc.UndoOffered)
}

// ran are the steps that were run, as far as the incident still knows them, the one that was decided on last at
// the end.
func ran(inc incident.Incident) []incident.Step {
	all := slices.Clone(inc.AppliedEarlier)
	if inc.Plan != nil {
		all = append(all, inc.Plan.Steps...)
	}
	all = slices.DeleteFunc(all, func(s incident.Step) bool {
		switch s.State {
		case incident.StepApplied, incident.StepFailed, incident.StepUndone, incident.StepReverted, incident.StepApplying,
			incident.StepUndoing:
			return false
		case incident.StepProposed, incident.StepApproved, incident.StepDenied, incident.StepExpired,
			incident.StepSuperseded, incident.StepRefused:
		}
		return true
	})
	decided := func(s incident.Step) int {
		for n, d := range slices.Backward(inc.Decisions) {
			if d.Step == s.ID {
				return n
			}
		}
		return -1
	}
	slices.SortStableFunc(all, func(a, b incident.Step) int { return cmp.Compare(decided(a), decided(b)) })
	return all
}

// latest is the step that was run last.
func latest(inc incident.Incident) (incident.Step, bool) {
	all := ran(inc)
	if len(all) == 0 {
		return incident.Step{}, false
	}
	return all[len(all)-1], true
}

// limitText is a reading's limit in brackets, with a space before it.
func limitText(r incident.Reading) string {
	if text := present.Limit(r); text != "" {
		return " (" + text + ")"
	}
	return ""
}

// push is the text for notifications, which show no blocks: what is wrong, how bad it is, what is asked, until when. It
// is what a lock screen shows, in times of UTC because nothing is rendered there.
func push(inc incident.Incident) string {
	text := subject(inc) + ": " + news(inc)
	if inc.DryRun {
		text = dryRunMark + text
	}
	text = strings.TrimRight(defuse(text, maxHeader*2), ".") + "."
	if ask := asking(inc); ask != "" {
		text += " " + defuse(ask, 300)
	}
	return text + " " + reference(inc.ID, 0)
}

// asking is what a person should do, or that there is nothing to do.
func asking(inc incident.Incident) string {
	if s, ok := offered(inc); ok {
		return "Roll back to " + valueText(s.Undo) + "?" + otherwise(inc, " If no one responds by ", ", it stays at "+
			valueText(s.To)+".")
	}
	open := questions(inc)
	switch {
	case inc.Pool == "":
		return ""
	case inc.State == incident.StateClosed:
		return outcomeText(inc)
	case inc.State == incident.StateDeciding && len(open) > 0:
		by := otherwise(inc, " by ", "")
		if inc.DryRun {
			return "Dry run: approve" + by + ": " + change(open[0]) + "? Nothing will change."
		}
		return "Approve" + by + ": " + change(open[0]) + "."
	case inc.State == incident.StateDeciding, needsHuman(inc):
		return "Needs a human."
	case inc.State.Running(), !inc.HealthySince.IsZero():
		return "No action needed."
	case inc.State == incident.StateReceived, inc.State == incident.StateInvestigating:
		return "Investigating."
	}
	return ""
}

// outcomeText is what was changed in the life of an incident that is over.
func outcomeText(inc incident.Incident) string {
	var names []string
	for _, m := range made(inc) {
		if m.DryRun {
			continue
		}
		name := changeOf(m)
		switch m.State { //nolint:exhaustive // the others are still in place
		case incident.StepUndone:
			name += " (rolled back)"
		case incident.StepReverted:
			name += " (reverted)"
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0 && resolved(inc):
		return "Nothing was changed."
	case len(names) == 0:
		return "" // the headline says so
	}
	return "Changed: " + strings.Join(capped(names, 3), ", ") + "."
}

// otherwise puts the deadline between two texts; empty where there is none.
func otherwise(inc incident.Incident, before, after string) string {
	if inc.Plan == nil || inc.Plan.ExpiresAt.IsZero() {
		return ""
	}
	return before + inc.Plan.ExpiresAt.UTC().Format("15:04 UTC") + after
}

// needsHuman says that a step ended badly and nobody has looked after it since.
func needsHuman(inc incident.Incident) bool {
	return inc.HealthySince.IsZero() && slices.ContainsFunc(ran(inc), func(s incident.Step) bool {
		return s.State == incident.StepFailed
	})
}
