package app_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/openapi"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// start runs a bot with those options, and stops it after the test.
func start(t testing.TB) *app.App {
	t.Helper()
	return run(t, options(t))
}

// options are for a bot on free ports whose Prometheus does not answer.
func options(t testing.TB) app.Options {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "medic.yaml")
	yaml := `
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}
store: {url: "sqlite://` + dir + `/medic.db"}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 2s}
alertmanager: {auth: {bearer_token_env: HOOK}}
access: {viewer_token_env: VIEW}
timing: {group_wait: 1ms, sweep: 50ms}
pools: [{name: llama, match: {model_name: llama}, matchers: {model_name: llama}}]
`
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOOK": "hook-secret-of-tests", "VIEW": "view-secret"}
	cfg, err := config.Load(path,
		config.Options{Profiles: cat, Getenv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	return app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)}
}

// ask sends a request and returns the code and the body.
func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	code, text, _ := answer(t, method, url, token, body)
	return code, text
}

// answer sends a request and returns all of the answer, which is held against docs/openapi.yaml.
func answer(t *testing.T, method, url, token, body string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	openapi.Check(t, req, []byte(body), resp.StatusCode, resp.Header, raw)
	return resp.StatusCode, string(raw), resp.Header
}

const payload = `{"version":"4","groupKey":"g","status":"firing","receiver":"r",
"alerts":[{"status":"firing","fingerprint":"00112233aabbccdd","startsAt":"2026-11-21T03:00:00Z",
"labels":{"alertname":"vLLMHighTTFT","model_name":"llama","note":"<script>alert(1)</script>"}}]}`

func TestTheListenersAnswer(t *testing.T) {
	t.Parallel()
	a := start(t)
	api, ops := "http://"+a.Addr("api"), "http://"+a.Addr("ops")
	if a.Addr("slack") != "" {
		t.Error("there is a Slack listener without a slack section")
	}
	for _, tc := range []struct {
		name, method, url, token, body string
		code                           int
	}{
		{"health", "GET", ops + "/healthz", "", "", 200},
		{"readiness", "GET", ops + "/readyz", "", "", 200},
		{"metrics", "GET", ops + "/metrics", "", "", 200},
		{"goroutines", "GET", ops + "/debug/goroutines", "", "", 200},
		{"goroutines are not on the API listener", "GET", api + "/debug/goroutines", "view-secret", "", 404},
		{"webhook without a token", "POST", api + "/api/v1/alertmanager", "", payload, 401},
		{"webhook with a wrong body", "POST", api + "/api/v1/alertmanager", "hook-secret-of-tests", "{", 400},
		{"webhook", "POST", api + "/api/v1/alertmanager", "hook-secret-of-tests", payload, 200},
		{"listing without a token", "GET", api + "/api/v1/incidents", "", "", 401},
		{"the webhook's token reads nothing", "GET", api + "/api/v1/incidents", "hook-secret-of-tests", "", 401},
		{"listing", "GET", api + "/api/v1/incidents?state=open&limit=5", "view-secret", "", 200},
		{"a limit that is none", "GET", api + "/api/v1/incidents?limit=x", "view-secret", "", 400},
		{"an incident that is not there", "GET", api + "/api/v1/incidents/inc-none", "view-secret", "", 404},
		{"the viewer decides nothing", "POST", api + "/api/v1/incidents/inc-none/decision", "view-secret", "{}", 403},
		{"the viewer pauses nothing", "POST", api + "/api/v1/pause", "view-secret", `{"reason":"x"}`, 403},
		{"the viewer resumes nothing", "POST", api + "/api/v1/resume", "view-secret", "{}", 403},
		{"the viewer aborts nothing", "POST", api + "/api/v1/incidents/inc-none/abort", "view-secret", "{}", 403},
		{"a path that is none", "GET", api + "/nope", "view-secret", "", 404},
		{"metrics are not on the API listener", "GET", api + "/metrics", "view-secret", "", 404},
	} {
		code, body := ask(t, tc.method, tc.url, tc.token, tc.body)
		if code != tc.code {
			t.Errorf("%s: answered %d, want %d: %s", tc.name, code, tc.code, body)
		}
		if strings.Contains(body, "secret") {
			t.Errorf("%s: a secret shows: %s", tc.name, body)
		}
	}
}

// With a Prometheus that does not answer the incident is visible all the same, says so, and proposes nothing.
func TestAnIncidentWithoutMetricsSaysSo(t *testing.T) {
	t.Parallel()
	a := start(t)
	api := "http://" + a.Addr("api")
	if code, body := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", payload); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	deadline := time.Now().Add(process.Patience)
	for {
		_, body := ask(t, "GET", api+"/api/v1/incidents", "view-secret", "")
		if strings.Contains(body, `"state":"watching"`) {
			if !strings.Contains(body, `"error":`) || strings.Contains(body, `"state":"proposed"`) {
				t.Errorf("the readings carry no error, or a step is proposed: %s", body)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the incident does not come to rest: %s", body)
		}
		<-time.After(50 * time.Millisecond)
	}
	code, page := ask(t, "GET", api+"/", "view-secret", "")
	if code != 200 || !strings.Contains(page, "llama") {
		t.Errorf("the page: %d %s", code, page)
	}
	if strings.Contains(page, "<script>") {
		t.Error("alert text is not escaped")
	}
}

// docs/operations.md has a row for each metric of ours that the ops listener shows, and for none that does not exist.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{SocketMode: true})
	o := inSlack(options(t), s, true)
	ca, err := identity.NewAuthority(t.TempDir(), "ca")
	if err != nil {
		t.Fatal(err)
	}
	o.Config.Files = &reread.Set{}
	if _, err := reread.AuthorityFile(o.Config.Files, "tracing.ca_file", ca.File); err != nil {
		t.Fatal(err)
	}
	a := run(t, o)
	api := "http://" + a.Addr("api")
	if code, body := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", payload); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	command(t, s, "U0BOB", "status") // there is a metric of the last one
	_, shown := ask(t, "GET", "http://"+a.Addr("ops")+"/metrics", "", "")
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	names := func(pattern, text string) []string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	_, section, _ := strings.Cut(string(page), "\n## Metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if d := cmp.Diff(names("(?m)^# TYPE (vllm_medic_[a-z_]+) ", shown),
		names("(?m)^\\| `(vllm_medic_[a-z_]+)[`{]", section)); d != "" {
		t.Errorf("(-listener +docs/operations.md):\n%s", d)
	}
}

// Alerts of any names, on anything, become numbers in series that were there before.
func TestAFloodOfForeignAlertsAddsNoSeries(t *testing.T) {
	t.Parallel()
	a := start(t)
	page := func() string {
		_, shown := ask(t, "GET", "http://"+a.Addr("ops")+"/metrics", "", "")
		return shown
	}
	series := func(shown string) []string {
		var out []string
		for _, m := range regexp.MustCompile(`(?m)^(vllm_medic_[^ ]+) `).FindAllStringSubmatch(shown, -1) {
			out = append(out, m[1])
		}
		return out
	}
	send := func(n int) {
		body := strings.NewReplacer("vLLMHighTTFT", fmt.Sprint("Foreign", n), `"llama"`, fmt.Sprintf(`"model-%d"`, n),
			"00112233aabbccdd", fmt.Sprintf("%016x", n)).Replace(payload)
		api := "http://" + a.Addr("api")
		if code, answer := ask(t, "POST", api+"/api/v1/alertmanager", "hook-secret-of-tests", body); code != 200 {
			t.Fatalf("%d %s", code, answer)
		}
	}
	settled := func() string {
		for deadline := time.Now().Add(process.Patience); ; <-time.After(20 * time.Millisecond) {
			shown := page()
			if strings.Contains(shown, "\nvllm_medic_deliveries_waiting 0\n") &&
				strings.Contains(shown, "\nvllm_medic_incidents_opened_total{pool=\"none\"} 1\n") {
				return shown
			}
			if time.Now().After(deadline) {
				t.Fatalf("the deliveries are not folded in: %s", shown)
			}
		}
	}
	send(0)
	before := series(settled())
	for n := range 60 {
		send(n)
	}
	if d := cmp.Diff(before, series(settled())); d != "" {
		t.Errorf("-before +after:\n%s", d)
	}
}

func TestTwoListenersOnOneAddressAreRefusedClearly(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := options(t)
	opts.Config.Listen.Ops = l.Addr().String()
	_, err = app.New(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "listen.ops") ||
		!strings.Contains(err.Error(), "an address of its own") {
		t.Errorf("New = %v", err)
	}
}
