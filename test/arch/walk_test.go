package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is what stands in backticks and is a path: it has a folder, or is a Go file.
var named = regexp.MustCompile("`([A-Za-z0-9_.*/-]+(?:/|\\.go|/[A-Za-z0-9_.*-]+))`")

// A reader finds the room for a change by the paths in ARCHITECTURE, so each of them must exist. A Go file without a
// folder is in internal/remediation, as the walk says.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := named.FindAllStringSubmatch(string(text), -1)
	if len(found) < 30 {
		t.Fatalf("only %d paths are named", len(found))
	}
	for _, m := range found {
		path := m[1]
		if !strings.Contains(path, "/") {
			path = "internal/remediation/" + path
		}
		if hits, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path))); err != nil || len(hits) == 0 {
			t.Errorf("%s does not exist (%v)", path, err)
		}
	}
}

// The walk through internal/remediation leaves no file out.
func TestTheWalkNamesEveryFileOfTheEngine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parse(t) {
		if f.dir == "internal/remediation" && !f.test && !strings.Contains(string(text), filepath.Base(f.path)+"`") {
			t.Errorf("the walk in ARCHITECTURE does not name %s", f.path)
		}
	}
}
