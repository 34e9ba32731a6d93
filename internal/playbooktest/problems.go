package playbooktest

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/yamlerr"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// maxFileSize bounds one file of tests.
const maxFileSize = 4 << 20

// problems gathers mistakes with their place in a file of tests.
type problems struct {
	name string
	root *yaml.Node
	list playbooks.LoadErrors
	// broken says that the shape is wrong somewhere: what is missing may only be unreadable.
	broken bool
}

// decode is the only place that calls the YAML library for a whole file: known fields only, no field twice, one document.
func decode(name string, data []byte) (document, *problems) {
	p := &problems{name: name}
	var doc document
	if len(data) > maxFileSize {
		p.broken = true
		p.add(1, 1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), maxFileSize))
		return doc, p
	}
	var root yaml.Node
	p.broken = true
	if err := yaml.Load(data, &root); err != nil {
		p.yaml(err, data)
		return doc, p
	}
	p.root = &root
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		p.root = root.Content[0]
	}
	if p.root.Kind != yaml.MappingNode {
		p.add(p.root.Line, p.root.Column, "the file must be a mapping with tests")
		return doc, p
	}
	p.broken = false
	if err := yaml.Load(data, &doc, yaml.WithKnownFields()); err != nil {
		p.yaml(err, data)
		p.broken = true
	}
	return doc, p
}

func (p *problems) add(line, col int, text string) {
	p.list = append(p.list, playbooks.Problem{File: p.name, Line: max(line, 1), Col: max(col, 1), Text: text})
}

// at adds a mistake at the value with this path, such as "tests[0].expect.readings.waiting". What is not in the file points at the nearest thing above
// it that is.
func (p *problems) at(path, format string, args ...any) {
	n := p.find(path)
	p.add(n.Line, n.Column, fmt.Sprintf(format, args...))
}

// missing is at for what is not there. In a file of the wrong shape it is silent.
func (p *problems) missing(path, text string) {
	if !p.broken {
		p.at(path, "%s", text)
	}
}

// inside adds a mistake at a byte of a text.
func (p *problems) inside(path, text string, offset int, format string, args ...any) {
	n := p.find(path)
	col := n.Column
	// Escapes and texts over several lines are pointed at as a whole.
	if n.Kind == yaml.ScalarNode && n.Value == text && !strings.ContainsAny(text, "\n\\'\"") || n.Style&yaml.SingleQuotedStyle != 0 && !strings.ContainsAny(text, "\n'") {
		col += utf8.RuneCountInString(text[:min(offset, len(text))])
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			col++
		}
	}
	p.add(n.Line, col, fmt.Sprintf(format, args...))
}

var index = regexp.MustCompile(`^([^\[]*)\[(\d+)\]$`)

func (p *problems) find(path string) *yaml.Node {
	n := p.root
	if n == nil {
		return &yaml.Node{}
	}
	for part := range strings.SplitSeq(path, ".") {
		key, at := part, -1
		if m := index.FindStringSubmatch(part); m != nil {
			key = m[1]
			at, _ = strconv.Atoi(m[2])
		}
		v := lookup(n, key)
		if v == nil {
			break
		}
		n = v
		if at >= 0 && n.Kind == yaml.SequenceNode && at < len(n.Content) {
			n = n.Content[at]
		}
	}
	return n
}

func lookup(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// yaml adds what the decoder found.
func (p *problems) yaml(err error, data []byte) {
	for _, found := range yamlerr.Problems(err, data, reflect.TypeFor[document]()) {
		p.add(found.Line, found.Col, found.Text)
	}
}

// err is all mistakes in the order of the file, or nil.
func (p *problems) err() playbooks.LoadErrors {
	slices.SortStableFunc(p.list, func(a, b playbooks.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(p.list)
}
