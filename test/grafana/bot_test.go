package grafana

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

const payload = `{"version":"4","groupKey":"g","status":"firing","receiver":"r",
"alerts":[{"status":"firing","fingerprint":"00112233aabbccdd","startsAt":"2026-11-21T03:00:00Z",
"labels":{"alertname":"vLLMHighTTFT","namespace":"llm","model_name":"llama-70b"}}]}`

// bot is a running bot with one pool, in Slack, whose Prometheus does not answer.
func bot(t *testing.T) *app.App {
	t.Helper()
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := fakeslack.Start(t, fakeslack.Options{SocketMode: true})
	dir := t.TempDir()
	path := filepath.Join(dir, "medic.yaml")
	yaml := `
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}
store: {url: "sqlite://` + dir + `/medic.db"}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 2s}
alertmanager: {auth: {bearer_token_env: HOOK}}
slack:
  {channel: C0INCIDENTS, team: ` + fakeslack.TeamID + `, app_id: ` + fakeslack.AppID + `, token_env: BOT,
   app_token_env: APP}
timing: {group_wait: 1ms, sweep: 50ms}
pools:
- {name: llama, match: {model_name: llama-70b}, matchers: {namespace: llm, model_name: llama-70b}}
`
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOOK": "hook-secret-of-tests", "BOT": s.Token(), "APP": s.AppToken()}
	cfg, err := config.Load(path,
		config.Options{Profiles: cat, Getenv: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Slack.APIURL = s.APIURL()
	a, err := app.New(t.Context(), app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	a.Start(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Wait(ctx, func(s *fakeslack.Server) bool { return s.Sockets() > 0 }); err != nil {
		t.Fatal(err)
	}
	return a
}

// page is the answer to a request, which must be a 200.
func page(t *testing.T, method, url, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hook-secret-of-tests")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %s", method, url, resp.Status, err, text)
	}
	return text
}

// Whatever a panel asks of the bot, a bot that nothing has happened to answers, too: it exports a 0, not nothing.
func TestEveryPanelOfTheBotShowsARunningBot(t *testing.T) {
	t.Parallel()
	a := bot(t)
	page(t, http.MethodPost, "http://"+a.Addr("api")+"/api/v1/alertmanager", payload)
	prom := embedded(t)
	target := prom.Target(labels.FromStrings("job", "vllm-medic", "instance", "10.0.0.1:8081", "namespace", "vllm-medic",
		"pod", "vllm-medic-0"))
	now := time.Date(2026, time.November, 21, 3, 0, 0, 0, time.UTC)
	for range 12 {
		now = now.Add(every)
		if err := target.Scraped(now, page(t, http.MethodGet, "http://"+a.Addr("ops")+"/metrics", "")); err != nil {
			t.Fatal(err)
		}
	}
	for name := range boards(t) {
		for _, q := range read(t, name).questions(chosen()) {
			if onTheBot(q) {
				continue
			}
			if ofTheBot(q) {
				shown(t, q, asked(t, prom, q.expr, now))
			} else if name == "vllm-medic" {
				t.Errorf("%s asks nothing of the bot: %s", q.from, q.expr)
			}
		}
	}
}

// A bot that is gone has no metrics, and the alert that says so is marked.
func TestAnAlertOnTheBotIsMarked(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../../deploy/prometheus/rules/vllm-medic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	prom := embedded(t)
	if err := prom.LoadRules("vllm-medic.yaml", rules); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, time.November, 21, 3, 0, 0, 0, time.UTC)
	for range int(6 * time.Minute / every) {
		now = now.Add(every)
		if _, err := prom.EvaluateRules(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	marked := 0
	for _, q := range read(t, "vllm-medic").questions(chosen()) {
		if onTheBot(q) {
			marked++
			shown(t, q, asked(t, prom, q.expr, now))
		}
	}
	if marked == 0 {
		t.Error("no query asks for the alerts on the bot")
	}
}
