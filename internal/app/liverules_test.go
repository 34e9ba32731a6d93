package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// What is printed about them is in test/scenarios/testdata/0019_check_names_alert_rules_that_cannot_fire.txtar.
func TestLiveJudgesAlertRules(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.FromSlash("../evidence/testdata/guide-rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server := promtest.NewExporter(t,
		"vllm:num_requests_running{model_name=\"m\",engine=\"0\"} "+
			"1\nvllm:num_requests_waiting{model_name=\"m\",engine=\"0\"} "+
			"1\nvllm:kv_cache_usage_perc{model_name=\"m\",engine=\"0\"} 0.5\n")
	targets := []promtest.Target{{Address: server.Address()}}
	const alive = `groups: [{name: g, rules: [{alert: A, expr: "vllm:num_requests_waiting > 5"}, ` +
		`{alert: B, expr: "vllm:kv_cache_usage_perc * on (job) vllm:num_requests_running{job=\"x\"} > 1"}]}]`
	const notes = `groups: [{name: g, rules: [{alert: A, expr: "absent(vllm:num_requests_swapped)"}, ` +
		`{alert: B, expr: "rate(vllm:nixl_num_failed_transfers_total[5m]) > 0"}]}]`
	for _, tc := range []struct {
		name    string
		url     func(*testing.T) string
		want    string
		good    bool
		unasked bool
		rules   int
	}{
		{"dead ones", scraped(targets, string(guide)), "9 vLLM alert rules loaded, 9 can never fire", false, false, 9},
		{"a label of nobody now", scraped(targets, alive), "2 vLLM alert rules loaded, 0 can never fire", true, false, 1},
		{"only notes", scraped(targets, notes), "2 vLLM alert rules loaded, 0 can never fire", true, false, 2},
		{"no rules", scraped(targets), "no vLLM alert rule is loaded here", false, true, 0},
		{
			"nothing scraped", scraped(nil, alive), "2 vLLM alert rules loaded, and no vLLM metric in the last 24 h", false,
			false, 0,
		},
		{"nobody there", func(*testing.T) string { return "http://127.0.0.1:1" }, "refused", false, false, 0},
		{"a login page", loginPage, "not JSON", false, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := rulesFinding(t, tc.url(t))
			if f.Good != tc.good || f.Unasked != tc.unasked || len(f.Rules) != tc.rules || !strings.Contains(f.Text, tc.want) {
				t.Errorf("%+v", f)
			}
			for _, r := range f.Rules {
				if r.Name == "" || r.Group == "" || r.Never != (len(r.Why) > 0) || !r.Never && len(r.Notes) == 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// scraped runs Prometheus until it has what its targets export.
func scraped(targets []promtest.Target, rules ...string) func(*testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		address := promtest.Start(t, targets, rules...)
		if len(targets) > 0 {
			promtest.WaitFor(t, address, "vllm:num_requests_waiting")
		}
		return address
	}
}

func loginPage(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if _, err := w.Write([]byte("<html>log in</html>")); err != nil {
			t.Errorf("write: %v", err)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// rulesFinding is what Live says of the alert rules.
func rulesFinding(t *testing.T, address string) app.Finding {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "medic.yaml")
	text := fmt.Sprintf("listen: {api: \"127.0.0.1:0\"}\nprometheus: {url: %q, timeout: 5s, deadline: 10s}\nmode: "+
		"dry-run\npools: [{name: m, match: {model_name: m}, matchers: {model_name: m}}]\n", address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, config.Options{Profiles: cat, Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	found, err := app.Live(context.WithoutCancel(t.Context()),
		app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Where == "prometheus, alert rules" {
			return f
		}
	}
	t.Fatalf("nothing about alert rules: %+v", found)
	return app.Finding{}
}
