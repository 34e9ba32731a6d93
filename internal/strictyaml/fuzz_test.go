package strictyaml

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// FuzzDecode holds the decoder against the library's: both take the same files and read the same from them. Where they
// differ the decoder says more: it goes on behind an error, and an entry that is nothing keeps its place in a list.
func FuzzDecode(f *testing.F) {
	f.Add("items: [{name: x, count: 3, labels: {a: b}}]\nwords: [a, 2, true]\nyes: on\none: {<<: {name: y}}\nshare: .5\n")
	f.Add("items: &a [{count: 0x1f}]\none: {count: 1e3, small: 07, kind: ~}\nshare: -.inf\n")
	f.Add("yes: true\nyes: false\n")
	f.Add("words: [~, '', !!binary aGk=]\n")
	f.Add("%YAML 1.1\n---\nyes: y\n...\n")
	f.Add("one:\n\tname: x")
	f.Fuzz(func(t *testing.T, text string) {
		var ours, theirs document
		v, err := Parse("x", []byte(text), limit)
		if err == nil {
			err = v.Decode(&ours)
		}
		checkPlaces(t, text, err)
		if strings.ContainsAny(text, "&*<~!") || strings.Contains(strings.ToLower(text), "null") {
			return // aliases, merges, tags and nothing are ours to decide
		}
		libErr := yaml.Load([]byte(text), &theirs, yaml.WithKnownFields())
		if (err == nil) != (libErr == nil) && !emptyValue(v) {
			t.Fatalf("%q: ours %v, the library's %v", text, err, libErr)
		}
		if err == nil && libErr == nil && !emptyValue(v) {
			if diff := cmp.Diff(theirs, ours, cmp.AllowUnexported(item{}), cmp.Comparer(sameNumber)); diff != "" {
				t.Errorf("%q: (-library +ours)\n%s", text, diff)
			}
		}
	})
}

func sameNumber(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// emptyValue says whether a value is left empty somewhere: "a:" and "- ".
func emptyValue(v Value) bool {
	var walk func(n *yaml.Node) bool
	walk = func(n *yaml.Node) bool {
		if n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == nullTag {
			return true
		}
		return slices.ContainsFunc(n.Content, walk)
	}
	return walk(v.node)
}
