package scenarios

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// speed is how many simulated seconds pass in one, so that a window of ten seconds holds minutes.
const speed = 30

// scrape is how often Prometheus asks, and how long it waits for an answer before all series of a target are stale: a
// journey asks once, and must find data on a busy machine, too.
const scrape = 3 * time.Second

// metrics is one Prometheus with two models: llama-70b, which has more requests than it can serve, and mixtral, which
// is well.
type metrics struct {
	t       *testing.T
	once    sync.Once
	url     string
	targets []string

	ruledOnce sync.Once
	ruledURL  string

	landscape landscape
}

// newMetrics starts nothing yet: a run of journeys that need no metrics stays quick.
func newMetrics(t *testing.T) *metrics { return &metrics{t: t} }

func (m *metrics) address() string {
	m.once.Do(func() {
		dir := m.t.TempDir()
		for model, scenario := range map[string]string{"llama-70b": "high-ttft", "mixtral": "healthy"} {
			file := filepath.Join(dir, model+".json")
			m.targets = append(m.targets, file)
			fleet.Start(m.t,
				fleet.Options{Model: model, Namespace: "llm", Scenario: scenario, Replicas: 2, Speed: speed, TargetsFile: file})
		}
		p := promtest.StartWith(m.t, promtest.Options{TargetsFiles: m.targets, ScrapeInterval: scrape})
		p.WaitFor(m.t, `sum(rate(vllm:time_to_first_token_seconds_count{model_name="mixtral"}[10s])) > 0`)
		p.WaitFor(m.t,
			`histogram_quantile(0.95, `+
				`sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name="llama-70b"}[10s]))) > 5`)
		m.url = p.URL
	})
	return m.url
}

// ruled is a second Prometheus over the same models that has loaded alert rules: those of two widely read guides, and
// ours.
func (m *metrics) ruled() string {
	m.address()
	m.ruledOnce.Do(func() {
		p := promtest.StartWith(m.t,
			promtest.Options{TargetsFiles: m.targets, Rules: m.guides(), ScrapeInterval: scrape})
		p.WaitFor(m.t, `count(rate(vllm:time_to_first_token_seconds_count[10s])) == 4`)
		m.ruledURL = p.URL
	})
	return m.ruledURL
}

// guides are the alert rules of two widely read guides, and ours.
func (m *metrics) guides() []string {
	var rules []string
	for _, path := range []string{
		"../../internal/evidence/testdata/guide-rules.yaml",
		"../../deploy/prometheus/rules/vllm-alerts.yaml",
	} {
		b, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			m.t.Fatal(err)
		}
		rules = append(rules, string(b))
	}
	return rules
}

// queries is a proxy before Prometheus that lets queries pass and nothing else.
func (m *metrics) queries() string {
	to, err := url.Parse(m.address())
	if err != nil {
		m.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/query") {
			proxy.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	m.t.Cleanup(srv.Close)
	return srv.URL
}
