package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
)

const (
	emptyFile        = "the file is empty"
	severalDocuments = "the file holds several documents (---); give each a file of its own"
)

// NotThere says that a name of something does not exist, and what may have been meant: one that is spelled alike, or
// all that there are.
func NotThere(what, name string, known []string) string {
	return fmt.Sprintf("unknown %s %q", what, name) + meant(name, known)
}

// NotOneOf says that a value is not one of a closed list, and which of them may have been meant.
func NotOneOf[T ~string](value T, allowed []T) string {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	text := fmt.Sprintf("%q is not one of %s", value, strings.Join(words, ", "))
	if near := nearest.Name(string(value), words); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// Twice says that an entry of a list is there already.
func Twice(entry string) string { return fmt.Sprintf("duplicate %q", entry) }

// mostNamed is how many names are listed when none is spelled alike.
const mostNamed = 50

func meant(name string, known []string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q%s?", near, holder(near))
	}
	if len(known) == 0 || len(known) > mostNamed {
		return ""
	}
	return "; known: " + strings.Join(known, ", ")
}

// holder says what a setting takes whose name alone would lead people to write a secret into the file.
func holder(name string) string {
	switch {
	case strings.HasSuffix(name, "_env"):
		return ", which takes the name of an environment variable and not the value"
	case strings.HasSuffix(name, "_file"):
		return ", which takes the path of a file and not the value"
	}
	return ""
}

// unknownField says what is wrong with a field that a struct has not. The struct says what a field was called before in
// a tag of its own: `yaml:"revert_after" was:"lift_after"`.
func unknownField(name string, t reflect.Type) string {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("was") == name && name != "" {
			return fmt.Sprintf("%s is now called %s", name, tag(f))
		}
	}
	return fmt.Sprintf("unknown field %q", name) + meant(name, fieldNames(t))
}

// mismatch says what belongs here. A text in place of a mapping or a list is not repeated: it may be a secret.
func mismatch(t reflect.Type, n *yaml.Node) string {
	want, single := wanted(t)
	got := kindOf(n)
	if n = resolved(n); single && n.Kind == yaml.ScalarNode {
		got = fmt.Sprintf("%q", n.Value)
	}
	return "expected " + want + ", got " + got
}

func kindOf(n *yaml.Node) string {
	switch resolved(n).Kind { //nolint:exhaustive // all else is a single value
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// wanted is what fits a type; single says that it is a single value.
func wanted(t reflect.Type) (what string, single bool) {
	switch kind := t.Kind(); {
	case t == timeType:
		return "a time", true
	case t == durationType:
		return "a duration", true
	case kind == reflect.Slice:
		return "a list (its items begin with \"- \")", false
	case kind == reflect.String:
		return "a text", true
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "a whole number", true
	case kind == reflect.Float32 || kind == reflect.Float64:
		return "a number", true
	case kind == reflect.Bool:
		return "true or false", true
	default:
		return "a mapping", false
	}
}

// syntax puts the library's errors into the words of somebody who writes a file. The library has no kinds for them, so
// its messages are compared whole, and one that it words anew is shown as it is.
func (s *source) syntax(err error) Problems {
	var list []*yaml.LoadError
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		list = many.Errors
	} else if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		list = append(list, one)
	}
	var out Problems
	for _, e := range list {
		mark := e.Mark
		if mark.Line == 0 {
			mark = e.ContextMark
		}
		p := Problem{File: s.name, Line: max(mark.Line, 1), Col: max(mark.Column, 1), Kind: Syntax}
		p.Text = said(e, s.at(p.Line, p.Col))
		out = append(out, p)
	}
	if len(out) == 0 {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		out = append(out, Problem{File: s.name, Line: 1, Col: 1, Text: text, Kind: Syntax})
	}
	return out
}

// at is the character at a place; 0 at the end of its line.
func (s *source) at(line, col int) rune {
	if line > len(s.lines) {
		return 0
	}
	text := []rune(s.lines[line-1])
	if col > len(text) {
		return 0
	}
	return text[col-1]
}

func said(e *yaml.LoadError, here rune) string {
	msg := strings.TrimPrefix(e.Message, "yaml: ")
	indentation := []string{"did not find expected key", "did not find expected '-' indicator"}
	switch {
	case here == '\t':
		return "there is a tab; YAML is indented with spaces only"
	case msg == "found character that cannot start any token":
		return fmt.Sprintf("a value cannot begin with %q; put it in quotes", here)
	case msg == "mapping values are not allowed in this context":
		return "\": \" in the middle of a value; indent the line like its neighbors, or put the value in quotes"
	case slices.Contains(indentation, msg):
		return "the indentation fits none of the lines above"
	case e.ContextMsg != "" && e.ContextMark.Line > 0 && e.ContextMark.Line != e.Mark.Line:
		return fmt.Sprintf("%s, in what begins on line %d", msg, e.ContextMark.Line)
	default:
		return msg
	}
}
