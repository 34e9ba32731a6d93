package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
)

func TestValidateNamesEveryError(t *testing.T) {
	t.Parallel()
	cfg := Config{
		Prometheus: prometheus.Config{URL: "prometheus:9090", QueryTimeout: -1},
		DialectTTL: -1, HistoryWindow: -1, HistoryPoints: 5000, MaxSampleAge: -1, BaselineWindow: -1, Deadline: -5,
	}
	err := cfg.Validate()
	for _, want := range []string{
		"prometheus url", "query timeout", "deadline", "dialect time to live", "history window", "history points",
		"sample age",
		"baseline window",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word about %s in: %v", want, err)
		}
	}
	if _, err := New(cfg, nil, quiet()); err == nil {
		t.Error("New takes a bad configuration")
	}
	if _, err := New(asking("http://prometheus:9090"), nil, nil); err == nil {
		t.Error("New takes no logger")
	}
	if err := asking("http://prometheus:9090/prefix").Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestAConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := asking("http://u:hunter2@prometheus:9090/x")
	cfg.Prometheus.Headers = map[string]string{"X-Key": "hunter2"}
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v %#v", cfg, cfg)} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "http://prometheus:9090/x") {
			t.Errorf("printed %q", text)
		}
	}
}

const secret = "hunter2secret"

func TestNoReadingShowsASecret(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://bot:" + secret + "@127.0.0.1:1",
		"http://bot:" + secret + "@no-such-host.invalid",
	} {
		cfg := asking(address)
		cfg.Prometheus.Attempts, cfg.Prometheus.ExtraParams = 1, map[string][]string{"key": {secret}}
		ev := newCollector(t, cfg, nil).Collect(t.Context(), llmPool(), []incident.Signal{running}, CollectOptions{})
		if r := ev.Readings["running"]; r.Error == "" || strings.Contains(mustJSON(t, ev), secret) {
			t.Errorf("reading = %+v", r)
		}
	}
}
