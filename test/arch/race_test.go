package arch

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// without finds in the script what is tested without the race detector.
var without = regexp.MustCompile(`(?m)^(?:single|arithmetic)="(.*)"$`)

// A test that the race detector leaves out runs nowhere, unless scripts/test.sh also runs its package without.
func TestWhatTheRaceDetectorLeavesOutIsRunWithout(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	b, err := os.ReadFile(filepath.Join(root, "scripts", "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range without.FindAllStringSubmatch(string(b), -1) {
		for pattern := range strings.FieldsSeq(m[1]) {
			listed[strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/...")] = true
		}
	}
	found := 0
	for _, f := range parse(t) {
		b, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("//go:build !race\n")) {
			continue
		}
		found++
		if !listed[filepath.ToSlash(f.dir)] {
			t.Errorf("%s is left out by the race detector: add ./%s to arithmetic in scripts/test.sh", f.path, f.dir)
		}
	}
	if found == 0 {
		t.Error("no file is left out by the race detector: this test looks in the wrong place")
	}
}
