package pages

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// contentType is what vLLM answers with, without OpenMetrics.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// The pages are the state of servers that began at start and have counted evenly until now. _created on the pages is
// start.
const (
	age      = 210 * time.Minute
	interval = time.Minute
)

func start() time.Time { return time.Unix(1_790_000_000, 0).UTC() }

// sample is one line of a page.
type sample struct {
	labels labels.Labels
	value  float64
	// grows says that the value is counted since the start.
	grows bool
}

func (s sample) name() string { return s.labels.Get(model.MetricNameLabel) }

func text(t *testing.T, page string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", page+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parse reads a page as Prometheus does.
func parse(t *testing.T, page string) []sample {
	t.Helper()
	p, err := textparse.New(text(t, page), contentType, nil, textparse.ParserOptions{})
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	types := map[string]model.MetricType{}
	var out []sample
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return counting(out, types)
		}
		if err != nil {
			t.Fatalf("%s: after %d series: %v", page, len(out), err)
		}
		switch entry {
		case textparse.EntryType:
			name, kind := p.Type()
			types[string(name)] = kind
		case textparse.EntrySeries:
			_, at, v := p.Series()
			var ls labels.Labels
			p.Labels(&ls)
			if at != nil {
				t.Fatalf("%s: %s has a time of its own", page, ls)
			}
			s := sample{labels: ls, value: v}
			kind, known := typeOf(types, s.name())
			if !known {
				t.Fatalf("%s: %s has no TYPE", page, ls)
			}
			s.grows = kind != model.MetricTypeGauge
			out = append(out, s)
		case textparse.EntryHelp, textparse.EntryComment, textparse.EntryUnit, textparse.EntryHistogram,
			textparse.EntryInvalid:
		}
	}
}

// counting marks gauges that count all the same: production-stack's router writes totals as gauges, and Ray each
// counter a second time, as a gauge without the suffix.
func counting(lines []sample, types map[string]model.MetricType) []sample {
	for i, line := range lines {
		_, twin := types[line.name()+"_total"]
		if twin || strings.HasSuffix(line.name(), "_total") {
			lines[i].grows = true
		}
	}
	return lines
}

// typeOf finds the type of a series: the series of a histogram or summary have its name and a suffix.
func typeOf(types map[string]model.MetricType, name string) (model.MetricType, bool) {
	if kind, ok := types[name]; ok {
		return kind, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, cut := strings.CutSuffix(name, suffix); cut {
			if kind, ok := types[base]; ok {
				return kind, true
			}
		}
	}
	return "", false
}

// scraped adds the labels of the scrape, as Prometheus does without honor_labels.
func scraped(t *testing.T, ls labels.Labels, scrape map[string]string) labels.Labels {
	t.Helper()
	b := labels.NewBuilder(ls)
	for name, value := range scrape {
		if ls.Has(name) {
			t.Fatalf("%s: its label %s is one of the scrape's", ls, name)
		}
		b.Set(name, value)
	}
	return b.Labels()
}

// fill puts a scene's pages into a Prometheus.
func fill(t *testing.T, p *promembed.Prometheus, s scene) {
	t.Helper()
	for _, target := range s.targets {
		scrape := map[string]string{"namespace": s.name}
		maps.Copy(scrape, target.labels)
		lines := append(parse(t, target.page), sample{labels: labels.FromStrings(model.MetricNameLabel, "up"), value: 1})
		for _, line := range lines {
			if err := p.Append(scraped(t, line.labels, scrape), history(line)); err != nil {
				t.Fatalf("%s: %v", target.page, err)
			}
		}
	}
}

func history(s sample) []promembed.Sample {
	var out []promembed.Sample
	for since := time.Duration(0); since <= age; since += interval {
		v := s.value
		if s.grows {
			v *= float64(since) / float64(age)
		}
		out = append(out, promembed.Sample{T: start().Add(since), V: v})
	}
	return out
}

func pageNames(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(path), ".txt")
	}
	return paths
}

func TestEveryPageIsASoundExposition(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, s := range scenes() {
		for _, target := range s.targets {
			used[target.page] = true
		}
	}
	for _, page := range pageNames(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if !used[page] {
				t.Error("no scene uses this page")
			}
			if b := text(t, page); bytes.Contains(b, []byte("\r")) || !bytes.HasSuffix(b, []byte("\n")) {
				t.Error("lines must end with a line feed, the last one too")
			}
			seen := map[uint64]bool{}
			lines := parse(t, page)
			for _, line := range lines {
				if seen[line.labels.Hash()] {
					t.Errorf("%s is there twice", line.labels)
				}
				seen[line.labels.Hash()] = true
			}
			soundHistograms(t, lines)
		})
	}
}

// soundHistograms checks that buckets rise and that the last one is the count.
func soundHistograms(t *testing.T, lines []sample) {
	t.Helper()
	last := map[string]float64{}
	bound := map[string]float64{}
	for _, line := range lines {
		if base, ok := strings.CutSuffix(line.name(), "_bucket"); ok {
			key := labels.NewBuilder(line.labels).Set(model.MetricNameLabel, base).Del(labels.BucketLabel).Labels().String()
			le, err := strconv.ParseFloat(line.labels.Get(labels.BucketLabel), 64)
			if before, again := bound[key]; err != nil || again && le <= before || line.value < last[key] {
				t.Errorf("%s: its bound or its value does not rise: %v", line.labels, err)
			}
			last[key], bound[key] = line.value, le
		}
		if base, ok := strings.CutSuffix(line.name(), "_count"); ok {
			key := labels.NewBuilder(line.labels).Set(model.MetricNameLabel, base).Labels().String()
			if top, histogram := last[key]; histogram && top != line.value {
				t.Errorf("%s is %v and its last bucket %v", line.labels, line.value, top)
			}
		}
	}
}
