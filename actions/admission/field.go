package admission

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/actions/live"
)

// First stands in a path for the first element of a list.
const First = "0"

// Field is the shape of a whole number of the object: Path leads to it from spec. Filled is what the API server fills
// in where it is absent; empty when nothing.
type Field struct {
	Path    []string
	Setting string
	Filled  string
	// Parent says that the map which holds the field may come and go with it. The API server then fills in Filled for
	// the other fields of that map as well.
	Parent bool
}

// Shape is the shape of the field's changes.
func (f Field) Shape() Shape {
	last := f.Path[len(f.Path)-1]
	id := snake(f.Setting)
	if f.Filled != "" && !f.Parent {
		id += "_filled" // another kind has the setting without
	}
	s := Shape{ID: id, Setting: f.Setting, Field: "spec." + strings.Join(f.Path, ".")}
	s.Field = strings.ReplaceAll(s.Field, "."+First, "["+First+"]")
	now, was := walk("object.spec", f.Path), walk("oldObject.spec", f.Path)
	same := make([]string, 0, len(f.Path))
	at, before := "object.spec", "oldObject.spec"
	if f.Parent {
		now, was = "variables."+s.ID+"_in", "variables."+s.ID+"_was_in"
		s.Variables = append(s.Variables, parent(now, "object.spec", f.Path[0]), parent(was, "oldObject.spec", f.Path[0]))
		same = append(same, except(at, before, f.Path[0]), f.fills(now, was))
	} else {
		for _, name := range f.Path {
			same = append(same, step(at, before, name))
			at, before = member(at, name), member(before, name)
		}
	}
	s.Variables = append(s.Variables, noted(s), value(s.ID+"_now", now, last), value(s.ID+"_was", was, last))
	s.Variables = append(s.Variables, Variable{s.ID, allOf(
		allOf(same...), turns(s, "variables."+s.ID+"_now", "variables."+s.ID+"_was", f.Filled),
	)})
	return s
}

// fills says that a map has come with the field, has gone with it, or is the same in all others.
func (f Field) fills(now, was string) string {
	last := f.Path[len(f.Path)-1]
	return fmt.Sprintf(
		"%[1]s.all(k, k == %[3]q || (k in %[2]s ? %[1]s[k] == %[2]s[k] : !has(oldObject.spec.%[4]s)"+
			" && %[1]s[k] == %[5]s))\n&& %[2]s.all(k, k == %[3]q || k in %[1]s || !has(object.spec.%[4]s) && %[2]s[k] == %[5]s)",
		now, was, last, f.Path[0], f.Filled,
	)
}

func parent(name, of, field string) Variable {
	return Variable{strings.TrimPrefix(name, "variables."), fmt.Sprintf("has(%[1]s.%[2]s) ? %[1]s.%[2]s : {}", of, field)}
}

// step says that two maps or lists are equal in all but one member.
func step(now, was, name string) string {
	if name != First {
		return except(now, was, name)
	}
	return fmt.Sprintf("size(%[1]s) == size(%[2]s) && size(%[1]s) > 0 && size(%[1]s) <= %[3]d\n"+
		"&& variables.index.all(i, i == 0 || i >= size(%[1]s) || %[1]s[i] == %[2]s[i])", now, was, mostWords)
}

// walk leads to the map that holds the last name of a path.
func walk(from string, path []string) string {
	for _, name := range path[:len(path)-1] {
		from = member(from, name)
	}
	return from
}

func member(of, name string) string {
	if name == First {
		return of + "[0]"
	}
	return of + "." + name
}

// value is a field as a string, as incident.Value has it.
func value(name, in, field string) Variable {
	return Variable{name, fmt.Sprintf("has(%[1]s.%[2]s) ? string(%[1]s.%[2]s) : %[3]q", in, field, live.UndoAbsent)}
}

// snake is a name as a CEL identifier: minReplicas and max-num-batched-tokens as min_replicas and
// max_num_batched_tokens.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'A' && r <= 'Z':
			b.WriteString("_" + strings.ToLower(string(r)))
		case r == '-':
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
