package alertmanager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// inbox takes deliveries over a network and keeps their bodies, without what differs from run to run.
type inbox struct {
	*httptest.Server

	mu   sync.Mutex
	got  []any
	news chan struct{}
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{news: make(chan struct{}, 100)}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		// What differs by address, and what the release that is started here doesn't have yet.
		for _, key := range []string{"externalURL", "notification_reason", "routeLabels"} {
			delete(body, key)
		}
		in.mu.Lock()
		in.got = append(in.got, map[string]any{"body": body, "token": r.Header.Get("Authorization")})
		in.mu.Unlock()
		in.news <- struct{}{}
	}))
	t.Cleanup(in.Close)
	return in
}

// next waits for so many more deliveries.
func (in *inbox) next(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-in.news:
		case <-time.After(process.Patience):
			t.Fatalf("no delivery within %v; there were %v", process.Patience, in.got)
		}
	}
}

// realOne starts the real Alertmanager and returns how it is given alerts.
func realOne(t *testing.T, webhook string) func(...model.Alert) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "alertmanager.yml")
	err := os.WriteFile(file, fmt.Appendf(nil, `
route:
  {receiver: vllm-medic, group_by: [namespace, model_name], group_wait: 1s, group_interval: 1s, repeat_interval: 1h}
receivers:
  - name: vllm-medic
    webhook_configs:
      - {url: %q, http_config: {authorization: {type: Bearer, credentials: secret-token}}}
`, webhook), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	address := ports.ForTest(t)
	//nolint:noctx // the binary is ours; its life is the test's, ended by Stop
	running, err := process.Start("alertmanager", dir, exec.Command(tools.Binary(t, "alertmanager"),
		"--config.file="+file, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address="))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Stop(syscall.SIGTERM) })
	err = running.Await(t.Context(), "alertmanager", func(ctx context.Context) error {
		return send(ctx, http.MethodGet, "http://"+address+"/-/ready", nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(alerts ...model.Alert) {
		t.Helper()
		body, err := json.Marshal(alerts)
		if err == nil {
			err = send(t.Context(), http.MethodPost, "http://"+address+"/api/v2/alerts", body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func send(ctx context.Context, method, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s", resp.Status, said))
	}
	return errors.Join(err, resp.Body.Close())
}

// The real Alertmanager posts the same bodies for the same alerts.
func TestTheRealAlertmanagerDeliversTheSame(t *testing.T) {
	t.Parallel()
	theirs, ours := newInbox(t), newInbox(t)
	cfg := config(http.DefaultTransport)
	cfg.URL, cfg.GroupWait, cfg.GroupInterval = ours.URL, time.Second, time.Second
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	am := running(t, cfg)
	tell := realOne(t, theirs.URL)
	both := func(deliveries int, alerts ...model.Alert) {
		t.Helper()
		tell(alerts...)
		put(t, am, alerts...)
		theirs.next(t, deliveries)
		ours.next(t, deliveries)
	}
	begin := time.Now().Truncate(time.Millisecond)
	end := begin.Add(time.Hour)
	named := func(name, pool, summary string) model.Alert {
		labels := model.LabelSet{
			"alertname": model.LabelValue(name), "namespace": "llm", "severity": "critical", "instance": "10.0.0.1:8000",
		}
		if pool != "" {
			labels["model_name"] = model.LabelValue(pool)
		}
		return model.Alert{
			Labels: labels, Annotations: model.LabelSet{"summary": model.LabelValue(summary), "runbook_url": "/r"},
			StartsAt: begin, EndsAt: end, GeneratorURL: "http://prometheus.example.com/graph?g0.expr=x&g0.tab=1",
		}
	}
	over := func(a model.Alert) model.Alert {
		a.EndsAt = begin.Add(time.Millisecond)
		return a
	}
	ttft, queue, cache := named("TTFT", "one", "a"), named("Queue", "one", "b"), named("Cache", "", "<&>")
	both(1, ttft, queue)
	both(1, cache)
	both(1, over(queue))
	later := ttft
	later.StartsAt, later.EndsAt = begin.Add(time.Second), end.Add(time.Hour) // as Prometheus sends it again
	both(1, later, named("Aborts", "one", "c"))
	both(1, over(cache))
	both(1, cache)
	both(1, over(ttft), over(named("Aborts", "one", "c")))
	theirs.mu.Lock()
	defer theirs.mu.Unlock()
	ours.mu.Lock()
	defer ours.mu.Unlock()
	if diff := cmp.Diff(theirs.got, ours.got); diff != "" {
		t.Errorf("deliveries (-real +ours):\n%s", diff)
	}
	if len(ours.got) != 7 || !strings.Contains(fmt.Sprint(ours.got[0]), "alertname:Queue") {
		t.Errorf("%v", ours.got)
	}
}
