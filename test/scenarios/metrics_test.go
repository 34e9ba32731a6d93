package scenarios

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/fakevllm"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// speed is how many simulated seconds pass in one, so that a window of ten seconds holds minutes.
const speed = 30

// metrics is one Prometheus with two models: llama-70b, which has more requests than it can serve, and mixtral, which is well.
type metrics struct {
	t    *testing.T
	once sync.Once
	url  string
}

// newMetrics starts nothing yet: a run of journeys that need no metrics stays quick.
func newMetrics(t *testing.T) *metrics { return &metrics{t: t} }

func (m *metrics) address() string {
	m.once.Do(func() {
		dir := m.t.TempDir()
		var targets []string
		for model, scenario := range map[string]string{"llama-70b": "high-ttft", "mixtral": "healthy"} {
			file := filepath.Join(dir, model+".json")
			targets = append(targets, file)
			fakevllm.Start(m.t, fakevllm.Options{Model: model, Namespace: "llm", Scenario: scenario, Replicas: 2, Speed: speed, TargetsFile: file})
		}
		p := promtest.StartWith(m.t, promtest.Options{TargetsFiles: targets})
		p.WaitFor(m.t, `sum(rate(vllm:time_to_first_token_seconds_count{model_name="mixtral"}[10s])) > 0`)
		p.WaitFor(m.t, `histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket{model_name="llama-70b"}[10s]))) > 5`)
		m.url = p.URL
	})
	return m.url
}
