package strictyaml

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const limit = 1 << 20

type word string

type item struct {
	Name   string            `yaml:"name"`
	Count  int               `yaml:"count,omitempty"`
	Small  uint8             `yaml:"small"`
	Labels map[string]string `yaml:"labels"`
	Kind   word              `yaml:"kind"`
	hidden string            //nolint:unused // a key that YAML does not know: it must not be named
}

type document struct {
	Items []item   `yaml:"items"`
	Words []string `yaml:"words"`
	Yes   bool     `yaml:"yes"`
	One   *item    `yaml:"one"`
	Share *float64 `yaml:"share"`
}

// written is read in ways that the library does not know.
type writtenDoc struct {
	For   Duration  `yaml:"for"`
	Least *Duration `yaml:"least"`
	Later Value     `yaml:"later"`
	Near  nearDoc   `yaml:"near"`
}

// nearDoc is a name, or an item.
type nearDoc struct {
	Name string
	Item *item
}

func (n *nearDoc) FromYAML(v Value) error {
	if text, ok := v.Text(); ok {
		n.Name = text
		return nil
	}
	n.Item = &item{}
	if err := v.Decode(n.Item); err != nil {
		return err
	}
	if n.Item.Name == "" {
		return errors.New("a near thing has a name")
	}
	return nil
}

// likeJSON has the tags of a type that is stored as JSON.
type likeJSON struct {
	At     time.Time     `json:"at"`
	Revert time.Duration `json:"revert_after,omitempty" was:"lift_after"`
	Max    *int64        `json:"max"`
	Never  string        `json:"-"`
}

// table takes two keys, which are fields of the struct that holds it.
type table map[word]*item

func (table) Keys() []string { return []string{"left", "right"} }

type tableDoc struct {
	First string `yaml:"first"`
	Sides table  `yaml:",inline"`
	Last  string `yaml:"last"`
}

func TestTheKeysOfATableAreFieldsOfItsStruct(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"lift: {name: x}":              `1:1: unknown field "lift"; did you mean "left"?`,
		"middle: {name: x}":            `1:1: unknown field "middle"; known: first, left, right, last`,
		"left: {}\nleft: {}":           `2:1: the field "left" is given twice, first on line 1`,
		"first: a\nright: {nam: x}":    `2:9: unknown field "nam"; did you mean "name"?`,
		"right: [x]\nleft: {count: 1}": `1:8: expected a mapping, got a list`,
	} {
		if got, count := decode(in, &tableDoc{}); got != want || count != 1 {
			t.Errorf("%q:\n got %s (%d)\nwant %s", in, got, count, want)
		}
	}
	v, err := Parse("x", []byte("last: c\nright: {name: b, count: 2}\nleft: ~\nfirst: a"), limit)
	if err != nil {
		t.Fatal(err)
	}
	var got tableDoc
	if err := v.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := tableDoc{First: "a", Sides: table{"right": {Name: "b", Count: 2}}, Last: "c"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(item{})); diff != "" {
		t.Error(diff)
	}
}

// decode is the first problem, and how many there are.
func decode(text string, out any) (first string, count int) {
	v, err := Parse("x", []byte(text), limit)
	if err == nil {
		err = v.Decode(out)
	}
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		return "", 0
	}
	ps = ps.Sorted("x")
	return strings.TrimPrefix(ps[0].String(), "x:"), len(ps)
}

func TestEachErrorOfTheShapeHasItsPlaceAndNoGoType(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                `1:1: the file is empty`,
		"# only a comment":                `1:1: the file is empty`,
		"---\n# nothing\n":                `1:1: the file is empty`,
		"null":                            `1:1: the file is empty`,
		"- a":                             `1:1: the file must be a mapping, not a list`,
		"only text":                       `1:1: the file must be a mapping, not a single value`,
		"itms: []":                        `1:1: unknown field "itms"; did you mean "items"?`,
		"frobnicate: 1":                   `1:1: unknown field "frobnicate"; known: items, words, yes, one, share`,
		"items: [{nam: x}]":               `1:10: unknown field "nam"; did you mean "name"?`,
		"one: {hidden: x}":                `1:7: unknown field "hidden"; known: name, count, small, labels, kind`,
		"items: {name: x}":                `1:8: expected a list (its items begin with "- "), got a mapping`,
		"items: s3cr3t":                   `1:8: expected a list (its items begin with "- "), got a single value`,
		"one: s3cr3t":                     `1:6: expected a mapping, got a single value`,
		"items: [{labels: s3cr3t}]":       `1:18: expected a mapping, got a single value`,
		"items: [{name: [x]}]":            `1:16: expected a text, got a list`,
		"items: [{kind: {a: b}}]":         `1:16: expected a text, got a mapping`,
		"items: [{count: many}]":          `1:17: expected a whole number, got "many"`,
		"items: [{count: 2.5}]":           `1:17: expected a whole number, got "2.5"`,
		"items: [{small: 256}]":           `1:17: expected a whole number, got "256"`,
		"items: [{small: -1}]":            `1:17: expected a whole number, got "-1"`,
		"share: much":                     `1:8: expected a number, got "much"`,
		"yes: maybe":                      `1:6: expected true or false, got "maybe"`,
		"[a]: b":                          `1:1: expected a text, got a list`,
		"yes: true\nyes: false":           `2:1: the field "yes" is given twice, first on line 1`,
		"one: {labels: {a: b, a: c}}":     `1:22: the field "a" is given twice, first on line 1`,
		"yes: true\n---\nyes: false":      `2:1: the file holds several documents (---); give each a file of its own`,
		"items:\n\t- name: x":             `2:1: there is a tab; YAML is indented with spaces only`,
		"items:\n  - name: x\n\tcount: 1": `3:1: there is a tab; YAML is indented with spaces only`,
		"words: [a]\nyes: @x":             `2:6: a value cannot begin with '@'; put it in quotes`,
		"one: name: x": `1:10: ": " in the middle of a value; indent the line like its neighbors, ` +
			`or put the value in quotes`,
		"my items: []":           `1:1: unknown field "my items"; known: items, words, yes, one, share`,
		"items: [{the name: x}]": `1:10: unknown field "the name"; known: name, count, small, labels, kind`,
		"yes: true\n  words: []": `2:8: ": " in the middle of a value; indent the line like its neighbors, ` +
			`or put the value in quotes`,
		"items:\n  - name: x\n yes: true": `3:2: the indentation fits none of the lines above`,
		"words: [a,\nb\n":                 `3:1: did not find expected ',' or ']', in what begins on line 1`,
		"words: *nowhere":                 `1:8: unknown anchor 'nowhere' referenced`,
		"one: &a {<<: *a}":                `1:14: << takes a mapping or a list of at most 8, none of which holds itself`,
		"one: {<<: 3}":                    `1:11: << takes a mapping or a list of at most 8, none of which holds itself`,
		"items: &a [*a]":                  `1:12: expected a mapping, got a list`,
	} {
		if got, count := decode(in, &document{}); got != want || count != 1 {
			t.Errorf("%q:\n got %s (%d)\nwant %s", in, got, count, want)
		}
	}
}

func TestEachErrorOfANotationHasItsPlace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"for: [1s]": `1:6: expected a duration, such as 500ms, 30s or 5m`,
		"least: 30": `1:8: "30" has no unit; write 30ms for milliseconds, 30s for seconds, ` +
			`30m for minutes`,
		"near: [x]":                              `1:7: expected a mapping, got a list`,
		"near: {nam: x}":                         `1:8: unknown field "nam"; did you mean "name"?`,
		"near: {count: 1}":                       `1:7: a near thing has a name`,
		"near: &a {name: x}\nlater: *a\nfor: *a": `3:6: expected a duration, such as 500ms, 30s or 5m`,
	} {
		if got, count := decode(in, &writtenDoc{}); got != want || count != 1 {
			t.Errorf("%q:\n got %s (%d)\nwant %s", in, got, count, want)
		}
	}
	for in, want := range map[string]string{
		"at: 5m ago":      `1:5: "5m ago" is not a time such as 2006-01-02T15:04:05Z`,
		"at: [x]":         `1:5: expected a time, got a list`,
		"revert_after: x": `1:15: "x" is not a duration; write it with a unit (ms, s, m, h, d, w), such as 500ms, 30s or 5m`,
		"lift_after: 1m":  `1:1: lift_after is now called revert_after`,
		"Never: x":        `1:1: unknown field "Never"; known: at, revert_after, max`,
	} {
		if got, count := decode(in, &likeJSON{}); got != want || count != 1 {
			t.Errorf("%q:\n got %s (%d)\nwant %s", in, got, count, want)
		}
	}
}

func TestAllErrorsAreFoundAndTheRestIsRead(t *testing.T) {
	t.Parallel()
	v, err := Parse("x", []byte("wrds: 1\nitems: [{name: a, count: x}, 3, {name: c}]\nyes: true\nyes: false\none: 4\n"),
		limit)
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	ps, _ := errors.AsType[Problems](v.Decode(&doc))
	want := `x:1:1: unknown field "wrds"; did you mean "words"?
x:2:26: expected a whole number, got "x"
x:2:30: expected a mapping, got a single value
x:4:1: the field "yes" is given twice, first on line 3
x:5:6: expected a mapping, got a single value`
	if diff := cmp.Diff(want, ps.Sorted("x").Error()); diff != "" {
		t.Error(diff)
	}
	if !doc.Yes || len(doc.Items) != 3 || doc.Items[0].Name != "a" || doc.Items[2].Name != "c" || doc.One != nil {
		t.Errorf("got %+v", doc)
	}
	// What lacks in a mapping that could not be read whole may only be unreadable.
	for path, whole := range map[string]bool{"": false, "items[0]": false, "items[2]": true} {
		if got := v.Find(path).Whole(); got != whole {
			t.Errorf("%q is whole: %t", path, got)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	in := `
base: &base {name: n, count: 0x10, kind: 3}
one: {<<: [*base, {labels: {a.b: y, n: 1}}], count: 1_000, small: ~}
items: [*base, ~, {name: 2026-01-01, labels: {}}]
words: [1, "1", true, !!str 2, no, ~]
yes: on
share: 2
`
	var got struct {
		Base item `yaml:"base"`
		document
	}
	v, err := Parse("x", []byte(in), limit)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Decode(&got); err != nil {
		t.Fatal(err)
	}
	base := item{Name: "n", Count: 16, Kind: "3"}
	want := document{
		One:   &item{Name: "n", Count: 1000, Kind: "3", Labels: map[string]string{"a.b": "y", "n": "1"}},
		Items: []item{base, {}, {Name: "2026-01-01", Labels: map[string]string{}}}, Words: []string{
			"1", "1", "true", "2",
			"no", "",
		},
		Yes: true, Share: new(2.0),
	}
	if diff := cmp.Diff(want, got.document, cmp.AllowUnexported(document{}, item{})); diff != "" {
		t.Error(diff)
	}
	var j likeJSON
	if text, _ := decode("at: 2026-01-05T12:00:00.5Z\nrevert_after: 600000000000\nmax: 7",
		&j); text != "" || j.Revert != 10*time.Minute || *j.Max != 7 || j.At.Nanosecond() != 5e8 {
		t.Errorf("%s %+v", text, j)
	}
	v, err = Parse("x", []byte("at: 5m ago"), limit)
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	if err := v.DecodeAt(noon, &j); err != nil || !j.At.Equal(noon.Add(-5*time.Minute)) {
		t.Errorf("%v %v", err, j.At)
	}
	var host struct {
		At netip.Addr `yaml:"at"`
	}
	if v, err = Parse("x", []byte("at: 10.0.0.1"),
		limit); err != nil || v.Decode(&host) != nil || host.At.String() != "10.0.0.1" {
		t.Errorf("a type that reads itself out of a text: %v %s", err, host.At)
	}
	if v, err = Parse("x", []byte("at: 10.0.0"), limit); err != nil || v.Decode(&host) == nil {
		t.Errorf("what such a type refuses is read: %v %s", err, host.At)
	}
	if text, _ := decode("revert_after: 1h30m", &j); text != "" || j.Revert != 90*time.Minute {
		t.Errorf("%s %+v", text, j)
	}
}

func TestAShortFileCannotStandForALongOne(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("words: &w [" + strings.Repeat("a,", 3000) + "]\nitems: &i [{labels: {}}]\nmany:\n")
	for range 3000 {
		b.WriteString("- *w\n")
	}
	var out struct {
		document
		Many [][]string `yaml:"many"`
	}
	if got, count := decode(b.String(), &out); !strings.HasSuffix(got,
		"the aliases stand for more than 100000 values") || count != 1 {
		t.Errorf("got %s (%d)", got, count)
	}
	if got, _ := decode(strings.Repeat("#", limit+1),
		&out); got != " the file has 1048577 bytes; at most 1048576 are read" {
		t.Errorf("got %q", got)
	}
}

func TestWordsSayWhatMayHaveBeenMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{
			NotThere("signal", "wating", []string{"waiting", "running"}),
			`unknown signal "wating"; did you mean "waiting"?`,
		},
		{
			NotThere("signal", "zebra", []string{"waiting", "running"}),
			`unknown signal "zebra"; known: waiting, running`,
		},
		{NotThere("signal", "zebra", nil), `unknown signal "zebra"`},
		{NotThere("signal", "zebra", make([]string, 51)), `unknown signal "zebra"`},
		{
			NotOneOf("dry_run", []word{"dry-run", "observe"}),
			`"dry_run" is not one of dry-run, observe; did you mean "dry-run"?`,
		},
		{NotOneOf("zebra", []word{"dry-run", "observe"}), `"zebra" is not one of dry-run, observe`},
		{Twice("a"), `duplicate "a"`},
	} {
		if c.got != c.want {
			t.Errorf("got %s\nwant %s", c.got, c.want)
		}
	}
}
