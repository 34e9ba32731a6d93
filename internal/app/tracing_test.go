package app_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// named counts the spans that a collector gets, by their names.
func named(t *testing.T) (url string, counts func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			gz, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = gz
		}
		raw, err := io.ReadAll(body)
		var msg collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(raw, &msg)
		}
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range msg.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					got[s.GetName()]++
				}
			}
		}
		if strings.Contains(string(raw), "secret") || strings.Contains(string(raw), "alert(1)") {
			t.Error("a secret, or an alert's text, is in the spans")
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// investigated posts an alert and waits until its incident has come to rest.
func investigated(t *testing.T, a *app.App) {
	t.Helper()
	api := "http://" + a.Addr("api")
	if code, body := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", payload); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	until(t, "the incident rests", func() bool {
		_, body := ask(t, "GET", api+"/api/v1/incidents", "view-secret", "")
		return strings.Contains(body, `"state":"watching"`)
	})
}

// A bot that ends has sent what happened, below the incident that goes on.
func TestTracesOfABotReachTheCollector(t *testing.T) {
	t.Parallel()
	url, counts := named(t)
	opts := options(t)
	opts.Config.Tracing = &config.Tracing{Endpoint: url}
	a, err := app.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	a.Start(t.Context())
	investigated(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	got := counts()
	for _, name := range []string{
		"webhook", "gather alerts", "wait for related alerts", "investigate", "prometheus POST", "notify slack",
	} {
		if got[name] == 0 {
			t.Errorf("no span %q: %v", name, got)
		}
	}
	if got["incident"] != 0 {
		t.Errorf("the incident is open, and its span was sent")
	}
}

// A collector that never answers holds no incident up. The metric says that nothing arrives.
func TestABotWithACollectorThatNeverAnswersGoesOn(t *testing.T) {
	t.Parallel()
	hole, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hole.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := options(t)
	opts.Config.Tracing = &config.Tracing{Endpoint: "http://" + hole.Addr().String()}
	a := run(t, opts)
	investigated(t, a)
	until(t, "lost spans are counted", func() bool {
		_, shown := ask(t, "GET", "http://"+a.Addr("ops")+"/metrics", "", "")
		return strings.Contains(shown, "\nvllm_medic_trace_spans_total{result=\"sent\"} 0\n") &&
			!strings.Contains(shown, "\nvllm_medic_trace_spans_total{result=\"failed\"} 0\n")
	})
}
