package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	recipe = regexp.MustCompile(`(?m)^### (.*)\n\n([A-Z][a-z]+) files?[ ,.:]`)
	step   = regexp.MustCompile(`(?m)^\d\. .*(?:\n   .*)*`)
	quoted = regexp.MustCompile("`([^`]+)`")
	symbol = regexp.MustCompile(`^[A-Za-z]\w+$`)
)

// numbers are those that recipes say.
func numbers() []string {
	return []string{
		"No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve", "Thirteen",
		"Fourteen",
	}
}

// A recipe names the files that it takes and as many as it says, and what it names in them is there. What is to be new
// has NAME or NUMBER in its path; its folder, or the one above, is there.
func TestRecipesNameWhatIsThere(t *testing.T) {
	t.Parallel()
	text := read(t, "CONTRIBUTING.md")
	starts := recipe.FindAllStringSubmatchIndex(text, -1)
	if len(starts) < 10 {
		t.Fatalf("only %d recipes were found", len(starts))
	}
	for n, at := range starts {
		end := len(text)
		if n+1 < len(starts) {
			end = starts[n+1][0]
		}
		name, said := text[at[2]:at[3]], text[at[4]:at[5]]
		files := map[string]bool{}
		for _, s := range step.FindAllString(text[at[1]:end], -1) {
			follow(t, name, s, files)
		}
		if len(files) != slices.Index(numbers(), said) {
			t.Errorf("%s: %s files are said, and %d are named: %v", name, said, len(files), files)
		}
	}
}

// follow reads one step. A word in quotes that is no path belongs to the file before it.
func follow(t *testing.T, name, text string, files map[string]bool) {
	t.Helper()
	content := ""
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		switch what := strings.Join(strings.Fields(m[1]), " "); {
		case strings.Contains(what, " "): // a command
		case strings.Contains(what, "/") && filepath.Ext(what) != "":
			files[what] = true
			content = part(t, name, what)
		case symbol.MatchString(what) && content != "" &&
			!regexp.MustCompile(`\b`+what+`\b`).MatchString(content):
			t.Errorf("%s: the file before it has no %s", name, what)
		}
	}
}

// part is the text of a file that a recipe names; none for one that is to be new.
func part(t *testing.T, name, path string) string {
	t.Helper()
	if strings.Contains(path, "NAME") {
		above, _, _ := strings.Cut(path, "N")
		if _, err := os.Stat(filepath.Join("..", "..", filepath.Dir(above+"x"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return ""
	}
	b, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return string(b)
}
