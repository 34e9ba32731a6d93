package strictyaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Value is a value in a file. It knows where it stands, so that a problem found long after decoding still gets its line
// and column. A field of this type takes its value as it is written, to be decoded later; the zero Value is in no file.
type Value struct {
	source *source
	node   *yaml.Node
}

// source is the file of a value.
type source struct {
	name  string
	lines []string
	// budget is how many more values are decoded: aliases let a short file stand for any number of them.
	budget int
	// torn holds the mappings in which something could not be read.
	torn map[*yaml.Node]bool
}

// IsZero says that there is no value.
func (v Value) IsZero() bool { return v.node == nil }

// Key is the value of a field. Where the field is missing it is the mapping itself, so that a problem with the field
// points at what lacks it.
func (v Value) Key(name string) Value {
	if below, ok := v.Lookup(name); ok {
		return below
	}
	return v
}

// Lookup is the value of a field, if it is there.
func (v Value) Lookup(name string) (Value, bool) {
	for _, f := range fieldsOf(v.node) {
		if f.key.Value == name {
			return Value{v.source, f.value}, true
		}
	}
	return Value{}, false
}

// Fields are the names of a mapping's fields in their order, those of merged mappings (<<) last.
func (v Value) Fields() []string {
	var out []string
	for _, f := range fieldsOf(v.node) {
		out = append(out, f.key.Value)
	}
	return out
}

// Item is the i-th entry of a list, from 0; the list itself where it has none.
func (v Value) Item(i int) Value {
	if n := resolved(v.node); n != nil && n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
		v.node = n.Content[i]
	}
	return v
}

// Walk calls each for every field below the value, at its place in the file: what aliases stand for is visited once,
// where it is written. A path is as Find takes it.
func (v Value) Walk(each func(path, key string, value Value)) { v.below("", each) }

func (v Value) below(path string, each func(path, key string, value Value)) {
	if v.node == nil {
		return
	}
	switch v.node.Kind { //nolint:exhaustive // nothing else holds fields
	case yaml.MappingNode:
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			key, value := v.node.Content[i].Value, Value{v.source, v.node.Content[i+1]}
			at := strings.TrimPrefix(path+"."+key, ".")
			each(at, key, value)
			value.below(at, each)
		}
	case yaml.SequenceNode:
		for i, item := range v.node.Content {
			Value{v.source, item}.below(fmt.Sprintf("%s[%d]", path, i), each)
		}
	}
}

// Find is the value with a path such as pools[0].knobs.replicas, or the nearest above it that is in the file.
func (v Value) Find(path string) Value {
	found, _ := v.walk(path)
	return found
}

// Name is where the field with a path has its name, for a problem with the setting as such; an item of a list is where
// it begins. What is not in the file is where the nearest thing above it is.
func (v Value) Name(path string) Value {
	_, named := v.walk(path)
	return named
}

// walk follows a path as far as it is in the file.
func (v Value) walk(path string) (found, named Value) {
	found, named = v, v
	for path != "" {
		n := resolved(found.node)
		if rest, ok := strings.CutPrefix(path, "["); ok {
			digits, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(digits)
			if err != nil || n == nil || n.Kind != yaml.SequenceNode || i < 0 || i >= len(n.Content) {
				return found, named
			}
			found = Value{v.source, n.Content[i]}
			named, path = found, strings.TrimPrefix(after, ".")
			continue
		}
		f, rest, ok := step(n, path)
		if !ok {
			return found, named
		}
		found, named, path = Value{v.source, f.value}, Value{v.source, f.key}, rest
	}
	return found, named
}

// step takes the longest field's name off a path: labels have dots in their names.
func step(n *yaml.Node, path string) (best field, rest string, ok bool) {
	for _, f := range fieldsOf(n) {
		after, found := strings.CutPrefix(path, f.key.Value)
		if !found || (after != "" && after[0] != '.' && after[0] != '[') || ok && len(f.key.Value) <= len(best.key.Value) {
			continue
		}
		best, rest, ok = f, strings.TrimPrefix(after, "."), true
	}
	return best, rest, ok
}

// Text is a single value as it is written, without its quotes; ok is false for mappings, lists and nothing.
func (v Value) Text() (text string, ok bool) {
	if n := resolved(v.node); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value, true
	}
	return "", false
}

// IsMapping says whether the value has fields.
func (v Value) IsMapping() bool {
	n := resolved(v.node)
	return n != nil && n.Kind == yaml.MappingNode
}

// Whole says whether everything in this mapping could be read, so that what lacks is missing and not only unreadable.
func (v Value) Whole() bool { return v.node != nil && !v.source.torn[resolved(v.node)] }

// Line is the line of the value, from 1.
func (v Value) Line() int { return v.Problem("").Line }

// Problem is a problem at the start of the value.
func (v Value) Problem(format string, args ...any) Problem {
	p := Problem{Line: 1, Col: 1, Text: fmt.Sprintf(format, args...)}
	if v.source != nil {
		p.File = v.source.name
	}
	if v.node != nil && v.node.Line > 0 {
		p.Line, p.Col = v.node.Line, v.node.Column
	}
	return p
}

// field is one field of a mapping.
type field struct{ key, value *yaml.Node }

// fieldsOf are the fields of a mapping, then those of the mappings that are merged into it (<<) and that it does not
// have itself.
func fieldsOf(n *yaml.Node) []field {
	out, _ := mergedFields(resolved(n), nil)
	return out
}

// mergedFields fails with the value of a << that is no mapping and no list of mappings, or that contains itself.
func mergedFields(n *yaml.Node, within []*yaml.Node) (out []field, wrong *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	seen := map[string]bool{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == mergeTag {
			merges = append(merges, value)
			continue
		}
		out = append(out, field{key, value})
		seen[key.Value] = true
	}
	for _, value := range merges {
		below, bad := merged(value, append(slices.Clone(within), n))
		if bad != nil {
			wrong = bad
		}
		for _, f := range below {
			if !seen[f.key.Value] {
				out = append(out, f)
				seen[f.key.Value] = true
			}
		}
	}
	return out, wrong
}

// merged are the fields that a << brings. Nesting is bounded, so that a chain of aliases does not multiply.
func merged(value *yaml.Node, within []*yaml.Node) (out []field, wrong *yaml.Node) {
	n := resolved(value)
	if len(within) > mergeDepth || slices.Contains(within, n) {
		return nil, value
	}
	switch n.Kind { //nolint:exhaustive // nothing else holds fields
	case yaml.MappingNode:
		return mergedFields(n, within)
	case yaml.SequenceNode:
		if len(n.Content) > maxMerges {
			return nil, value
		}
		for _, item := range n.Content {
			if resolved(item).Kind != yaml.MappingNode {
				return out, item
			}
			below, bad := merged(item, within)
			out = append(out, below...)
			if bad != nil {
				return out, bad
			}
		}
		return out, nil
	default:
		return nil, value
	}
}

const (
	mergeTag = "!!merge"
	nullTag  = "!!null"
	// maxMerges is how many mappings one << may list, mergeDepth how deep they may merge others.
	maxMerges, mergeDepth = 8, 3
)

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}
