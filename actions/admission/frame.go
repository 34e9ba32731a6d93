package admission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/actions/live"
)

// mostWords is how many words of a command line, or elements of a list, a policy looks at. What is longer is refused.
const mostWords = 256

// longestNote bounds what the bot writes into an annotation, in characters.
const longestNote = 256

// Frame are the variables that every policy begins with. What the API server keeps up itself is left out: the version,
// the generation and who has set which field.
func Frame() []Variable {
	return []Variable{
		{"key", `request.namespace + "/" + request.name`},
		{"index", indexes(mostWords)},
		{"notes", `has(object.metadata.annotations) ? object.metadata.annotations : {}`},
		{"notes_was", `has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}`},
		{"frame", allOf(
			except("object", "oldObject", "metadata", "spec"),
			except("object.metadata", "oldObject.metadata",
				"annotations", "generation", "managedFields", "resourceVersion"),
			fmt.Sprintf(`(!(%[1]q in variables.notes) || variables.notes[%[1]q].size() <= %[2]d)`,
				live.Annotation, longestNote),
		)},
	}
}

// indexes is the list 0 to n-1. CEL has no other way to count.
func indexes(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// except says that two maps are equal in all but some keys.
func except(now, was string, keys ...string) string {
	but := fmt.Sprintf("k == %q", keys[0])
	if len(keys) > 1 {
		but = "k in [" + quoted(keys) + "]"
	}
	return fmt.Sprintf("%[1]s.all(k, %[3]s || k in %[2]s && %[1]s[k] == %[2]s[k])\n"+
		"&& %[2]s.all(k, %[3]s || k in %[1]s)", now, was, but)
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for n, w := range words {
		out[n] = strconv.Quote(w)
	}
	return strings.Join(out, ", ")
}

// allOf and anyOf put conditions one below the other.
func allOf(conditions ...string) string { return strings.Join(conditions, "\n&& ") }

func anyOf(conditions ...string) string { return strings.Join(conditions, "\n|| ") }

// noted is the note of a field that the object had before, by which an undo is allowed; "" for none.
func noted(s Shape) Variable {
	return Variable{s.ID + "_undo", fmt.Sprintf(
		`%[1]q in variables.notes_was ? string(variables.notes_was[%[1]q]) : ""`, live.UndoNote(s.Setting),
	)}
}

// turns says that an object of the table was changed in nothing but the field and the bot's notes of it: from one value
// to another, both CEL strings. The new one is within the limits, or the one that the note of an earlier change has.
// The note is what it was, or the value that was just replaced.
func turns(s Shape, now, was, filled string) string {
	note := live.UndoNote(s.Setting)
	value := []string{
		now + " == " + was,
		now + " == variables." + s.ID + "_undo",
		fmt.Sprintf(`%[1]s.matches("^[1-9][0-9]{0,15}$") && int(%[1]s) >= variables.%[2]s[variables.key][0]`+
			` && int(%[1]s) <= variables.%[2]s[variables.key][1]`, now, limitsOf(s.ID)),
	}
	if filled != "" {
		value = append(value, fmt.Sprintf(`variables.%s_undo == %q && %s == %q`, s.ID, live.UndoAbsent, now, filled))
	}
	return allOf(
		"variables.key in variables."+limitsOf(s.ID),
		"variables.frame",
		except("variables.notes", "variables.notes_was", live.Annotation, note),
		fmt.Sprintf(`(%[1]q in variables.notes ? variables.notes[%[1]q] in [dyn(variables.%[2]s_undo), dyn(%[3]s)]`+
			` : variables.%[2]s_undo == "")`, note, s.ID, was),
		"("+anyOf(value...)+")",
	)
}
