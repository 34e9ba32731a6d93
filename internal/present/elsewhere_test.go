package present

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var firstAlert = time.Date(2026, 11, 18, 10, 30, 0, 0, time.UTC)

func llama() incident.Pool {
	return incident.Pool{
		Name: "llama-70b", Match: map[string]string{"namespace": "llm", "model_name": "llama"},
		Matchers: map[string]string{"namespace": "llm", "model_name": "llama", "job": "vllm"},
	}
}

func alert(firing bool, pairs ...string) incident.Alert {
	a := incident.Alert{Firing: firing, Labels: map[string]string{}}
	for n := 0; n < len(pairs); n += 2 {
		a.Labels[pairs[n]] = pairs[n+1]
	}
	return a
}

func TestADashboardShowsThePoolAroundTheIncident(t *testing.T) {
	t.Parallel()
	open := incident.Incident{Pool: "llama-70b", State: incident.StateDeciding, OpenedAt: firstAlert}
	closed := open
	closed.State, closed.ClosedAt = incident.StateClosed, firstAlert.Add(time.Hour)
	drill := open
	drill.Drill = &incident.Drill{}
	foreign := open
	foreign.Pool = ""
	bare := llama()
	bare.Matchers = map[string]string{"job": "vllm"}
	odd := llama()
	odd.Matchers = map[string]string{"model_name": "meta/Llama 3&x=y"}
	for _, tc := range []struct {
		name, base string
		pool       incident.Pool
		inc        incident.Incident
		want       string
	}{
		{
			"open", "https://g.example.com/", llama(), open,
			"https://g.example.com/d/vllm-medic-pools?from=1794996900000&to=now&var-model=llama&var-namespace=llm" +
				"&var-pool=llama-70b",
		},
		{
			"closed", "https://tools.example.com/grafana", llama(), closed,
			"https://tools.example.com/grafana/d/vllm-medic-pools?from=1794996900000&to=1795002300000" +
				"&var-model=llama&var-namespace=llm&var-pool=llama-70b",
		},
		{
			"labels that its series may not have", "https://g.example.com", bare, open,
			"https://g.example.com/d/vllm-medic-pools?from=1794996900000&to=now&var-pool=llama-70b",
		},
		{
			"a name with other characters", "https://g.example.com", odd, open,
			"https://g.example.com/d/vllm-medic-pools?from=1794996900000&to=now" +
				"&var-model=meta%2FLlama%203%26x%3Dy&var-pool=llama-70b",
		},
		{"not configured", "", llama(), open, ""},
		{"a drill", "https://g.example.com", llama(), drill, ""},
		{"no pool", "https://g.example.com", llama(), foreign, ""},
		{"a pool that is not configured any more", "https://g.example.com", incident.Pool{Name: "qwen"}, open, ""},
	} {
		e := Elsewhere{Grafana: tc.base, Pools: []incident.Pool{{Name: "other"}, tc.pool}}
		if got := e.GrafanaURL(tc.inc); got != tc.want {
			t.Errorf("%s: got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// silenced are the matchers of a link as Alertmanager's form reads them: it decodes the address and each value as JSON.
func silenced(t *testing.T, link string) labels.Matchers {
	t.Helper()
	raw, found := strings.CutPrefix(link, "https://am.example.com/#/silences/new?filter=")
	// The form doesn't take a plus for a space.
	filter, err := url.PathUnescape(raw)
	if !found || err != nil {
		t.Fatalf("%q is no silence: %v", link, err)
	}
	out, err := labels.ParseMatchers(filter)
	if err != nil {
		t.Fatalf("Alertmanager can't read %s: %v", filter, err)
	}
	return out
}

func covers(all labels.Matchers, a incident.Alert) bool {
	for _, m := range all {
		if !m.Matches(a.Labels[m.Name]) {
			return false
		}
	}
	return true
}

func TestASilenceCoversTheIncidentsAlertsAndNoOthers(t *testing.T) {
	t.Parallel()
	ttft := alert(true, "alertname", "vLLMHighTTFT", "namespace", "llm", "model_name", "llama", "pod", "a",
		"severity", "critical")
	queue := alert(true, "alertname", "vLLMQueue", "namespace", "llm", "model_name", "llama", "pod", "b",
		"severity", "critical")
	other := alert(true, "alertname", "vLLMHighTTFT", "namespace", "llm", "model_name", "qwen", "pod", "z",
		"severity", "critical")
	ended := alert(false, "alertname", "vLLMDown", "namespace", "llm", "model_name", "llama", "severity", "critical")
	odd := alert(true, "alertname", "a.b+|(c)", "namespace", "llm", "model_name", "llama",
		"summary", `50% of "x\y" & <z> + é, {k="v"}`)
	owned := alert(true, "alertname", "KubePodCrashLooping", "namespace", "llm", "pod", "llama-0")
	for _, tc := range []struct {
		name    string
		alerts  []incident.Alert
		filter  string
		outside []incident.Alert
	}{
		{
			"one alert",
			[]incident.Alert{ttft, ended},
			`{alertname="vLLMHighTTFT", model_name="llama", namespace="llm", pod="a", severity="critical"}`,
			[]incident.Alert{queue, other, ended},
		},
		{
			"two of one pool",
			[]incident.Alert{queue, ttft},
			`{alertname=~"vLLMHighTTFT|vLLMQueue", model_name="llama", namespace="llm", severity="critical"}`,
			[]incident.Alert{other, ended},
		},
		{
			"characters of the filter's own",
			[]incident.Alert{odd},
			`{alertname="a.b+|(c)", model_name="llama", namespace="llm", summary="50% of \"x\\y\" & <z> + é, {k=\"v\"}"}`,
			[]incident.Alert{ttft, alert(true, "alertname", "c", "namespace", "llm", "model_name", "llama")},
		},
		{
			"names that look like expressions",
			[]incident.Alert{
				alert(true, "alertname", "a.b", "namespace", "llm", "model_name", "llama"),
				alert(true, "alertname", "c", "namespace", "llm", "model_name", "llama"),
			},
			`{alertname=~"a\\.b|c", model_name="llama", namespace="llm"}`,
			[]incident.Alert{alert(true, "alertname", "axb", "namespace", "llm", "model_name", "llama")},
		},
		{
			"a pod that its owners led here",
			[]incident.Alert{owned},
			`{alertname="KubePodCrashLooping", namespace="llm", pod="llama-0"}`,
			[]incident.Alert{ttft},
		},
	} {
		e := Elsewhere{Alertmanager: "https://am.example.com/", Pools: []incident.Pool{llama()}}
		link := e.SilenceURL(incident.Incident{Pool: "llama-70b", State: incident.StateDeciding, Alerts: tc.alerts})
		all := silenced(t, link)
		if raw, _ := url.PathUnescape(strings.SplitN(link, "filter=", 2)[1]); raw != tc.filter {
			t.Errorf("%s: got %s\nwant %s", tc.name, raw, tc.filter)
		}
		for _, a := range tc.alerts {
			if a.Firing && !covers(all, a) {
				t.Errorf("%s: %v is not covered by %v", tc.name, a.Labels, all)
			}
		}
		for _, a := range tc.outside {
			if covers(all, a) {
				t.Errorf("%s: %v is covered by %v", tc.name, a.Labels, all)
			}
		}
	}
}

// No link is better than one that silences what is not the incident's, or nothing at all.
func TestThereIsNoSilenceThatMightCoverMore(t *testing.T) {
	t.Parallel()
	named := func(pairs ...string) incident.Incident {
		return incident.Incident{
			Pool: "llama-70b", State: incident.StateDeciding,
			Alerts: []incident.Alert{alert(true, append([]string{"alertname", "A"}, pairs...)...)},
		}
	}
	good := named("namespace", "llm", "model_name", "llama")
	without := func(change func(*incident.Incident)) incident.Incident {
		inc := good.Clone()
		change(&inc)
		return inc
	}
	special := incident.Pool{
		Name: "llama-batch", Match: map[string]string{"namespace": "llm", "model_name": "llama", "tier": "batch"},
	}
	e := Elsewhere{Alertmanager: "https://am.example.com", Pools: []incident.Pool{llama()}}
	if e.SilenceURL(good) == "" {
		t.Fatal("there is none at all")
	}
	for _, tc := range []struct {
		name string
		e    Elsewhere
		inc  incident.Incident
	}{
		{"not configured", Elsewhere{Pools: e.Pools}, good},
		{"nothing fires", e, without(func(i *incident.Incident) { i.Alerts[0].Firing = false })},
		{"no alerts", e, without(func(i *incident.Incident) { i.Alerts = nil })},
		{"closed", e, without(func(i *incident.Incident) { i.State = incident.StateClosed })},
		{"a drill", e, without(func(i *incident.Incident) { i.Drill = &incident.Drill{} })},
		{"no pool", e, without(func(i *incident.Incident) { i.Pool = "" })},
		{"a pool that is gone", Elsewhere{Alertmanager: e.Alertmanager}, good},
		{"an alert without a name", e, without(func(i *incident.Incident) { delete(i.Alerts[0].Labels, "alertname") })},
		{"all models of a namespace", e, named("namespace", "llm")},
		{"two pods without the model", e, without(func(i *incident.Incident) {
			i.Alerts = []incident.Alert{
				alert(true, "alertname", "A", "namespace", "llm", "pod", "x"),
				alert(true, "alertname", "A", "namespace", "llm", "pod", "y"),
			}
		})},
		{
			"a pool with more to match",
			Elsewhere{Alertmanager: e.Alertmanager, Pools: []incident.Pool{llama(), special}},
			good,
		},
		{"a label name that the form can't take", e, named("namespace", "llm", "model_name", "llama", `a="b"`, "c")},
		{"a value that is no text", e, named("namespace", "llm", "model_name", "llama", "x", "\xff")},
		{"a link that fits nowhere", e, named("namespace", "llm", "model_name", "llama", "x", strings.Repeat("y", 2000))},
	} {
		if got := tc.e.SilenceURL(tc.inc); got != "" {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
	told := Elsewhere{Alertmanager: e.Alertmanager, Pools: []incident.Pool{llama(), special}}
	if told.SilenceURL(named("namespace", "llm", "model_name", "llama", "tier", "chat")) == "" {
		t.Error("an alert that can't lead to the other pool has no silence")
	}
}
