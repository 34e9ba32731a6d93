package app_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Two routes in the pool's namespace: without http_route the gateway's metrics are lost on the pool, and whoever checks
// the configuration must hear of it.
func TestLiveSaysThatThePoolsRouteIsNotNamed(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	prom, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := prom.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := prom.Load(now.Add(-10*time.Minute), 15*time.Second, []promembed.Series{
		{Series: `vllm:num_requests_running{namespace="llm",pod="a",model_name="llama",engine="0"}`, Values: "3x40"},
		{Series: `vllm:kv_cache_usage_perc{namespace="llm",pod="a",model_name="llama",engine="0"}`, Values: "0.3x40"},
		{
			Series: `namespace_httproute:gateway_cancels:ratio_increase5m{namespace="llm",httproute="llama"}`,
			Values: "0.02x40",
		},
		{Series: `namespace_httproute:gateway_cancels:ratio_increase5m{namespace="llm",httproute="web"}`, Values: "0.6x40"},
	}); err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const said = "several routes in this namespace: set pools[].http_route"
	for _, tc := range []struct {
		name, route string
		want        bool
	}{{"not named", "", true}, {"named", "http_route: {namespace: llm, name: llama}, ", false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := `
listen: {api: "127.0.0.1:0"}
prometheus: {url: "http://prometheus.invalid"}
pools: [{name: llama, ` + tc.route + `match: {model_name: llama}, matchers: {namespace: llm, model_name: llama}}]
`
			cfg, err := config.Parse("medic.yaml", []byte(text), config.Options{Profiles: cat})
			if err != nil {
				t.Fatal(err)
			}
			found, err := app.Live(t.Context(), app.Options{
				Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
				Transport: func(string, http.RoundTripper) http.RoundTripper { return prom },
			})
			if err != nil || len(found) == 0 {
				t.Fatalf("%+v, %v", found, err)
			}
			if f := found[0]; !f.Good || strings.Contains(f.Text, said) != tc.want {
				t.Errorf("said %v, want %v: %+v", !tc.want, tc.want, f)
			}
		})
	}
}
