package strictyaml

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Keyed is a map that takes the keys of a table. A field of such a type has no name of its own in a file: the keys are
// fields of its struct beside the others, and one that has no value is not there.
type Keyed interface{ Keys() []string }

var keyedType = reflect.TypeFor[Keyed]()

// mapping fills a struct.
func (d *decoder) mapping(n *yaml.Node, out reflect.Value) bool {
	if !d.is(yaml.MappingNode, n, out.Type()) {
		return false
	}
	n = resolved(n)
	known := tags(out.Type())
	for _, f := range d.fields(n) {
		index, ok := known[f.key.Value]
		if !ok {
			d.add(f.key, Unknown, "%s", unknownField(f.key.Value, out.Type()))
			d.source.torn[n] = true
			continue
		}
		if !d.field(f, out.FieldByIndex(index)) {
			d.source.torn[n] = true
		}
	}
	return true
}

// field fills a field of a struct, or the entry of a Keyed map that the file has in place of one.
func (d *decoder) field(f field, out reflect.Value) bool {
	if !out.Type().Implements(keyedType) {
		return d.value(f.value, out)
	}
	below := reflect.New(out.Type().Elem()).Elem()
	if !d.value(f.value, below) {
		return false
	}
	if below.IsZero() {
		return true
	}
	if out.IsNil() {
		out.Set(reflect.MakeMap(out.Type()))
	}
	out.SetMapIndex(reflect.ValueOf(f.key.Value).Convert(out.Type().Key()), below)
	return true
}

// tags are the fields of a struct by the names that a file has for them.
func tags(t reflect.Type) map[string][]int {
	out := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		for _, name := range names(f) {
			out[name] = f.Index
		}
	}
	return out
}

// names are what a file calls a field: nothing where it does not know it, and the keys of a Keyed map.
func names(f reflect.StructField) []string {
	switch name := tag(f); {
	case !f.IsExported():
		return nil
	case f.Type.Implements(keyedType):
		keyed, _ := reflect.TypeAssert[Keyed](reflect.Zero(f.Type))
		return keyed.Keys()
	case name != "":
		return []string{name}
	}
	return nil
}

func tag(f reflect.StructField) string {
	text, ok := f.Tag.Lookup("yaml")
	if !ok {
		text = f.Tag.Get("json")
	}
	name, _, _ := strings.Cut(text, ",")
	if name == "-" {
		return ""
	}
	return name
}

// fieldNames are the names of a struct's fields in its order.
func fieldNames(t reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(t) {
		out = append(out, names(f)...)
	}
	return out
}
