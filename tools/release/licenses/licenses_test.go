package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// The file is shipped with every release: one that is out of date leaves somebody's license out.
func TestTheFileNamesAllThatIsLinked(t *testing.T) {
	t.Parallel()
	if err := run("../../..", true); err != nil {
		t.Error(err)
	}
}

// known is the text of a license as the library knows it, without its pattern's signs.
func known(t *testing.T, id string) string {
	t.Helper()
	for _, l := range licensecheck.BuiltinLicenses() {
		if l.ID != id || l.LRE == "" {
			continue
		}
		var out []string
		for line := range strings.Lines(l.LRE) {
			if !strings.HasPrefix(strings.TrimSpace(line), "//**") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "")
	}
	t.Fatalf("the library knows no %s", id)
	return ""
}

func TestOnlyAllowedLicensesAreShipped(t *testing.T) {
	t.Parallel()
	mit := ours(t, "github.com/labstack/echo/v4")
	for name, c := range map[string]struct {
		texts []text
		want  string
	}{
		"an allowed one":   {[]text{{"LICENSE", mit}}, ""},
		"none":             {nil, "has no license"},
		"a notice alone":   {[]text{{"NOTICE", "Made by somebody."}}, "has no license"},
		"words of its own": {[]text{{"LICENSE", "You may look at this on Tuesdays."}}, "only 0% of LICENSE"},
		"one that spreads": {[]text{{"LICENSE", known(t, "AGPL-3.0")}}, "is under AGPL-3.0"},
		"one more in a folder": {
			[]text{{"LICENSE", mit}, {"sub/LICENSE", known(t, "MPL-2.0")}}, "sub/LICENSE is under MPL-2.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, err := range refuse([]part{{module: "example.com/x", texts: c.texts}}) {
				got = append(got, err.Error())
			}
			if said := strings.Join(got, "\n"); (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("it says %q, want %q", said, c.want)
			}
		})
	}
}

// A package in a folder with a license of its own is under that one as well; one in a folder that nothing is linked
// from does not count.
func TestTheLicensesOfInnerFoldersCount(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, f := range []string{"LICENSE", "in/ner/COPYING", "in/ner/license.go", "other/LICENSE"} {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text of "+f+"\r\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "in/ner/most"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := texts(part{
		module: "x", root: root,
		folders: []string{filepath.Join(root, "in/ner/most"), filepath.Join(root, "in/ner")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []text{{"LICENSE", "text of LICENSE"}, {"in/ner/COPYING", "text of in/ner/COPYING"}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("found %v, want %v", got, want)
	}
}

// ours is the license file of something that is linked.
func ours(t *testing.T, module string) string {
	t.Helper()
	parts, err := linked("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p.module != module {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(p.root, "LICENSE"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	t.Fatalf("%s is not linked", module)
	return ""
}
