package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/yamlerr"
)

// problems gathers mistakes with their place in the file.
type problems struct {
	name string
	root *yaml.Node
	list []problem
}

type problem struct {
	line, col int
	text      string
}

// at adds a mistake at the setting with this path, such as "pools[0].knobs.replicas.min". A path that is not in the file points at the
// nearest thing above it that is.
func (p *problems) at(path, format string, args ...any) {
	line, col := p.position(path)
	p.list = append(p.list, problem{line, col, path + ": " + fmt.Sprintf(format, args...)})
}

var index = regexp.MustCompile(`^([^\[]*)\[(\d+)\]$`)

func (p *problems) position(path string) (int, int) {
	n := p.root
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	if n == nil {
		return 1, 1
	}
	line, col := n.Line, n.Column
	for part := range strings.SplitSeq(path, ".") {
		key, at := part, -1
		if m := index.FindStringSubmatch(part); m != nil {
			key = m[1]
			at, _ = strconv.Atoi(m[2])
		}
		k, v := lookup(n, key)
		if v == nil {
			break
		}
		n, line, col = v, k.Line, k.Column
		if at >= 0 && v.Kind == yaml.SequenceNode && at < len(v.Content) {
			n = v.Content[at]
			line, col = n.Line, n.Column
		}
	}
	return line, col
}

func lookup(n *yaml.Node, key string) (k, v *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// decode adds what the YAML decoder found; whole is false when nothing of the file could be read.
func (p *problems) decode(err error, data []byte) (whole bool) {
	if err == nil {
		return true
	}
	whole = true
	for _, found := range yamlerr.Problems(err, data, reflect.TypeFor[file]()) {
		p.list = append(p.list, problem{found.Line, found.Col, found.Text})
		whole = whole && !found.Duplicate
	}
	return whole
}

// LoadErrors are all that is wrong with a configuration, in the order of the file.
type LoadErrors []string

// Error has one mistake a line: file:line:col, the setting, what is wrong, and what would be right.
func (m LoadErrors) Error() string { return strings.Join(m, "\n") }

// err returns all mistakes as LoadErrors, or nil.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.col, b.col), cmp.Compare(a.text, b.text))
	})
	if len(p.list) == 0 {
		return nil
	}
	out := make(LoadErrors, len(p.list))
	for n, x := range p.list {
		out[n] = fmt.Sprintf("%s:%d:%d: %s", p.name, max(1, x.line), max(1, x.col), x.text)
	}
	return out
}
