package promembed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// listedAlert is an alert of /api/v1/alerts.
type listedAlert struct {
	Labels, Annotations map[string]string
	State, Value        string
	ActiveAt            time.Time
}

func listed(t *testing.T, p http.RoundTripper) []listedAlert {
	t.Helper()
	var answer struct {
		Data struct{ Alerts []listedAlert }
	}
	_, body := get(t, p, "/api/v1/alerts")
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return answer.Data.Alerts
}

const oneRule = `
groups:
  - name: g
    labels: {team: llm, severity: page}
    rules:
      - alert: High
        expr: x > 5
        for: 1m
        keep_firing_for: 30s
        labels: {severity: "warning", of: "{{ $labels.pod }}"}
        annotations: {summary: "x is {{ $value }} on {{ $labels.pod }}"}
`

func ruled(t *testing.T, rules string, series ...promembed.Series) *promembed.Prometheus {
	t.Helper()
	p, err := promembed.New(promembed.Options{
		EvaluationInterval: interval, ResendDelay: time.Minute,
		ExternalURL: "http://prometheus.example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.LoadRules("one.yml", []byte(rules)); err != nil {
		t.Fatal(err)
	}
	if err := p.Load(start, interval, series); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnAlertIsToldWhenItFiresAgainAndWhenItIsResolved(t *testing.T) {
	t.Parallel()
	p := ruled(t, oneRule, promembed.Series{Series: `x{pod="a"}`, Values: "9x12 1x80"})
	type sent struct {
		After, Start, End time.Duration
		Summary, Severity string
	}
	var got []sent
	for after := time.Duration(0); after <= 22*time.Minute; after += interval {
		at := start.Add(after)
		alerts, err := p.EvaluateRules(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			if a.Labels["of"] != "a" || a.Labels["team"] != "llm" || a.Labels["alertname"] != "High" ||
				!strings.HasPrefix(a.GeneratorURL, "http://prometheus.example.com/graph?g0.expr=x+%3E+5") {
				t.Errorf("told %v from %s", a.Labels, a.GeneratorURL)
			}
			got = append(got, sent{
				after, a.StartsAt.Sub(start), a.EndsAt.Sub(start), a.Annotations["summary"], a.Labels["severity"],
			})
		}
	}
	// It holds from 0 to 180 s and fires after 60 s; 30 s after it stopped holding (195 s) it is resolved.
	const fired, ended = time.Minute, 225 * time.Second
	want := []sent{}
	for _, at := range []time.Duration{60 * time.Second, 135 * time.Second, 210 * time.Second} {
		want = append(want, sent{at, fired, at + 4*time.Minute, "x is 9 on a", "warning"})
	}
	for at := ended; at <= ended+15*time.Minute; at += 75 * time.Second {
		want = append(want, sent{at, fired, ended, "x is 9 on a", "warning"})
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAnAlertThatStopsBeforeItsTimeIsNeverTold(t *testing.T) {
	t.Parallel()
	p := ruled(t, oneRule, promembed.Series{Series: `x{pod="a"}`, Values: "9x3 1x20"})
	for after := time.Duration(0); after <= 5*time.Minute; after += interval {
		alerts, err := p.EvaluateRules(t.Context(), start.Add(after))
		if err != nil || len(alerts) > 0 {
			t.Errorf("after %v: told %v, %v", after, alerts, err)
		}
	}
	if got := vector(t, p, `count_over_time(ALERTS{alertstate="pending"}[5m])`, start.Add(5*time.Minute)); len(got) != 1 {
		t.Errorf("it was never pending: %v", got)
	}
	if got := vector(t, p, `ALERTS`, start.Add(2*time.Minute)); len(got) != 0 {
		t.Errorf("the series does not end with the alert: %v", got)
	}
}

func TestARuleThatCannotBeEvaluatedStopsNoOther(t *testing.T) {
	t.Parallel()
	p := ruled(t, `
groups:
  - name: g
    rules:
      - {alert: Twice, expr: x > 0, labels: {pod: same}}
      - {alert: Fires, expr: sum(x) > 0}
`, promembed.Series{Series: `x{pod="a"}`, Values: "9x9"}, promembed.Series{Series: `x{pod="b"}`, Values: "9x9"})
	alerts, err := p.EvaluateRules(t.Context(), start)
	if err == nil || !strings.Contains(err.Error(), "Twice") {
		t.Errorf("the error does not name the rule: %v", err)
	}
	if len(alerts) != 1 || alerts[0].Labels["alertname"] != "Fires" {
		t.Errorf("told %v", alerts)
	}
	if _, body := get(t, p, "/api/v1/rules"); !strings.Contains(body, `"health":"err"`) {
		t.Errorf("the list does not say so: %s", body)
	}
}

func TestRulesThatAreNotUnderstoodAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an interval":            "groups: [{name: g, interval: 1m, rules: [{alert: A, expr: x}]}]",
		"a limit":                "groups: [{name: g, limit: 1, rules: [{alert: A, expr: x}]}]",
		"an offset":              "groups: [{name: g, query_offset: 1m, rules: [{alert: A, expr: x}]}]",
		"an invalid expression":  "groups: [{name: g, rules: [{alert: A, expr: 'x >'}]}]",
		"an unknown key":         "groups: [{name: g, rules: [{alert: A, expr: x, annotation: {}}]}]",
		"a template that breaks": "groups: [{name: g, rules: [{alert: A, expr: x, annotations: {s: '{{ $nothing }}'}}]}]",
	} {
		p := loaded(t)
		if err := p.LoadRules("bad.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), "bad.yml") {
			t.Errorf("%s: %v", name, err)
		}
		if status, _ := get(t, p, "/api/v1/rules"); status != http.StatusNotFound {
			t.Errorf("%s: a part of the file was loaded", name)
		}
	}
}

// steady are rules whose state does not change: one fires, one never, one is pending, one cannot be evaluated.
const steady = `
groups:
  - name: steady
    rules:
      - alert: Fires
        expr: sum by (pod) (vllm:num_requests_waiting) > 0
        labels: {severity: critical}
        annotations:
          summary: '{{ $labels.pod }}: {{ $value }} {{ with query "count(up)" }}{{ . | first | value }}{{ end }}'
      - {alert: Never, expr: "vllm:num_requests_waiting > 1e9", for: 5m, keep_firing_for: 1m}
      - {alert: Waits, expr: "vllm:num_requests_waiting > 0", for: 1d}
      - {alert: Broken, expr: "vllm:time_to_first_token_seconds_bucket > 0", labels: {le: same}}
      - {record: "waiting:sum", expr: "sum by (pod) (vllm:num_requests_waiting)", labels: {of: fleet}}
      - {record: "broken:sum", expr: "vllm:time_to_first_token_seconds_bucket", labels: {le: same}}
`

// A real Prometheus lists the same rules and alerts, and tells Alertmanager the same.
func TestARealPrometheusListsAndTellsTheSame(t *testing.T) {
	t.Parallel()
	received := make(chan []map[string]any, 100)
	am := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var alerts []map[string]any
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil {
			t.Error(err)
		}
		received <- alerts
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(am.Close)
	var targets []promtest.Target
	for _, pod := range []string{"a", "b"} {
		e := promtest.NewExporter(t, page1)
		targets = append(targets, promtest.Target{
			Address: e.Address(), Labels: map[string]string{"pod": pod, "instance": pod},
		})
	}
	theirs := promtest.StartWith(t, promtest.Options{
		Targets: targets, Rules: []string{steady}, Alertmanagers: []string{strings.TrimPrefix(am.URL, "http://")},
		Args: []string{"--web.external-url=http://prometheus.example.com/"},
	})
	ours := ruled(t, steady)
	for _, target := range targets {
		target.Labels["job"] = "vllm"
		if err := ours.Target(labelsOf(target.Labels)).Scraped(start, []byte(page1)); err != nil {
			t.Fatal(err)
		}
	}
	alerts, err := ours.EvaluateRules(t.Context(), start)
	if err == nil {
		t.Error("Broken has no error")
	}
	for _, path := range []string{
		"/api/v1/rules", "/api/v1/rules?exclude_alerts=true", "/api/v1/alerts",
		"/api/v1/rules?exclude_alerts=perhaps",
	} {
		_, got := get(t, ours, path)
		// Until a group is evaluated for the second time its last rules may have no result yet; and where a scrape was
		// missed, the real one is without those series for a second.
		err := process.Until(t.Context(), func(context.Context) error {
			_, want := get(t, redirected{theirs.URL}, path) //nolint:contextcheck // the test's
			if diff := gocmp.Diff(timeless(decoded(want)), timeless(decoded(got))); diff != "" {
				return fmt.Errorf("%s (-real +ours):\n%s", path, diff)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if got := vector(t, ours, `{__name__="waiting:sum", of="fleet"}`, start); len(got) != 2 {
		t.Errorf("recorded: %v", got)
	}
	// The first that is told may be of a moment when one target was not scraped yet, and it is told each second.
	var told []map[string]any
	for _, mine := range alerts {
		same := func(a map[string]any) bool {
			return gocmp.Equal(timeless(a["labels"]), asJSON(t, mine.Labels)) &&
				gocmp.Equal(a["annotations"], asJSON(t, mine.Annotations)) &&
				gocmp.Equal(a["generatorURL"], any(mine.GeneratorURL))
		}
		for !slices.ContainsFunc(told, same) {
			if len(told) > 100 {
				t.Fatalf("the real one tells %v, and ours tells %v", told, mine)
			}
			told = append(told, <-received...)
		}
	}
}

func asJSON(t *testing.T, in any) (out any) {
	t.Helper()
	b, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// timeless takes out what differs from run to run.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"evaluationTime", "lastEvaluation", "activeAt", "file"} {
			delete(v, key)
		}
		// How often they are evaluated is set differently on purpose.
		delete(v, "interval")
		for key := range v {
			v[key] = timeless(v[key])
		}
		if list, ok := v["alerts"].([]any); ok {
			sorted(list)
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}
