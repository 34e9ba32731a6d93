package playbooks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFileSize bounds one file. A playbook is a page of text; anything larger is a mistake.
const maxFileSize = 1 << 20

// decode reads one strict YAML document: known fields only, no repeated key, no second document, no empty file. It is the only
// place that calls the YAML library. Mistakes of the shape leave the rest of out filled; ok is false when nothing could be read.
func decode(f File, out any) (root *yaml.Node, ps LoadErrors, ok bool) {
	if len(f.Data) > maxFileSize {
		return nil, LoadErrors{{File: f.Name, Text: fmt.Sprintf("the file has %d bytes; at most %d are read", len(f.Data), maxFileSize)}}, false
	}
	var doc yaml.Node
	if err := yaml.Load(f.Data, &doc); err != nil {
		return nil, yamlProblems(f.Name, err), false
	}
	root = &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if root.Kind != yaml.MappingNode {
		return nil, LoadErrors{{
			File: f.Name, Line: max(root.Line, 1), Col: max(root.Column, 1),
			Text: "the file must be a mapping with name, signals or profiles",
		}}, false
	}
	if err := yaml.Load(f.Data, out, yaml.WithKnownFields()); err != nil {
		return root, yamlProblems(f.Name, err), true
	}
	return root, nil, true
}

// yamlProblems takes the single mistakes out of the library's errors.
func yamlProblems(file string, err error) LoadErrors {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		ps := make(LoadErrors, 0, len(many.Errors))
		for _, e := range many.Errors {
			ps = append(ps, yamlProblem(file, e))
		}
		return ps
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return LoadErrors{yamlProblem(file, one)}
	}
	return LoadErrors{{File: file, Line: 1, Col: 1, Text: strings.TrimPrefix(err.Error(), "yaml: ")}}
}

func yamlProblem(file string, e *yaml.LoadError) Problem {
	mark := e.Mark
	if mark.Line == 0 {
		mark = e.ContextMark
	}
	return Problem{File: file, Line: max(mark.Line, 1), Col: max(mark.Column, 1), Text: yamlWords(e.Message)}
}

// yamlWords puts the library's messages into the words of somebody who writes a playbook and has never seen our Go types.
func yamlWords(msg string) string {
	unknown := regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	if m := unknown.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("there is no field %q here", m[1])
	}
	twice := regexp.MustCompile(`^field (\S+) already set in type \S+$`)
	if m := twice.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("the field %q is given twice", m[1])
	}
	wrong := regexp.MustCompile("^cannot construct (!!\\w+)(?: `(.*)`)? into (\\S+)$")
	if m := wrong.FindStringSubmatch(msg); m != nil {
		got := yamlKind(m[1])
		if m[2] != "" {
			got = fmt.Sprintf("%s %q", got, m[2])
		}
		return fmt.Sprintf("%s is wanted here, not %s", goKind(m[3]), got)
	}
	switch msg = strings.TrimPrefix(msg, "yaml: "); msg {
	case "no documents in stream":
		return "the file is empty"
	case "expected single document, found multiple":
		return "the file holds several documents (---); give each a file of its own"
	default:
		return msg
	}
}

func yamlKind(tag string) string {
	switch tag {
	case "!!map":
		return "a mapping"
	case "!!seq":
		return "a list"
	case "!!str":
		return "the text"
	case "!!int", "!!float":
		return "the number"
	default:
		return "the value"
	}
}

func goKind(typ string) string {
	switch {
	case typ == "string":
		return "a text"
	case typ == "int" || typ == "int64":
		return "a whole number"
	case typ == "float64":
		return "a number"
	case strings.HasPrefix(typ, "[]"):
		return "a list"
	default:
		return "a mapping"
	}
}
