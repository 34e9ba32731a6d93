package live

import (
	"strconv"
)

// UndoAbsent is what a note of an undo says where there was no value.
const UndoAbsent = "absent"

// UndoNote is the annotation that keeps the value of a setting which the bot replaced, where that is not within the
// limits: a policy of the API server lets nothing beyond them pass, but for the way back to what others had set.
func UndoNote(setting string) string { return "vllm-medic.io/undo-to." + setting }

// toNote is the value that has to be noted before it is replaced; false for one within the limits. They are the same
// conditions as a policy's (actions/admission): a plain number between the two.
func (f Field) toNote() (string, bool) {
	if !f.Value.Present {
		return UndoAbsent, true
	}
	n, err := strconv.ParseInt(f.Value.Text, 10, 64)
	plain := err == nil && n > 0 && strconv.FormatInt(n, 10) == f.Value.Text
	return f.Value.Text, !plain || f.Limits.Check(n) != nil
}

// notes are the annotations of a write.
func (f Field) notes(id string) map[string]string {
	out := map[string]string{Annotation: id}
	if value, outside := f.toNote(); outside && f.Target.Setting != "" {
		out[UndoNote(f.Target.Setting)] = value
	}
	return out
}
