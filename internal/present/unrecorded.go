package present

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ofUnrecorded has what is said of writes that the database doesn't have.
func ofUnrecorded(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteUnrecorded:
		return unrecorded(n)
	case incident.NoteRecordUnknown:
		return "It isn't known whether a change of the past is still in place that this database has no record of" +
			because(n.Why) + "."
	}
	return ""
}

// unrecorded says which object carries a write without a record, what it holds now, and where that may be from.
func unrecorded(n incident.Note) string {
	if n.LastWrite == nil {
		return n.Target.Object() + " was changed by a vllm-medic, and this database has no record of it."
	}
	object, last := n.Target.Object(), *n.LastWrite
	w, known := incident.ParseWriteID(last.ID)
	var text string
	switch {
	case !known:
		text = fmt.Sprintf("%s has the annotation %s with %q, which no vllm-medic has written: who changed the object isn't "+
			"known.", object, incident.LastWriteAnnotation, last.ID)
	default:
		what := "changed"
		if w.Op == incident.OpUndo {
			what = "rolled back"
		}
		text = fmt.Sprintf("A vllm-medic has %s %s, and this database has no record of it (incident %s, %s). The database "+
			"is older than that, or it was another installation.", what, object, w.Incident,
			w.Since.UTC().Format("2006-01-02 15:04 UTC"))
	}
	text += " " + strings.Join(settings(last), " ") + " It isn't reverted automatically."
	if n.Config != "" {
		text += " By hand:"
	}
	return text
}

// settings says of each field what it holds now, and what was there before as far as that is noted.
func settings(last incident.LastWrite) []string {
	var out []string
	unnoted := false
	for _, s := range last.Settings {
		now := s.Field + " is " + ValueText(s.Value) + " now"
		if s.Unread != "" {
			now = s.Field + " can't be read (" + clause(s.Unread) + ")"
		}
		switch {
		case s.Before == nil:
			unnoted = true
		case *s.Before == s.Value && s.Unread == "":
			now += ", as before the change"
		default:
			now += "; a vllm-medic noted that it replaced " + quoted(*s.Before)
		}
		out = append(out, now+".")
	}
	if unnoted {
		out = append(out, "What was there before isn't noted: compare with the manifest or the Helm values.")
	}
	return out
}

// quoted is a value that anybody may have noted.
func quoted(v incident.Value) string {
	if !v.Present {
		return "no value"
	}
	return fmt.Sprintf("%q", v.Text)
}

// ByHand are the commands with which a person looks into a write without a record, sets noted values again, and has it
// not told again.
func ByHand(last incident.LastWrite) string {
	kubectl := "kubectl -n " + ShellWord(last.Target.Namespace) + " "
	object := " " + ShellWord(last.Resource+"/"+last.Target.Name)
	var out []string
	for _, s := range last.Settings {
		if s.Patch == "" {
			continue
		}
		out = append(out, fmt.Sprintf("# set %s back to %s", Line(s.Field), ValueText(*s.Before)),
			kubectl+"patch"+object+" --type=json -p "+ShellWord(s.Patch))
	}
	if rollsOut(last.Resource) {
		out = append(out, "# what it was like before", kubectl+"rollout history"+object)
	}
	out = append(out, "# when its value is right, so that this isn't reported again",
		kubectl+"annotate"+object+" "+incident.LastWriteAnnotation+"-")
	return strings.Join(out, "\n")
}

// rollsOut says whether kubectl shows the history of such objects.
func rollsOut(resource string) bool {
	return resource == "deployments.apps" || resource == "statefulsets.apps"
}

// ShellWord quotes what a shell would read as more than one word, or as something else.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:/", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
