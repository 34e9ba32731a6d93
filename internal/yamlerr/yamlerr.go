// Package yamlerr puts the errors of the YAML library into the words of somebody who writes a file and has never seen our Go types.
package yamlerr

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
)

// Problem is one error with its place in the file, from 1.
type Problem struct {
	Line, Col int
	Text      string
	// Duplicate says that a key is given twice: the library decodes nothing of such a mapping.
	Duplicate bool
}

// Problems are the single errors in what the library returned for data. The types are those that it decodes into; their fields are what an unknown
// one may have meant.
func Problems(err error, data []byte, types ...reflect.Type) []Problem {
	known := map[string]reflect.Type{}
	for _, t := range types {
		collect(known, t)
	}
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		out := make([]Problem, len(many.Errors))
		for i, e := range many.Errors {
			out[i] = one(e, data, known)
		}
		return out
	}
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		return []Problem{one(e, data, known)}
	}
	return []Problem{{Line: 1, Col: 1, Text: strings.TrimPrefix(err.Error(), "yaml: ")}}
}

// collect finds every type at or below t by the name that the library calls it.
func collect(known map[string]reflect.Type, t reflect.Type) {
	if t == nil || known[t.String()] != nil {
		return
	}
	known[t.String()] = t
	switch t.Kind() { // the other kinds have nothing below them
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(known, t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			collect(known, f.Type)
		}
	}
}

var (
	unknownField = regexp.MustCompile(`^field (.+) not found in type (\S+)$`)
	setTwice     = regexp.MustCompile(`^field (.+) already set in type \S+$`)
	definedTwice = regexp.MustCompile(`^mapping key "(.*)" already defined at line (\d+)$`)
	wrongKind    = regexp.MustCompile("(?s)^cannot construct !!(\\w+)(?: `(.*)`)? into (\\S+)$")
)

func one(e *yaml.LoadError, data []byte, known map[string]reflect.Type) Problem {
	mark := e.Mark
	if mark.Line == 0 {
		mark = e.ContextMark
	}
	p := Problem{Line: max(mark.Line, 1), Col: max(mark.Column, 1)}
	msg := strings.TrimPrefix(e.Message, "yaml: ")
	if m := unknownField.FindStringSubmatch(msg); m != nil {
		p.Text = unknown(m[1], known[m[2]])
	} else if m := setTwice.FindStringSubmatch(msg); m != nil {
		p.Text, p.Duplicate = fmt.Sprintf("the field %q is given twice", m[1]), true
	} else if m := definedTwice.FindStringSubmatch(msg); m != nil {
		p.Text, p.Duplicate = fmt.Sprintf("the field %q is given twice, first on line %s", m[1], m[2]), true
	} else if m := wrongKind.FindStringSubmatch(msg); m != nil {
		p.Text = mismatch(m[1], m[2], m[3], known[m[3]])
	} else {
		p.Text = syntax(msg, e, at(data, p))
	}
	return p
}

// unknown names the field that may have been meant, or all that there are.
func unknown(name string, in reflect.Type) string {
	text := fmt.Sprintf("there is no field %q here", name)
	fields := Fields(in)
	switch near := nearest.Name(name, fields); {
	case near != "":
		text += fmt.Sprintf("; did you mean %q?", near)
	case len(fields) > 0:
		text += "; there are " + strings.Join(fields, ", ")
	}
	return text
}

// Fields are the names of a struct's fields as a file has them.
func Fields(t reflect.Type) []string {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline"):
			out = append(out, Fields(f.Type)...)
		case f.IsExported() && name != "" && name != "-":
			out = append(out, name)
		}
	}
	return out
}

// mismatch says what belongs here. A text in place of a mapping or a list is not repeated: it may be a secret.
func mismatch(tag, value, typ string, t reflect.Type) string {
	want, short := wanted(typ, t)
	got := "a single value"
	switch {
	case tag == "map":
		got = "a mapping"
	case tag == "seq":
		got = "a list"
	case tag == "null":
		got = "nothing"
	case short:
		got = fmt.Sprintf("%q", value)
	}
	return want + " is wanted here, not " + got
}

// wanted is what fits a type; short says that it is a single value.
func wanted(typ string, t reflect.Type) (what string, short bool) {
	kind := reflect.Invalid
	if t != nil {
		kind = t.Kind()
	}
	switch {
	case kind == reflect.Slice || strings.HasPrefix(typ, "[]"):
		return "a list (its items begin with \"- \")", false
	case kind == reflect.String || typ == "string":
		return "a text", true
	case kind >= reflect.Int && kind <= reflect.Uint64 || strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "uint"):
		return "a whole number", true
	case kind == reflect.Float64 || strings.HasPrefix(typ, "float"):
		return "a number", true
	case kind == reflect.Bool || typ == "bool":
		return "true or false", true
	default:
		return "a mapping", false
	}
}

// at is the byte in the file at a problem's place; 0 at its end.
func at(data []byte, p Problem) byte {
	lines := bytes.Split(data, []byte("\n"))
	if p.Line > len(lines) || p.Col > len(lines[p.Line-1]) {
		return 0
	}
	return lines[p.Line-1][p.Col-1]
}

// syntax is for files that are not YAML.
func syntax(msg string, e *yaml.LoadError, here byte) string {
	switch {
	case msg == "no documents in stream":
		return "the file is empty"
	case msg == "expected single document, found multiple":
		return "the file holds several documents (---); give each a file of its own"
	case here == '\t':
		return "there is a tab; YAML is indented with spaces only"
	case msg == "found character that cannot start any token":
		return fmt.Sprintf("a value cannot begin with %q; put it in quotes", here)
	case msg == "mapping values are not allowed in this context":
		return "\": \" in the middle of a value; indent the line like its neighbors, or put the value in quotes"
	case msg == "did not find expected key" || msg == "did not find expected '-' indicator":
		return "the indentation fits none of the lines above"
	case e.ContextMsg != "" && e.ContextMark.Line > 0 && e.ContextMark.Line != e.Mark.Line:
		return fmt.Sprintf("%s, in what begins on line %d", msg, e.ContextMark.Line)
	default:
		return msg
	}
}
