package evidence

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// ownRules are rules that belong to nobody's guide.
const ownRules = `
groups:
  - name: own
    rules:
      - {alert: NotOurs, expr: up == 0}
      - {record: "vllm:swapped:sum", expr: sum(vllm_num_requests_swapped)}
      - {alert: OnARecord, expr: "vllm:swapped:sum > 0"}
      - {alert: WrongJob, expr: 'vllm:num_requests_waiting{job="elsewhere"} > 5'}
      - {alert: Percent, expr: "vllm:kv_cache_usage_perc > 95", for: 90s, labels: {team: llm}}
      - alert: BeyondTheBuckets
        expr: "histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m]))) > 5000"
      - {alert: NoNIXLHere, expr: "rate(vllm:nixl_num_failed_transfers_total[5m]) > 0"}
      - {alert: Failing, expr: "vllm:num_requests_running * on (namespace) vllm:num_requests_waiting > 1"}
      - {alert: OnTheRouter, expr: "vllm:num_requests_swapped > 0"}
`

func ruleFiles(t *testing.T) []string {
	t.Helper()
	out := []string{ownRules}
	for _, path := range []string{"testdata/guide-rules.yaml", "../../deploy/prometheus/rules/vllm-alerts.yaml"} {
		b, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// ruledPrometheus scrapes a fleet of today's vLLM, its router and somebody's V0 server, and has loaded all the rules.
func ruledPrometheus(t *testing.T) *promtest.Prometheus {
	t.Helper()
	file := filepath.Join(t.TempDir(), "targets.json")
	fleet.Start(t,
		fleet.Options{Model: "llama", Namespace: "llm", Scenario: "healthy", Replicas: 2, Speed: 30, TargetsFile: file})
	router := promtest.NewExporter(t,
		"vllm:num_requests_swapped{server=\"http://llama-0\",model_name=\"llama\"} "+
			"2\nvllm:num_requests_running{server=\"http://llama-0\",model_name=\"llama\"} 7\n")
	other := promtest.NewExporter(t,
		exposition([]string{"gpu_cache_usage_perc", "num_requests_running", "queue_depth"}, `model_name="old"`, "0.99"))
	p := promtest.StartWith(t, promtest.Options{
		TargetsFiles: []string{file}, Rules: ruleFiles(t),
		Targets: []promtest.Target{
			{Address: router.Address(), Job: "router", Labels: map[string]string{"namespace": "llm", "pod": "router-0"}},
			{Address: other.Address(), Job: "nim", Labels: map[string]string{"namespace": "nim", "pod": "nim-0"}},
		},
	})
	p.WaitFor(t, `count(rate(vllm:time_to_first_token_seconds_count{namespace="llm"}[10s])) == 2`)
	p.WaitFor(t, `vllm:num_requests_swapped{server!=""} > 0`)
	p.WaitFor(t, `ALERTS{alertname="OnTheRouter",alertstate="firing"}`)
	return p
}

func TestAlertRulesAgainstARealPrometheus(t *testing.T) {
	t.Parallel()
	p := ruledPrometheus(t)
	c := newCollector(t, asking(p.URL), nil)

	t.Run("the rules that concern vLLM", func(t *testing.T) {
		t.Parallel()
		rules, err := c.AlertRules(t.Context())
		if err != nil || len(rules) != 8+9+7 {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		i := slices.IndexFunc(rules, func(r prometheus.AlertRule) bool { return r.Name == "Percent" })
		r := rules[i]
		if r.Group != "own" || !strings.HasSuffix(r.File, ".yml") || r.Expr != "vllm:kv_cache_usage_perc > 95" ||
			r.For != 90*time.Second || !maps.Equal(r.Labels, map[string]string{"team": "llm"}) {
			t.Errorf("%+v", r)
		}
		if slices.ContainsFunc(rules, func(r prometheus.AlertRule) bool { return r.Name == "NotOurs" }) {
			t.Error("a rule that has nothing to do with vLLM is in the list")
		}
	})
	t.Run("what can never fire, and what to write instead", func(t *testing.T) {
		t.Parallel()
		examineAll(t, p, c)
	})
	t.Run("dead alerts", func(t *testing.T) {
		t.Parallel()
		deadOnes(t, p, c)
	})
}

// examineAll looks at every rule; the corrections are asked of Prometheus.
func examineAll(t *testing.T, p *promtest.Prometheus, c *Collector) {
	t.Helper()
	rules, scraped, err := c.ExamineAlertRules(t.Context())
	if err != nil || !scraped {
		t.Fatalf("%v, %v", scraped, err)
	}
	// With a correction, and without.
	want := map[string]bool{
		"vLLM.Alerts/vLLMHighTTFT": true, "vLLM.Alerts/vLLMQueueBacklog": true, "vLLM.Alerts/vLLMRequestSwapping": true,
		"vLLM.Alerts/vLLMGPUCacheFull":  true,
		"vLLM.Alerts/vLLMHighAbortRate": true, "vllm_alerts/HighTTFT": true, "vllm_alerts/KVCacheNearFull": true,
		"vllm_alerts/QueueBuildUp":  true,
		"vllm_alerts/LowThroughput": true, "own/OnARecord": true, "own/Percent": true, "own/BeyondTheBuckets": true,
	}
	got := map[string]bool{}
	for _, r := range rules {
		name := r.Group + "/" + r.Name
		switch r.Verdict.State {
		case alertrules.Never:
			got[name] = r.Verdict.Instead != ""
			if len(r.Verdict.Why) == 0 {
				t.Errorf("%s: no reason", name)
			}
		case alertrules.Can, alertrules.Undecided:
			if r.Verdict.Instead != "" {
				t.Errorf("%s can fire and is corrected: %+v", name, r.Verdict)
			}
		}
		if instead := r.Verdict.Instead; instead != "" {
			// Each selector of the correction has series, so that only the numbers keep it from firing.
			selectors, err := alertrules.Selectors(instead)
			if err != nil {
				t.Errorf("%s: %s: %v", name, instead, err)
			}
			for _, s := range selectors {
				p.WaitFor(t, s)
			}
		}
		switch name {
		case "own/NoNIXLHere":
			if r.Verdict.State != alertrules.Undecided ||
				!strings.Contains(strings.Join(r.Verdict.Why, ""), "only with the NixlConnector") {
				t.Errorf("%s: %+v", name, r.Verdict)
			}
		case "own/WrongJob":
			if r.Verdict.State != alertrules.Undecided || len(r.Verdict.Notes) != 1 ||
				!strings.Contains(r.Verdict.Notes[0], "is the value wrong, or temporarily absent?") {
				t.Errorf("%s: %+v", name, r.Verdict)
			}
		case "own/OnTheRouter":
			if len(r.Verdict.Notes) != 1 ||
				!strings.HasPrefix(r.Verdict.Notes[0], "only production-stack's router exports vllm:num_requests_swapped here") {
				t.Errorf("%s: %+v", name, r.Verdict)
			}
		case "own/Failing":
			if r.Health != "err" ||
				!strings.Contains(r.LastError, "many-to-many") && !strings.Contains(r.LastError, "duplicate series") {
				t.Errorf("%s: %+v", name, r.AlertRule)
			}
		case "vLLM.Alerts/vLLMHighTTFT":
			if len(r.Verdict.Notes) != 1 || !strings.HasPrefix(r.Verdict.Notes[0], "3 lies inside the bucket from 2.5 to 5") {
				t.Errorf("%s: %+v", name, r.Verdict)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("can never fire: %v\nwant %v", got, want)
	}
}

// deadOnes: alerts of the guides and of others fire on a pool of today's vLLM.
func deadOnes(t *testing.T, p *promtest.Prometheus, c *Collector) {
	t.Helper()
	link := func(expr string) string { return p.URL + "/graph?g0.expr=" + url.QueryEscape(expr) + "&g0.tab=1" }
	alert := func(name, link string, more ...string) incident.Alert {
		a := incident.Alert{
			Firing: true, GeneratorURL: link,
			Labels: map[string]string{"alertname": name, "namespace": "llm"},
		}
		for i := 0; i < len(more); i += 2 {
			a.Labels[more[i]] = more[i+1]
		}
		return a
	}
	pool := incident.Pool{Name: "llama", Matchers: map[string]string{"namespace": "llm", "model_name": "llama"}}
	resolved := alert("Resolved", link("vllm:gpu_cache_usage_perc > 0.9"))
	resolved.Firing = false
	dead, _, err := c.DeadAlerts(t.Context(), pool, []incident.Alert{
		alert("TheRoutersTwin", link("vllm:num_requests_swapped > 0")),
		alert("OldName", link("vllm_gpu_cache_usage_perc > 0.9")),
		alert("BothNames", link("vllm:kv_cache_usage_perc > 0.9 or vllm:gpu_cache_usage_perc > 0.9")),
		alert("Alive", link("vllm:num_requests_waiting > 5")),
		alert("Absence", link("absent(vllm:num_requests_swapped)")),
		alert("NotVLLM", link("up == 0")),
		alert("NotPromQL", link("sum(")),
		alert("Twice", link("vllm:gpu_cache_usage_perc > 0.9")), alert("Twice", link("vllm:num_requests_waiting > 5")),
		resolved,
		// Without an address the loaded rule of that name speaks; its labels tell which of several.
		alert("KVCacheNearFull", "", "severity", "critical"),
		alert("QueueBuildUp", "https://grafana.example.com/alerting/1", "severity", "warning"),
		alert("vLLMHighAbortRate", "", "severity", "critical", "evidence", "counted"),
		alert("LowThroughput", "", "severity", "somebody else's"),
		alert("NobodysRule", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"TheRoutersTwin": "increase(vllm:num_preemptions_total[5m]) > 0", "OldName": "vllm:kv_cache_usage_perc > 0.9",
		"KVCacheNearFull": "vllm:kv_cache_usage_perc > 0.95", "QueueBuildUp": "vllm:num_requests_waiting > 50",
	}
	got := map[string]string{}
	for _, d := range dead {
		got[d.Alert] = d.Instead
		if len(d.Missing) != 1 || !strings.Contains(d.Why, d.Missing[0]+" has no series from this pool") || d.Expr == "" {
			t.Errorf("%+v", d)
		}
		if d.Alert == "OldName" && !strings.Contains(d.Why, "it was renamed to kv_cache_usage_perc in vLLM 0.9.2") {
			t.Errorf("%s: %s", d.Alert, d.Why)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("dead: %+v\nwant %v", dead, want)
	}
	nobody := incident.Pool{Name: "nobody", Matchers: map[string]string{"namespace": "nobody"}}
	if dead, _, err := c.DeadAlerts(t.Context(), nobody,
		[]incident.Alert{alert("OldName", link("vllm:gpu_cache_usage_perc > 0.9"))}); err != nil || dead != nil {
		t.Errorf("nothing is known of a pool without series: %+v, %v", dead, err)
	}
	if dead, _, err := c.DeadAlerts(t.Context(), pool, nil); err != nil || dead != nil {
		t.Errorf("no alerts: %+v, %v", dead, err)
	}
}

// behind is a proxy in front of Prometheus that answers some paths itself.
func behind(t *testing.T, p *promtest.Prometheus, answer func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
