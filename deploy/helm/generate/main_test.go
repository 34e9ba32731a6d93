package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The chart has what the other folders have: whoever changes a rule runs go generate ./deploy/helm/generate.
func TestTheChartHasWhatItIsMadeFrom(t *testing.T) {
	t.Parallel()
	want, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, top := range []string{"files", "values.schema.json"} {
		err = fs.WalkDir(os.DirFS(chart), top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			got[path], err = os.ReadFile(filepath.Join(chart, path))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go generate ./deploy/helm/generate (-want +got):\n%s", diff)
	}
	if len(want) < 5 {
		t.Errorf("only %d files are made; the sources have moved", len(want))
	}
}
