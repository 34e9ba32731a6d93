package strictyaml

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Custom is a value that can be written in more than one way, or in a notation of its own. FromYAML is not called for a
// value that is left empty. What it returns is a problem at the value, or, when it is Problems, stands where they say.
type Custom interface{ FromYAML(v Value) error }

// Parse reads the one document of a file of at most limit bytes; its root is a mapping. The error is Problems.
func Parse(name string, data []byte, limit int) (Value, error) {
	none := Value{source: newSource(name, data)}
	if len(data) > limit {
		text := fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), limit)
		return none, Problems{{File: name, Text: text, Kind: Syntax}}
	}
	if p, ok := none.source.unreadable(data); !ok {
		return none, Problems{p}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return none, Problems{{File: name, Text: err.Error(), Kind: Syntax}}
	}
	var doc, more yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return none, Problems{{File: name, Line: 1, Col: 1, Text: emptyFile, Kind: Syntax}}
	case err != nil:
		return none, none.source.syntax(err)
	}
	switch err := loader.Load(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return none, none.source.syntax(err)
	default:
		p := Problem{File: name, Line: max(more.Line, 1), Col: max(more.Column, 1), Text: severalDocuments, Kind: Syntax}
		return none, Problems{p}
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	v := Value{none.source, root}
	v.source.budget = 4*size(root) + spareValues
	if !v.IsMapping() {
		p := v.Problem("the file must be a mapping, not %s", kindOf(root))
		if root.ShortTag() == nullTag {
			p.Line, p.Col, p.Text = 1, 1, emptyFile
		}
		p.Kind = Syntax
		return none, Problems{p}
	}
	return v, nil
}

// spareValues is how many values aliases may add to those that are written.
const spareValues = 100_000

func size(n *yaml.Node) int {
	count := 1
	for _, below := range n.Content {
		count += size(below)
	}
	return count
}

func newSource(name string, data []byte) *source {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)) // YAML knows all three line breaks.
	return &source{name: name, lines: strings.Split(text, "\n"), torn: map[*yaml.Node]bool{}}
}

// Decode fills what out points to. Fields are found by their yaml tags, or by their json tags in types that have only
// those. A value that cannot be read leaves its field as it was, and a pointer nil; everything else is filled. The
// error is Problems with all that is wrong.
func (v Value) Decode(out any) error { return v.DecodeAt(time.Time{}, out) }

// DecodeAt is Decode in which a time may also be written as a duration before now: 5m ago.
func (v Value) DecodeAt(now time.Time, out any) error {
	to := reflect.ValueOf(out)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("decode into %T: not a pointer to a value", out)
	}
	d := decoder{source: v.source, now: now}
	d.value(v.node, to.Elem())
	return d.problems.Err()
}

type decoder struct {
	source   *source
	now      time.Time // zero: no time is written as "5m ago"
	problems Problems
}

func (d *decoder) add(n *yaml.Node, kind Kind, format string, args ...any) {
	p := Value{d.source, n}.Problem(format, args...)
	p.Kind = kind
	d.problems = append(d.problems, p)
}

var (
	customType   = reflect.TypeFor[Custom]()
	valueType    = reflect.TypeFor[Value]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value decodes one value; whole is false when there is nothing of it in out.
func (d *decoder) value(n *yaml.Node, out reflect.Value) (whole bool) {
	if d.source.budget--; d.source.budget < 0 {
		if d.source.budget == -1 {
			d.add(n, Syntax, "the aliases stand for more than %d values", spareValues)
		}
		return false
	}
	if at := resolved(n); at == nil || at.ShortTag() == nullTag {
		return true
	}
	switch {
	case out.Type() == valueType:
		out.Set(reflect.ValueOf(Value{d.source, n}))
		return true
	case out.Kind() == reflect.Pointer:
		below := reflect.New(out.Type().Elem())
		if whole = d.value(n, below.Elem()); whole {
			out.Set(below)
		}
		return whole
	case out.Addr().Type().Implements(customType):
		return d.custom(n, out)
	case out.Type() == timeType || out.Type() == durationType:
		return d.time(n, out)
	case out.Addr().Type().Implements(textType):
		return d.text(n, out)
	}
	switch out.Kind() {
	case reflect.Struct:
		return d.mapping(n, out)
	case reflect.Map:
		return d.pairs(n, out)
	case reflect.Slice:
		return d.list(n, out)
	default:
		return d.scalar(n, out)
	}
}

func (d *decoder) custom(n *yaml.Node, out reflect.Value) bool {
	read, _ := reflect.TypeAssert[Custom](out.Addr())
	err := read.FromYAML(Value{d.source, n})
	if many, ok := errors.AsType[Problems](err); ok {
		d.problems = append(d.problems, many...)
		return true
	}
	if err != nil {
		d.add(n, Grammar, "%v", err)
	}
	return err == nil
}

// text fills a type that reads itself out of a text, as for JSON.
func (d *decoder) text(n *yaml.Node, out reflect.Value) bool {
	var words string
	if !d.scalar(n, reflect.ValueOf(&words).Elem()) {
		return false
	}
	read, _ := reflect.TypeAssert[encoding.TextUnmarshaler](out.Addr())
	if err := read.UnmarshalText([]byte(words)); err != nil {
		d.add(n, Grammar, "%v", err)
		return false
	}
	return true
}

// pairs fills a map.
func (d *decoder) pairs(n *yaml.Node, out reflect.Value) bool {
	if !d.is(yaml.MappingNode, n, out.Type()) {
		return false
	}
	n = resolved(n)
	t := out.Type()
	out.Set(reflect.MakeMap(t))
	for _, f := range d.fields(n) {
		below := reflect.New(t.Elem()).Elem()
		if d.value(f.value, below) {
			out.SetMapIndex(reflect.ValueOf(f.key.Value).Convert(t.Key()), below)
		} else {
			d.source.torn[n] = true
		}
	}
	return true
}

// fields are the fields of a mapping with a name that is a text, each once.
func (d *decoder) fields(n *yaml.Node) []field {
	all, wrong := mergedFields(n, nil)
	if wrong != nil {
		d.add(wrong, Mismatch, "<< takes a mapping or a list of at most %d, none of which holds itself", maxMerges)
		d.source.torn[n] = true
	}
	var out []field
	first := map[string]int{}
	for _, f := range all {
		if resolved(f.key).Kind != yaml.ScalarNode {
			d.add(f.key, Mismatch, "%s", mismatch(reflect.TypeFor[string](), f.key))
			d.source.torn[n] = true
			continue
		}
		f.key = resolved(f.key)
		if line, twice := first[f.key.Value]; twice {
			d.add(f.key, Duplicate, "the field %q is given twice, first on line %d", f.key.Value, line)
			continue
		}
		first[f.key.Value] = f.key.Line
		out = append(out, f)
	}
	return out
}

// list fills a slice. An entry that cannot be read stays zero, so that each has the index that it has in the file.
func (d *decoder) list(n *yaml.Node, out reflect.Value) bool {
	if !d.is(yaml.SequenceNode, n, out.Type()) {
		return false
	}
	n = resolved(n)
	out.Set(reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content)))
	for i, below := range n.Content {
		if !d.value(below, out.Index(i)) {
			d.source.torn[n] = true
		}
	}
	return true
}

// is says whether a value is of the kind that a type wants, and adds the problem when it is not.
func (d *decoder) is(kind yaml.Kind, n *yaml.Node, t reflect.Type) bool {
	if resolved(n).Kind != kind {
		d.add(n, Mismatch, "%s", mismatch(t, n))
		return false
	}
	return true
}

// scalar fills a single value. What counts as a number or as true is the library's to say.
func (d *decoder) scalar(n *yaml.Node, out reflect.Value) bool {
	if at := resolved(n); at.Kind == yaml.ScalarNode {
		if out.Kind() == reflect.String && at.ShortTag() != "!!binary" {
			out.SetString(at.Value)
			return true
		}
		plain := reflect.New(basic(out.Kind()))
		if err := at.Load(plain.Interface()); err == nil && fits(plain.Elem(), out) {
			out.Set(plain.Elem().Convert(out.Type()))
			return true
		}
	}
	d.add(n, Mismatch, "%s", mismatch(out.Type(), n))
	return false
}

// basic is the widest type of a kind.
func basic(k reflect.Kind) reflect.Type {
	switch {
	case k >= reflect.Int && k <= reflect.Int64:
		return reflect.TypeFor[int64]()
	case k >= reflect.Uint && k <= reflect.Uint64:
		return reflect.TypeFor[uint64]()
	case k == reflect.Float32 || k == reflect.Float64:
		return reflect.TypeFor[float64]()
	case k == reflect.Bool:
		return reflect.TypeFor[bool]()
	default:
		return reflect.TypeFor[string]()
	}
}

func fits(v, out reflect.Value) bool {
	switch {
	case v.CanInt():
		return out.CanInt() && !out.OverflowInt(v.Int())
	case v.CanUint():
		return out.CanUint() && !out.OverflowUint(v.Uint())
	default:
		return v.CanConvert(out.Type())
	}
}

// time fills a moment (RFC 3339) or, in a type that has only json tags, a time.Duration: nanoseconds as in JSON, or a
// text as everywhere.
func (d *decoder) time(n *yaml.Node, out reflect.Value) bool {
	at := resolved(n)
	if at.Kind != yaml.ScalarNode {
		d.add(n, Mismatch, "%s", mismatch(out.Type(), n))
		return false
	}
	if out.Type() == timeType {
		moment, err := d.moment(at.Value)
		if err != nil {
			d.add(n, Grammar, "%v", err)
			return false
		}
		out.Set(reflect.ValueOf(moment))
		return true
	}
	var nanoseconds int64
	if at.ShortTag() == "!!int" && at.Load(&nanoseconds) == nil {
		out.SetInt(nanoseconds)
		return true
	}
	length, err := ParseDuration(at.Value)
	if err != nil {
		d.add(n, Grammar, "%v", err)
		return false
	}
	out.SetInt(int64(length))
	return true
}

func (d *decoder) moment(text string) (time.Time, error) {
	if before, ok := strings.CutSuffix(text, " ago"); ok && !d.now.IsZero() {
		length, err := ParseDuration(before)
		return d.now.Add(-length), err
	}
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		example := "2006-01-02T15:04:05Z"
		if !d.now.IsZero() {
			example += " or 5m ago"
		}
		return moment, fmt.Errorf("%q is not a time such as %s", text, example)
	}
	return moment, nil
}
