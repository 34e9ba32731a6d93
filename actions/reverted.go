package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Mark looks at the field just before a write, so that a later look can tell whether the write took effect. What keeps
// the field from being written is for the write to say; an error means that the cluster could not be asked.
func (t *turner) Mark(ctx context.Context, pool incident.Pool, step incident.Step) (incident.Mark, error) {
	s, err := t.find(ctx, step.Kind, pool, step.Target)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no):
		return incident.Mark{}, nil
	case err != nil:
		return incident.Mark{}, fmt.Errorf("look at %s before its write: %w", step.Target, err)
	}
	return s.live().mark(), nil
}

// Reversal says who has changed the field after a step, or its undo, had set it; nil while it holds that value. A field
// that cannot be read is not a changed one: that is an error. It reads once and writes nothing.
func (t *turner) Reversal(ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op) (*incident.Reversal, error) {
	s, err := t.find(ctx, step.Kind, pool, step.Target)
	if errors.Is(err, errGone) {
		return gone("the object was deleted"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", step.Target, err)
	}
	now := s.live()
	_, to := ends(step, op)
	switch {
	case now.target.UID != step.Target.UID:
		return gone("the object was deleted and made again"), nil
	case now.holds(to):
		return nil, nil
	case now.unread:
		return nil, fmt.Errorf("look at %s: %w", step.Target, now.broken)
	}
	return now.reversal(), nil
}

func gone(what string) *incident.Reversal { return &incident.Reversal{Gone: what} }

// mark is what the API server says of the field at this moment.
func (l live) mark() incident.Mark {
	return incident.Mark{Version: l.version, Generation: l.object.GetGeneration(), Writers: l.writers()}
}

// writers are the clients that have set the field, each with the time. Whoever writes another value takes the field
// from all others, so that a value that went there and back again leaves other writers, or another time.
func (l live) writers() string {
	var out []string
	for _, m := range l.object.GetManagedFields() {
		if m.FieldsV1 == nil || !covers(m.FieldsV1.GetRawBytes(), l.path) {
			continue
		}
		at := ""
		if m.Time != nil {
			at = m.Time.UTC().Format("2006-01-02T15:04:05Z")
		}
		out = append(out, strings.Join([]string{m.Manager, string(m.Operation), m.Subresource, at}, " "))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// carries says whether the object carries the id of the write, whatever the field holds by now: the write took effect.
func (l live) carries(id string) bool {
	return l.subresource == "" && l.object.GetAnnotations()[Annotation] == id
}

// made says whether a write took effect since the mark was taken. That it did not is only said when nothing has touched
// the field; where somebody may have set it back, it is undecided.
func (l live) made(id string, before *incident.Mark) incident.Truth {
	switch {
	case l.carries(id):
		return incident.True
	case before == nil || *before == (incident.Mark{}):
		return incident.Undecided
	}
	now := l.mark()
	switch {
	case now.Version != "" && now.Version == before.Version:
		return incident.False
	case now.Generation != before.Generation || now.Writers != before.Writers:
		return incident.Undecided
	case now.Generation == 0 && now.Writers == "":
		return incident.Undecided // the API server says neither
	}
	return incident.False
}

// reversal is who has set the field to what it holds.
func (l live) reversal() *incident.Reversal {
	r := &incident.Reversal{Value: l.value}
	last := lastWriter(l.object, l.path)
	r.By, r.Hint = last.Manager, toLast(last)
	if last.Time != nil {
		r.At = last.Time.UTC()
	}
	return r
}

// toLast is where a change has to be made so that this client does not take it back.
func toLast(by managedFields) string {
	switch m := by.Manager; {
	case m == argoManager, m == fluxManager, m == fluxHelmManager:
		return "change it in Git"
	case strings.EqualFold(m, "helm"):
		return "change it in the release's values"
	case strings.HasPrefix(m, "kubectl"):
		return "ask who changed it"
	case m == hpaManager && by.Subresource == "scale":
		return "change it in the autoscaler"
	case m == "" || m == Manager:
		return ""
	default:
		return "change it where " + m + " takes it from"
	}
}
