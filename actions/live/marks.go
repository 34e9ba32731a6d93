package live

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Mark is what the API server says of the field at this moment.
func (f Field) Mark() incident.Mark {
	return incident.Mark{Version: f.Version, Generation: f.Object.GetGeneration(), Writers: f.writers()}
}

// writers are the clients that have set the field, each with the time. Whoever writes another value takes the field
// from all others, so that a value that went there and back again leaves other writers, or another time.
func (f Field) writers() string {
	var out []string
	for _, m := range f.Object.GetManagedFields() {
		if m.FieldsV1 == nil || !hasPath(m.FieldsV1.GetRawBytes(), f.Path) {
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

// Made says whether a write took effect since the mark was taken. That it did not is only said when nothing has touched
// the field; where somebody may have set it back, it is undecided.
func (f Field) Made(id string, before *incident.Mark) incident.Truth {
	switch {
	case f.Carries(id):
		return incident.True
	case before == nil || *before == (incident.Mark{}):
		return incident.Undecided
	}
	now := f.Mark()
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

// Reversal is who has set the field to what it holds.
func (f Field) Reversal() *incident.Reversal {
	r := &incident.Reversal{Value: f.Value}
	last := lastWriter(f.Object, f.Path)
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
	case m == "" || m == incident.FieldManager:
		return ""
	default:
		return "change it where " + m + " takes it from"
	}
}
