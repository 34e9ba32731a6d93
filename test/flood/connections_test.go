package flood_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

const hook = "token-of-alertmanager"

// person is a token of somebody whom the API server of the bench knows. They may do everything.
const person = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbmEiLCJhdWQiOlsidmxsbS1tZWRpYyJdfQ.c2ln"

// kubernetes is an API server that answers only who somebody is and what they may do.
func kubernetes(t *testing.T) (kubeconfig string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer := `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":false}}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			answer = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`
		case strings.Contains(string(body), person):
			answer = `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"authenticated":true,` +
				`"user":{"username":"ana"},"audiences":["vllm-medic"]}}`
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "` + srv.URL + `"}}], users: [{name: u, user: {}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// bot runs in this process.
func bot(t *testing.T) *app.App {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := `
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}
store: {url: "sqlite://` + dir + `/medic.db"}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 2s}
alertmanager: {auth: {bearer_token_env: HOOK}}
kubernetes: {kubeconfig: "` + kubernetes(t) + `"}
pools: [{name: llama, match: {model_name: llama}, matchers: {model_name: llama}}]
`
	cfg, err := config.Parse(filepath.Join(dir, "medic.yaml"), []byte(text),
		config.Options{Profiles: cat, Getenv: func(string) (string, bool) { return hook, true }})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return a
}

// ask sends a request on a connection of its own and returns the body of the answer, which must be 200.
func ask(t *testing.T, method, url, token, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return ""
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s: %s %s, %v", method, url, resp.Status, text, err)
	}
	return string(text)
}

// delivery is one alert with this fingerprint.
func delivery(fingerprint int) string {
	return fmt.Sprintf(`{"version":"4","groupKey":"g","status":"firing","receiver":"r","alerts":[{"status":"firing",`+
		`"fingerprint":"%016x","startsAt":%q,"labels":{"alertname":"vLLMHighTTFT","model_name":"llama"}}]}`,
		fingerprint, time.Now().UTC().Format(time.RFC3339))
}

// While 20,000 connections do nothing, send slowly, send garbage or have asked without credentials, from 2 addresses or
// from 200, and others come in their place: a delivery of Alertmanager, a decision, a pause and the kubelet's probes
// are answered, and the process has less than half of the memory that the chart gives it.
func TestIdleConnectionsGiveWay(t *testing.T) { //nolint:paralleltest // it measures its own process
	size.Needs(t, size.Large)
	const connections = 20_000
	// As in production, whatever the tests are run with.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	limit := chartMemory(t)
	for _, addresses := range []int{2, 200} {
		t.Run(fmt.Sprintf("%d addresses", addresses), func(t *testing.T) { //nolint:paralleltest // as above
			a := bot(t)
			api, ops := "http://"+a.Addr("api"), "http://"+a.Addr("ops")
			ask(t, http.MethodPost, api+"/api/v1/alertmanager", hook, delivery(1))
			incident := opened(t, api)
			var from []string
			for n := range addresses {
				from = append(from, fmt.Sprintf("127.0.%d.%d", 1+n/100, 1+n%100))
			}
			clearPeak(t)
			flood(t, connections, []string{a.Addr("api"), a.Addr("ops")}, from)
			for n := range 10 {
				ask(t, http.MethodPost, api+"/api/v1/alertmanager", hook, delivery(2+n))
				ask(t, http.MethodPost, api+"/api/v1/incidents/"+incident+"/ack", person, "")
				ask(t, http.MethodPost, api+"/api/v1/pause", person, `{"reason":"a flood"}`)
				ask(t, http.MethodGet, ops+"/healthz", "", "")
				ask(t, http.MethodGet, ops+"/readyz", "", "")
			}
			if got := peak(t); got >= limit/2 {
				t.Errorf("the process had %d MiB, and half of the chart's limit is %d MiB", got>>20, limit/2>>20)
			} else {
				t.Logf("the process had %d MiB at most", got>>20)
			}
			metrics := ask(t, http.MethodGet, ops+"/metrics", "", "")
			for _, listener := range []string{"api", "ops"} {
				if open := sample(t, metrics, `vllm_medic_connections_open{listener="`+listener+`"}`); open > 1024 {
					t.Errorf("%s has %v connections", listener, open)
				}
				closed := sample(t, metrics, `vllm_medic_connections_closed_total{listener="`+listener+`",reason="full"}`)
				if closed < connections/2-1024 {
					t.Errorf("%s closed %v connections", listener, closed)
				}
			}
		})
	}
}

// opened is the id of the one incident.
func opened(t *testing.T, api string) string {
	t.Helper()
	var id string
	kubetest.Eventually(t, "the incident", func(context.Context) error {
		var list struct {
			Incidents []struct {
				ID string `json:"id"`
			} `json:"incidents"`
		}
		text := ask(t, http.MethodGet, api+"/api/v1/incidents", person, "") //nolint:contextcheck // a test's own
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		if len(list.Incidents) == 0 {
			return errors.New("there is none")
		}
		id = list.Incidents[0].ID
		return nil
	})
	return id
}

// chartMemory is the memory that the chart gives the bot, in bytes.
func chartMemory(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/helm/vllm-medic/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Resources struct {
			Limits map[string]resource.Quantity `json:"limits"`
		} `json:"resources"`
	}
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	limit := values.Resources.Limits["memory"]
	if limit.Value() == 0 {
		t.Fatal("the chart has no limit of memory")
	}
	return limit.Value()
}

// clearPeak begins a new measurement of peak.
func clearPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// peak is the most memory that this process had in RAM, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(raw)
	if m == nil {
		t.Fatalf("no VmHWM in\n%s", raw)
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// sample is the value of one series.
func sample(t *testing.T, metrics, series string) float64 {
	t.Helper()
	for line := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no %s", series)
	return 0
}
