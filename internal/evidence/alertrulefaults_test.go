package evidence

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestWhatCannotBeAskedIsNoVerdict(t *testing.T) {
	t.Parallel()
	p := promtest.StartWith(t, promtest.Options{
		Targets: []promtest.Target{{
			Address: promtest.NewExporter(t,
				exposition(v1Names(), `model_name="m",engine="0"`, "0.5", "2.5", "5")).Address(),
			Labels: map[string]string{"namespace": "llm"},
		}},
		Rules: ruleFiles(t)[:2],
	})
	p.WaitFor(t, `vllm:num_requests_running`)
	refuse := func(code int, paths ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
				http.Error(w, "not here", code)
				return true
			}
			return false
		}
	}
	say := func(body string, path string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			promtest.Write(w, body)
			return true
		}
	}
	t.Run("an address without rules says so", func(t *testing.T) {
		t.Parallel()
		for _, code := range []int{403, 404, 405, 501} {
			c := newCollector(t, asking(behind(t, p, refuse(code, "/api/v1/rules"))), nil)
			if rules, _, err := c.ExamineAlertRules(t.Context()); !errors.Is(err, prometheus.ErrNoRules) || len(rules) > 0 {
				t.Errorf("%d: %v, %v", code, rules, err)
			}
			if _, err := c.AlertRules(t.Context()); !errors.Is(err, prometheus.ErrNoRules) {
				t.Errorf("%d: %v", code, err)
			}
		}
	})
	t.Run("an answer that is no list of rules is an error", func(t *testing.T) {
		t.Parallel()
		for body, want := range map[string]string{
			`<html>log in</html>`: "not JSON", `{}`: "no status", `{"status":"success"}`: "no list",
			`{"status":"success","data":null}`:                                        "no list",
			`{"status":"error","errorType":"internal","error":"broken"}`:              "broken",
			`{"status":"success","data":{"groups":[]},"isPartial":true}`:              "partial",
			`{"status":"success","data":{"groups":[{"rules":[{"type":"strange"}]}]}}`: "cannot be used",
		} {
			c := newCollector(t, asking(behind(t, p, say(body, "/api/v1/rules"))), nil)
			if _, _, err := c.ExamineAlertRules(t.Context()); err == nil || errors.Is(err, prometheus.ErrNoRules) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", body, err)
			}
		}
	})
	t.Run("without the list of series only names decide", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t, asking(behind(t, p, refuse(404, "/api/v1/series"))), nil)
		rules, scraped, err := c.ExamineAlertRules(t.Context())
		if err != nil || !scraped {
			t.Fatalf("%v %v", scraped, err)
		}
		for _, r := range rules {
			if r.Name == "WrongJob" && r.Verdict.State != alertrules.Undecided ||
				r.Name == "QueueBuildUp" && r.Verdict.State != alertrules.Never {
				t.Errorf("%s: %+v", r.Name, r.Verdict)
			}
		}
	})
	t.Run("without the names nothing is said", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t, asking(behind(t, p, refuse(404, "/api/v1/label"))), nil)
		rules, _, err := c.ExamineAlertRules(t.Context())
		if err == nil || len(rules) == 0 || rules[0].Verdict.State != alertrules.Undecided {
			t.Errorf("%v, %v", rules, err)
		}
	})
	t.Run("a partial answer without series proves nothing", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t,
			asking(behind(t, p, say(`{"status":"success","data":[],"warnings":["a store did not answer"]}`, "/api/v1/series"))),
			nil)
		if got := c.presence(t.Context(), "up", time.Now().Add(-time.Hour), time.Now()); got != alertrules.Unasked {
			t.Errorf("presence = %v", got)
		}
	})
	t.Run("a transient failure is tried again", func(t *testing.T) {
		t.Parallel()
		var n atomic.Int32
		c := newCollector(t, asking(behind(t, p, func(w http.ResponseWriter, _ *http.Request) bool {
			if n.Add(1) > 2 {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})), nil)
		if rules, err := c.AlertRules(t.Context()); err != nil || len(rules) == 0 || n.Load() != 3 {
			t.Errorf("%d rules, %v, %d requests", len(rules), err, n.Load())
		}
	})
	t.Run("a Prometheus without vLLM", func(t *testing.T) {
		t.Parallel()
		empty := promtest.StartWith(t, promtest.Options{Rules: ruleFiles(t)[:2]})
		rules, scraped, err := newCollector(t, asking(empty.URL), nil).ExamineAlertRules(t.Context())
		if err != nil || scraped || len(rules) == 0 || rules[0].Verdict.State != alertrules.Undecided {
			t.Errorf("%d rules, %v, %v", len(rules), scraped, err)
		}
		none := promtest.StartWith(t, promtest.Options{})
		if rules, scraped,
			err := newCollector(t, asking(none.URL), nil).ExamineAlertRules(t.Context()); err != nil || !scraped ||
			len(rules) > 0 {
			t.Errorf("%d rules, %v, %v", len(rules), scraped, err)
		}
	})
	t.Run("dead alerts without rules", func(t *testing.T) {
		t.Parallel()
		c := newCollector(t, asking(behind(t, p, refuse(404, "/api/v1/rules"))), nil)
		pool := incident.Pool{Name: "m", Matchers: map[string]string{"namespace": "llm"}}
		dead, _, err := c.DeadAlerts(t.Context(), pool, []incident.Alert{
			{Firing: true, Labels: map[string]string{"alertname": "QueueBuildUp"}},
			{
				Firing: true, Labels: map[string]string{"alertname": "Full"},
				GeneratorURL: "http://p/graph?g0.expr=vllm_gpu_cache_usage_perc+%3E+0.9",
			},
		})
		if !errors.Is(err, prometheus.ErrNoRules) || len(dead) != 1 || dead[0].Alert != "Full" {
			t.Errorf("%+v, %v", dead, err)
		}
	})
}

func TestAskingForRulesShowsNoSecret(t *testing.T) {
	t.Parallel()
	const password = "hunter2-of-the-test"
	c := newCollector(t,
		Config{Prometheus: prometheus.Config{
			URL: "http://medic:" + password + "@127.0.0.1:1", Attempts: 1,
			ExtraParams: url.Values{"token": {password}},
		}}, nil)
	_, _, err := c.ExamineAlertRules(t.Context())
	_, again := c.AlertRules(t.Context())
	if text := fmt.Sprint(err, again); err == nil || again == nil || strings.Contains(text, password) {
		t.Errorf("%s", text)
	}
}
