package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var links = ViewOptions{
	BaseURL: "https://medic.example.com", DocsURL: "https://docs.example.com/vllm-medic",
	PrometheusURL: "https://prometheus.example.com",
}

// golden is how a view is written down: as it is sent, readable.
func golden(t *testing.T, v View) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"text": v.Text, "blocks": v.Blocks}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRenderLooksAsAgreedInEveryState(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	for name, inc := range stories(t) {
		file := name + ".json"
		written[file] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", file)
			got := golden(t, Render(inc, links))
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(filepath.Clean(path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
			}
		})
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".json") && !written[f.Name()] {
			t.Errorf("testdata/%s belongs to no state", f.Name())
		}
	}
}
