package playbooktest

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

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
		p.yaml(err)
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
		p.yaml(err)
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
func (p *problems) yaml(err error) {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		for _, e := range many.Errors {
			p.yamlOne(e)
		}
		return
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.yamlOne(one)
		return
	}
	p.add(1, 1, strings.TrimPrefix(err.Error(), "yaml: "))
}

func (p *problems) yamlOne(e *yaml.LoadError) {
	mark := e.Mark
	if mark.Line == 0 {
		mark = e.ContextMark
	}
	p.add(mark.Line, mark.Column, words(e.Message))
}

var (
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	twiceField   = regexp.MustCompile(`^field (\S+) already set in type \S+$`)
	wrongKind    = regexp.MustCompile("^cannot construct !!(\\w+)(?: `(.*)`)? into (\\S+)$")
)

// words puts the library's messages into the words of somebody who writes a test and has never seen our Go types.
func words(msg string) string {
	msg = strings.TrimPrefix(msg, "yaml: ")
	if m := unknownField.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("there is no field %q here", m[1])
	}
	if m := twiceField.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("the field %q is given twice", m[1])
	}
	if m := wrongKind.FindStringSubmatch(msg); m != nil {
		return fmt.Sprintf("%s is wanted here, not %s", wanted(m[3]), given(m[1], m[2]))
	}
	switch msg {
	case "no documents in stream":
		return "the file is empty"
	case "expected single document, found multiple":
		return "the file holds several documents (---); give each a file of its own"
	}
	return msg
}

func wanted(typ string) string {
	switch {
	case strings.HasPrefix(typ, "[]"):
		return "a list"
	case strings.HasPrefix(typ, "map["):
		return "a mapping"
	case typ == "string":
		return "a text"
	case strings.HasPrefix(typ, "int"):
		return "a whole number"
	case strings.HasPrefix(typ, "float"):
		return "a number"
	case typ == "bool":
		return "true or false"
	default:
		return "a mapping"
	}
}

func given(tag, value string) string {
	switch tag {
	case "map":
		return "a mapping"
	case "seq":
		return "a list"
	default:
		return strconv.Quote(value)
	}
}

// err is all mistakes in the order of the file, or nil.
func (p *problems) err() playbooks.LoadErrors {
	slices.SortStableFunc(p.list, func(a, b playbooks.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(p.list)
}
