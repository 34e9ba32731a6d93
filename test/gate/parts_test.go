package gate

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = `# Parts

| part | package | tests | unseen | after |
|---|---|---|---|---|
| a | test/a | all | much | docs go.mod |
| b | test/b | TestOne TestTwo | little | test/b |
`

func TestPartsAreRead(t *testing.T) {
	t.Parallel()
	got, err := Parts(page)
	want := []Part{
		{Name: "a", Package: "test/a", By: []string{"docs", "go.mod"}},
		{Name: "b", Package: "test/b", Tests: []string{"TestOne", "TestTwo"}, By: []string{"test/b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if got[0].Pattern() != "" || got[1].Pattern() != "^(TestOne|TestTwo)$" {
		t.Errorf("patterns %q and %q", got[0].Pattern(), got[1].Pattern())
	}
	for text, says := range map[string]string{
		"":                               "no table of parts",
		page + "| a | b | c |\n":         "five columns",
		page + "| c | d | | e | f |":     "five columns",
		page + "| a | b | c | d | e |\n": `two parts "a"`,
	} {
		if _, err := Parts(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAPartIsTouchedByItsFilesAndFolders(t *testing.T) {
	t.Parallel()
	parts, err := Parts(page)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{
		"docs/a.md": true, "go.mod": true, "go.mod.bak": false, "docs2/a.md": false, "": false,
	} {
		if got := parts[0].Touched([]string{"README.md", file}); got != want {
			t.Errorf("%q: %t", file, got)
		}
	}
}

// A large test that is in no part would never run again.
func TestWhatIsLargeIsInAPart(t *testing.T) {
	t.Parallel()
	parts, err := Parts(page)
	if err != nil {
		t.Fatal(err)
	}
	larger := []string{"test/a TestA/sub", "test/b TestTwo", "test/b TestThree/x", "test/b TestThree/y", "test/c TestA"}
	if got := WithoutPart(larger, parts); !slices.Equal(got, []string{"test/b TestThree", "test/c TestA"}) {
		t.Errorf("without a part: %q", got)
	}
}

// The parts of the project name packages, files and folders that are there.
func TestTheParts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../large.md")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Parts(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		for _, path := range append(p.By, p.Package) {
			if _, err := os.Stat("../../" + path); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}
