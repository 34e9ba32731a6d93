package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A claim of docs/security.md rests on its tests: each that it names is there, and no claim is without one.
func TestEveryClaimAboutSecurityHasItsTest(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`([a-z0-9/-]+):((?:Test|Fuzz)\\w+)`")
	scenario := regexp.MustCompile("`(test/scenarios/testdata/\\w+\\.txtar)`")
	sources := map[string]string{}
	count := 0
	for line := range strings.Lines(read(t, "docs/security.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "claim" {
			continue
		}
		tests, files := named.FindAllStringSubmatch(cells[2], -1), scenario.FindAllStringSubmatch(cells[2], -1)
		if len(tests)+len(files) == 0 {
			t.Errorf("no test shows that %s", strings.TrimSpace(cells[1]))
		}
		for _, m := range tests {
			count++
			if _, known := sources[m[1]]; !known {
				sources[m[1]] = testsOf(t, m[1])
			}
			if !strings.Contains(sources[m[1]], "\nfunc "+m[2]+"(") {
				t.Errorf("%s has no test %s", m[1], m[2])
			}
		}
		for _, m := range files {
			count++
			read(t, m[1])
		}
	}
	if count < 50 {
		t.Errorf("only %d tests are named", count)
	}
}

// testsOf is the test code of a package.
func testsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(b)
	}
	return out.String()
}
