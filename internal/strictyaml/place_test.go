package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlacesAreFoundByTheirPath(t *testing.T) {
	t.Parallel()
	in := "pools:\n  - name: a\n    labels: {a.b: x, a: {b: y}}\n    alias: &x [1, 2]\n  - *x\n"
	v, err := Parse("x", []byte(in), limit)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "1:1", "pools": "2:3", "pools[0]": "2:5", "pools[0].name": "2:11", "pools[0].labels.a.b": "3:19",
		"pools[0].labels.a": "3:25",
		"pools[0].nothing":  "2:5", "pools[0].name.x": "2:11", "pools[7].name": "2:3", "pools[1]": "5:5",
		"pools[1][1]": "4:19", "pools.x": "2:3",
	} {
		p := v.Find(path).Problem("")
		if got := fmt.Sprintf("%d:%d", p.Line, p.Col); got != want {
			t.Errorf("%q is at %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"": "1:1", "pools": "1:1", "pools[0]": "2:5", "pools[0].name": "2:5", "pools[0].labels.a.b": "3:14",
		"pools[0].nothing":  "2:5",
		"pools[0].labels.c": "3:5", "pools[7]": "1:1", "pools[1][1]": "4:19",
	} {
		p := v.Name(path).Problem("")
		if got := fmt.Sprintf("%d:%d", p.Line, p.Col); got != want {
			t.Errorf("%q is named at %s, want %s", path, got, want)
		}
	}
	if got := v.Find("pools[0].labels").Fields(); !cmp.Equal(got, []string{"a.b", "a"}) {
		t.Errorf("got %v", got)
	}
	if _, ok := v.Lookup("pool"); ok || !(Value{}).IsZero() || v.Find("pools[0]").Line() != 2 {
		t.Error("a field that is not there was found")
	}
}

func TestPlacesInsideOfTexts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a: waiting ! 5":                "1:12",
		"a:   'waiting ! 5'":            "1:15",
		`a: "waiting ! 5"`:              "1:13",
		`a: "\x41aiting ! 5"`:           "1:16",
		`a: "\"\u0041iting ! 5"`:        "1:19",
		`a: 'it''s in ! 5'`:             "1:14",
		"a: |\n  waiting ! 5":           "2:11",
		"a: >-\n  waiting\n  ! 5":       "3:3",
		"a: waiting\n   ! 5":            "2:4",
		"a: 'ü, öä in ! 5'":             "1:14",
		"a: &x waiting ! 5\nb: *x":      "1:15",
		"a: |\n    1\n    234567 ! 5\n": "3:12",
	} {
		v, err := Parse("x", []byte(in), limit)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := v.Key("a").Text()
		before, _, _ := strings.Cut(text, "!")
		p := v.Key("a").ProblemInside(len([]rune(before)), "here")
		if got := fmt.Sprintf("%d:%d", p.Line, p.Col); got != want {
			t.Errorf("%q: ! is at %s, want %s", in, got, want)
		}
	}
}

func checkPlaces(t *testing.T, text string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	ps, ok := errors.AsType[Problems](err)
	if !ok || len(ps) == 0 {
		t.Fatalf("%q: got %v, want Problems", text, err)
	}
	lines := 1
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // all that YAML knows
		lines += strings.Count(text, lineBreak)
	}
	for _, p := range ps {
		if p.Text == "" || p.File != "x" || p.Line < 1 || p.Col < 1 || p.Line > lines+1 {
			t.Errorf("%q: a problem without a place: %#v", text, p)
		}
		if strings.Contains(p.Text, reflect.TypeFor[document]().String()) || strings.Contains(p.Text, "strictyaml.") {
			t.Errorf("%q: a Go type shows: %s", text, p.Text)
		}
	}
}
