package pages

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func builtIn(t *testing.T) *playbooks.Catalog {
	t.Helper()
	c, err := catalog.Load(playbooks.Options{Window: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// collect reads every signal of the catalog for a scene: those that Prometheus is asked for, and those that are worked
// out from them.
func collect(t *testing.T, c *playbooks.Catalog, s scene, e *evidence.Collector) incident.Evidence {
	t.Helper()
	pool := incident.Pool{Name: s.name, Matchers: s.pool()}
	ev := e.Collect(t.Context(), pool, c.AllSignals(), evidence.CollectOptions{})
	for name, r := range c.Diagnose(playbooks.Input{Pool: pool, Evidence: ev}).Readings {
		if _, asked := ev.Readings[name]; !asked {
			ev.Readings[name] = r
		}
	}
	return ev
}

// collector is patient: many scenes share the machine, and a slow one is no finding.
func collector(t *testing.T, cfg evidence.Config) *evidence.Collector {
	t.Helper()
	cfg.Prometheus.QueryTimeout, cfg.Deadline = time.Minute, 5*time.Minute
	e, err := evidence.New(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// embedded reads a scene from a Prometheus of its own.
func embedded(t *testing.T, s scene) *evidence.Collector {
	t.Helper()
	p, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	fill(t, p, s)
	return collector(t, evidence.Config{
		Prometheus: prometheus.Config{
			URL: "http://prometheus.invalid", Transport: func(http.RoundTripper) http.RoundTripper { return p },
		},
		Now: func() time.Time { return start().Add(age) },
	})
}

// missing is how the collector says that a metric does not exist for a pool.
var missing = regexp.MustCompile(`this Prometheus has no metric (.+?) for this pool \([^)]*\([^)]*\)[^)]*\)`)

// line is a reading as the golden files have it: the value, its pods, the metrics that it rests on, and the rest of
// what was said.
func line(r incident.Reading) string {
	warning := r.Warning
	var b strings.Builder
	switch gone := missing.FindStringSubmatch(warning); {
	case r.Error != "":
		b.WriteString("error: " + r.Error)
	case r.Value != nil:
		b.WriteString(bounded(r))
	case gone != nil:
		b.WriteString("not on this vLLM: " + gone[1])
		warning = strings.Trim(strings.Replace(warning, gone[0], "", 1), "; ")
	default:
		b.WriteString("no data")
	}
	for i, p := range r.Pods {
		b.WriteString(map[bool]string{true: "; pods ", false: " "}[i == 0] + p.Pod + "=" + number(p.Value))
	}
	if names := metrics(r.Query); len(names) > 0 {
		b.WriteString(" <- " + strings.Join(names, " "))
	}
	if warning != "" {
		b.WriteString(" !! " + warning)
	}
	return b.String()
}

func bounded(r incident.Reading) string {
	out := number(*r.Value) + " " + string(r.Unit)
	switch r.Bound {
	case incident.AtMost:
		return "at most " + out
	case incident.AtLeast:
		return "at least " + out
	case incident.Exact:
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// metrics lists the metrics of a query as it was sent.
func metrics(query string) []string {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			names[vs.Name] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names))
}

func written(ev incident.Evidence, signals []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "dialect: %s\nabsent: %s\n\n", ev.Dialect, ev.Absent)
	for _, name := range signals {
		fmt.Fprintf(&b, "%s: %s\n", name, line(ev.Readings[name]))
	}
	return b.Bytes()
}

// recorded are the signals in a scene's golden file.
func recorded(s scene, ev incident.Evidence) []string {
	if s.everySignal {
		return slices.Sorted(maps.Keys(ev.Readings))
	}
	all := slices.Concat(perMetric(), slices.Collect(maps.Keys(s.exact)), slices.Collect(maps.Keys(s.wrong)))
	slices.Sort(all)
	return slices.Compact(all)
}

// othersAgree checks the signals that the golden file leaves out: none fails, and none asks for a metric, or a spelling
// of one, that no recorded signal asks for.
func othersAgree(t *testing.T, ev incident.Evidence, recorded []string, exported map[string]bool) {
	t.Helper()
	asked := map[string]bool{}
	for _, signal := range recorded {
		if _, known := ev.Readings[signal]; !known {
			t.Errorf("the catalog has no signal %s", signal)
		}
		for _, metric := range metrics(ev.Readings[signal].Query) {
			asked[metric] = true
		}
	}
	for signal, r := range ev.Readings {
		if r.Error != "" {
			t.Errorf("%s: %s", signal, r.Error)
		}
		for _, metric := range metrics(r.Query) {
			if !asked[metric] && exported[metric] {
				t.Errorf("%s reads %s, which no recorded signal reads: name one in perMetric", signal, metric)
			}
		}
	}
}

// exported are the metrics that any page has.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, page := range pageNames(t) {
		for _, s := range parse(t, page) {
			out[s.name()] = true
		}
	}
	return out
}

func TestEverySignalIsReadFromEveryPage(t *testing.T) {
	t.Parallel()
	c, anywhere := builtIn(t), exported(t)
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			ev := collect(t, c, s, embedded(t, s))
			signals := recorded(s, ev)
			compareWithFile(t, filepath.Join("testdata", s.name+".golden"), written(ev, signals))
			othersAgree(t, ev, signals, anywhere)
			for name, want := range s.exact {
				if r := ev.Readings[name]; !is(r, want) {
					t.Errorf("%s is %s; want %s", name, line(r), number(want))
				}
			}
			for name, want := range s.wrong {
				if r := ev.Readings[name]; is(r, want) {
					t.Errorf("%s is %s now, which is right: move it to exact", name, line(r))
				}
			}
		})
	}
}

// is allows for the last digits of sums.
func is(r incident.Reading, want float64) bool {
	return r.HasValue() && r.Bound == incident.Exact && math.Abs(*r.Value-want) <= 1e-9*max(1, math.Abs(want))
}

func compareWithFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test ./test/pages -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-file +read), rewrite with -update when this is right:\n%s", path, diff)
	}
}
