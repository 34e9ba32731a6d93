package pages

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// TestARealPrometheusScrapesThePages lets one process scrape every page of every scene. What does not look back in time
// must be read from it as from the embedded one.
func TestARealPrometheusScrapesThePages(t *testing.T) {
	t.Parallel()
	exporters := map[string]*promtest.Exporter{}
	for _, page := range pageNames(t) {
		exporters[page] = promtest.NewExporter(t, string(text(t, page)))
	}
	var targets []promtest.Target
	lines := map[string]int{}
	for _, s := range scenes() {
		for _, target := range s.targets {
			scrape := map[string]string{"namespace": s.name}
			maps.Copy(scrape, target.labels)
			delete(scrape, "job")
			targets = append(targets,
				promtest.Target{Address: exporters[target.page].Address(), Job: target.labels["job"], Labels: scrape})
			lines[s.name] += len(parse(t, target.page))
		}
	}
	p := promtest.StartWith(t, promtest.Options{Targets: targets, ScrapeInterval: 5 * time.Second})
	p.WaitFor(t, fmt.Sprintf("count(up == 1) == %d", len(targets)))
	// One collector for all: each keeps connections, and Prometheus takes 512.
	c, scraping := builtIn(t), collector(t, evidence.Config{Prometheus: prometheus.Config{URL: p.URL}})
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p.WaitFor(t, fmt.Sprintf(`sum(scrape_samples_scraped{namespace=%q}) == %d`, s.name, lines[s.name]))
			want := collect(t, c, s, embedded(t, s))
			got := collect(t, c, s, scraping)
			// Where the pool has nothing of its own, the other pools of this Prometheus spell the queries and are named in the
			// reason.
			alone := want.Absent != ""
			if got.Dialect != want.Dialect && !alone || (got.Absent != "") != alone {
				t.Errorf("dialect %q, absent %q; want %q, %q", got.Dialect, got.Absent, want.Dialect, want.Absent)
			}
			compared := 0
			for _, name := range slices.Sorted(maps.Keys(want.Readings)) {
				if !timeless(want.Readings[name]) {
					continue
				}
				compared++
				g, w := line(got.Readings[name]), line(want.Readings[name])
				if alone {
					g, w = got.Readings[name].Text(), want.Readings[name].Text()
				}
				if g != w {
					t.Errorf("%s is %s; want %s", name, g, w)
				}
			}
			if compared < 12 {
				t.Errorf("only %d readings were compared", compared)
			}
		})
	}
}

// timeless readings rest on the newest samples alone.
func timeless(r incident.Reading) bool {
	return r.Query != "" && !strings.ContainsAny(r.Query, "[") && !strings.Contains(r.Query, "time()") &&
		!strings.Contains(r.Query, " offset ")
}
