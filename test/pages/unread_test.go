package pages

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// A page is as long as what is read of it: a family that neither a signal nor a shipped rule nor the detection of the
// dialect asks for would only be scraped.
func TestPagesHoldOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	read := readMetrics(t)
	for _, page := range pageNames(t) {
		unread := map[string]bool{}
		lines := bufio.NewScanner(bytes.NewReader(text(t, page)))
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); len(fields) > 3 && fields[1] == "TYPE" && !read[today(fields[2])] {
				unread[fields[2]] = true
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		if len(unread) > 0 {
			t.Errorf("%s: nothing reads %s", page, strings.Join(slices.Sorted(maps.Keys(unread)), " "))
		}
	}
}

// readMetrics are the names that anything asks for, as today calls them.
func readMetrics(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, s := range builtIn(t).AllSignals() {
		for _, name := range metrics(s.Query) {
			out[today(name)] = true
		}
	}
	for _, expr := range shippedRules(t) {
		for _, name := range metrics(expr) {
			out[today(name)] = true
		}
	}
	for _, base := range vllm.Telling() {
		out[today(vllm.CanonicalPrefix+base)] = true
	}
	// Decoys: NIM has the first beside request_finish_total, and the second has no model_name and a time for its value.
	out["request_success"], out["vllm:lora_requests_info"] = true, true
	return out
}

func shippedRules(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../deploy/prometheus/rules/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	var out []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Groups []struct {
				Rules []struct {
					Expr string `yaml:"expr"`
				} `yaml:"rules"`
			} `yaml:"groups"`
		}
		if err := yaml.Unmarshal(b, &doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range doc.Groups {
			for _, r := range g.Rules {
				out = append(out, r.Expr)
			}
		}
	}
	return out
}

// today is a family's present name: without the suffixes of a histogram's or a counter's series, whatever the dialect.
func today(name string) string {
	name = strings.TrimPrefix(name, "kserve_") // KServe's second PodMonitor puts it before every name
	base, _ := vllm.SplitSeries(strings.TrimSuffix(name, vllm.SuffixCreated))
	for _, suffix := range []string{vllm.SuffixTotal, ""} {
		if canonical, ok := vllm.Canonical(strings.TrimSuffix(base, vllm.SuffixTotal) + suffix); ok {
			base = canonical
		}
	}
	return strings.TrimSuffix(base, vllm.SuffixTotal)
}
