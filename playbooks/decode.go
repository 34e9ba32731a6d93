package playbooks

import (
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/yamlerr"
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
		return nil, yamlProblems(f, err, out), false
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
		return root, yamlProblems(f, err, out), true
	}
	return root, nil, true
}

// yamlProblems takes the single mistakes out of the library's errors.
func yamlProblems(f File, err error, out any) LoadErrors {
	var ps LoadErrors
	for _, p := range yamlerr.Problems(err, f.Data, reflect.TypeOf(out)) {
		ps = append(ps, Problem{File: f.Name, Line: p.Line, Col: p.Col, Text: p.Text})
	}
	return ps
}
