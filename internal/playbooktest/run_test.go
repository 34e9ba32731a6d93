package playbooktest

import (
	"bytes"
	"context"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// ran reads and runs a file of tests.
func ran(t *testing.T, text string) []Result {
	t.Helper()
	f, err := read("x.yaml", []byte(text), builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	return f.Run(t.Context(), nil)
}

func TestEveryDifferenceIsSaidWithItsReason(t *testing.T) {
	t.Parallel()
	got := ran(t, `tests:
  - name: all wrong
    input_series:
      - {series: 'vllm:num_requests_waiting{pod="a"}', values: '70x20'}
      - {series: 'vllm:num_requests_running{pod="a"}', values: '7x20'}
    alerts: [vLLMQueueBacklog]
    pool: {slo: {ttft: 500ms}}
    at: 5m
    expect:
      dialect: Ray
      readings:
        waiting: {value: 80, tolerance: 9}
        running: at most 7
        kv_usage: 3%
        queue_time_p95: error
        ttft_p95: 1s
        decode_p50: 4s
      diagnosis: none
      others: {kv-thrash: true, memory-leak: false}
      plan: [throttle: {factor: 0.5}, manual]
      never: [lower max_num_batched_tokens, sing loudly]
      healthy: true
      note: zebra
      unusual: [zebra]
`)
	if len(got) != 1 || got[0].Passed || got[0].Error != "" {
		t.Fatalf("got %+v", got)
	}
	var fields []string
	for _, d := range got[0].Differences {
		fields = append(fields, d.Field+" | "+d.Expected+" | "+d.Got)
	}
	want := []string{
		"dialect | ...Ray... | vLLM V1 names (vllm:...)",
		"readings.decode_p50 | 4s | not read",
		"readings.kv_usage | 3% | no data",
		"readings.queue_time_p95 | error | no data",
		"readings.running | at most 7 | 7",
		"readings.ttft_p95 | 1s | no data",
		"readings.waiting | 80 ± 9 | 70",
		"diagnosis | none | queueing",
		"others.kv-thrash | true | undecided",
		"others.memory-leak | false | not evaluated",
		"plan | [throttle {factor: 0.5}, manual] | [throttle {factor: 0.7}, replicas {add: 1}, manual]",
		"never[1] | ...sing loudly...",
		"healthy | true | false",
		"note | ...zebra...",
		"unusual[0] | ...zebra... | nothing",
	}
	for i, w := range want {
		if i >= len(fields) || !strings.HasPrefix(fields[i], w) {
			t.Errorf("difference %d should be %q", i+1, w)
		}
	}
	if len(fields) != len(want) || t.Failed() {
		t.Errorf("got\n%s", strings.Join(fields, "\n"))
	}
	because := func(field, part string) {
		i := slices.IndexFunc(got[0].Differences, func(d Difference) bool { return d.Field == field })
		if i < 0 || !strings.Contains(got[0].Differences[i].Why, part) {
			t.Errorf("%s should say why with %q", field, part)
		}
	}
	because("diagnosis", "queueing is true: waiting_lately > 1")
	because("readings.kv_usage", "no metric vllm:kv_cache_usage_perc")
	because("others.kv-thrash", "no data for")
	because("healthy", "waiting_per_engine <= 5 is false (70)")
}

func TestADialectWithoutAMetricLeavesItOut(t *testing.T) {
	t.Parallel()
	got := ran(t, `tests:
  - name: nim has no queue times
    dialects: [nim, all, nim]
    input_series:
      - {series: 'vllm:num_requests_waiting{pod="a"}', values: '70x20'}
      - {series: 'vllm:num_requests_running{pod="a"}', values: '7x20'}
      - {series: 'vllm:prefix_cache_hits_total{pod="a"}', values: '7x20'}
      - {series: 'up{pod="a"}', values: '1x20'}
    histograms:
      - {series: 'vllm:request_queue_time_seconds{pod="a"}', spans: [{observe: {9s: 5}}]}
    alerts: [vLLMQueueBacklog]
    at: 5m
    expect: {diagnosis: queueing, readings: {waiting: 70}}
`)
	dialects := map[string]int{}
	for _, r := range got {
		dialects[r.Dialect]++
		if !r.Passed {
			t.Errorf("%s: %+v", r.Dialect, r)
		}
	}
	if diff := cmp.Diff(map[string]int{
		"nim": 1, "vllm": 1, "vllm-0.10": 1, "vllm-0.9": 1, "underscore": 1, "ray": 1,
		"ray-colon": 1, "kserve": 1,
	}, dialects); diff != "" {
		t.Errorf("dialects (-want +got):\n%s", diff)
	}
	nim := got[0]
	want := []string{
		"vllm:prefix_cache_hits_total", "vllm:request_queue_time_seconds_bucket",
		"vllm:request_queue_time_seconds_sum", "vllm:request_queue_time_seconds_count",
	}
	if diff := cmp.Diff(want, nim.Without); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if nim.Series[0].Series != `num_requests_waiting{pod="a"}` || nim.Series[2].Series != `up{pod="a"}` {
		t.Errorf("loaded %v", nim.Series)
	}
}

func TestKubernetesAndDeadAlertsArePartOfTheEvidence(t *testing.T) {
	t.Parallel()
	for _, r := range ran(t, `tests:
  - name: an alert on a metric that is gone is dead
    input_series: &idle
      - {series: 'vllm:num_requests_waiting{model_name="m",pod="a"}', values: '0x20'}
      - {series: 'vllm:num_requests_running{model_name="m",pod="a"}', values: '0x20'}
    alerts: [{labels: {alertname: vLLMRequestSwapping}, expr: 'vllm:num_requests_swapped > 0'}]
    at: 5m
    expect: {diagnosis: dead-alert}
  - name: without the rule it is not known whether it is dead
    input_series: *idle
    alerts: [vLLMRequestSwapping]
    at: 5m
    expect: {diagnosis: none, others: {dead-alert: false}}
`) {
		if !r.Passed {
			t.Errorf("%s: %+v", r.Test, r)
		}
	}
	f, err := read("x.yaml", []byte(`tests:
  - name: pods
    alerts: [{labels: {alertname: A}, resolved: true}]
    at: 10m
    cluster: {replicas: 2, pods: [{name: a, ready: true, started: 5m ago}],
      workload: {kind: StatefulSet, namespace: llm, name: x}}
    pool: {knobs: {replicas: {min: 1, max: 4}}, matchers: {namespace: llm}}
    expect: {diagnosis: none}
`), builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := collect(t.Context(), f.tests[0], start(), f.interval, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := ev.Cluster
	if c.NotConfigured || c.Workload.Name != "x" || *c.Replicas != 2 || len(c.Pods) != 1 ||
		ev.At.Sub(c.Pods[0].Started) != 5*time.Minute {
		t.Errorf("got %+v at %v", c, ev.At)
	}
	if p := f.tests[0].pool; p.Knobs.Replicas == nil || p.Knobs.Replicas.Max != 4 || p.Matchers["namespace"] != "llm" {
		t.Errorf("pool %+v", p)
	}
	if a := f.tests[0].alerts[0]; a.Firing || a.EndsAt.IsZero() || a.Name() != "A" {
		t.Errorf("alert %+v", a)
	}
}

func TestAPoolIsBoundByWhatItsSeriesShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		`vllm:a{model_name="m",namespace="n"} vllm:b{model_name="m",namespace="n"} up{namespace="x"}`: {
			"model_name": "m",
			"namespace":  "n",
		},
		`vllm:a{model_name="m",namespace="n"} vllm:b{model_name="m"}`: {"model_name": "m"},
		`vllm:a{model_name="m"} vllm:b{model_name="o"}`:               {},
		`vllm:a{model_name="m"} vllm:cache_config_info`:               {"model_name": "m"},
		`up{model_name="m"}`: {},
	} {
		var in []input
		for name := range strings.FieldsSeq(text) {
			ls, _, err := parseName(name)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, input{labels: ls})
		}
		if diff := cmp.Diff(want, matchers(in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAHistogramInShortIsTheSeriesWrittenOut(t *testing.T) {
	t.Parallel()
	metric, _, err := parseName(`x_seconds{pod="a"}`)
	if err != nil {
		t.Fatal(err)
	}
	h := histogramDoc{Buckets: bucketsDoc{Bounds: []float64{0.5, 1, 2}}, Spans: []spanDoc{
		{For: strictyaml.Duration(time.Minute), Observe: map[string]float64{
			"500ms": 2,
			"2s":    1,
		}}, {For: strictyaml.Duration(30 * time.Second)}, {Observe: map[string]float64{"9": 1}},
	}}
	got, _, err := h.series(metric, 15*time.Second, 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range got {
		out[s.Series] = s.Values
	}
	want := map[string]string{
		`x_seconds_bucket{le="0.5", pod="a"}`:  "0+2x4 8x1 8x1",
		`x_seconds_bucket{le="1.0", pod="a"}`:  "0+2x4 8x1 8x1",
		`x_seconds_bucket{le="2.0", pod="a"}`:  "0+3x4 12x1 12x1",
		`x_seconds_bucket{le="+Inf", pod="a"}`: "0+3x4 12x1 13+1x1",
		`x_seconds_sum{pod="a"}`:               "0+3x4 12x1 21+9x1",
		`x_seconds_count{pod="a"}`:             "0+3x4 12x1 13+1x1",
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnlyNamedTestsRunAndACancelledOneSaysSo(t *testing.T) {
	t.Parallel()
	f, err := read("x.yaml", []byte(sound+strings.Replace(strings.TrimPrefix(sound, "tests:\n"), "name: one", "name: two",
		1)), builtin(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Run(t.Context(), regexp.MustCompile("^tw")); len(got) != 1 || got[0].Test != "two" || !got[0].Passed {
		t.Errorf("got %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range f.Run(ctx, nil) {
		if r.Passed || !strings.Contains(r.Error, "canceled") {
			t.Errorf("got %+v", r)
		}
	}
}

func TestReadingsAreComparedByWhatTheyAre(t *testing.T) {
	t.Parallel()
	reading := func(v float64, u incident.Unit, b incident.Bound) incident.Reading {
		return incident.Reading{Value: &v, Unit: u, Bound: b}
	}
	for _, c := range []struct {
		text string
		got  incident.Reading
		want bool
		says string
	}{
		{"7.2s", reading(7.2375, incident.UnitSeconds, ""), true, ""},
		{"7.2s", reading(7.26, incident.UnitSeconds, ""), false, "7.26 s"},
		{"7.24s", reading(7.2449, incident.UnitSeconds, ""), true, ""},
		{"7200ms", reading(7.2, incident.UnitSeconds, ""), true, ""},
		{"7", reading(7, incident.UnitSeconds, ""), false, "with its unit"},
		{"0", reading(0, incident.UnitSeconds, ""), true, ""},
		{"97%", reading(.974, incident.UnitRatio, ""), true, ""},
		{"0.97", reading(.97, incident.UnitRatio, ""), true, ""},
		{"97%", reading(97, incident.UnitCount, ""), false, "the signal is in count"},
		{"at most 300ms", reading(.3, incident.UnitSeconds, incident.AtMost), true, ""},
		{"at most 300ms", reading(.3, incident.UnitSeconds, ""), false, "300 ms"},
		{"≤ 300 ms", reading(.3, incident.UnitSeconds, incident.AtMost), true, ""},
		{"300ms", reading(.3, incident.UnitSeconds, incident.AtMost), false, "≤ 300 ms"},
		{"at least 10s", reading(10, incident.UnitSeconds, incident.AtLeast), true, ""},
		{"≥10s", reading(10, incident.UnitSeconds, incident.AtLeast), true, ""},
		{"104k/s", reading(104_306, incident.UnitPerSecond, ""), true, ""},
		{"104k/s", reading(104_600, incident.UnitPerSecond, ""), false, "105k/s"},
		{"100.0", reading(100.2, incident.UnitCount, ""), false, "100 (exactly 100.2)"},
		{"no data", incident.Reading{}, true, ""},
		{"no data", incident.Reading{Error: "refused"}, false, "error: refused"},
		{"no data", reading(0, incident.UnitCount, ""), false, "0"},
		{"error", incident.Reading{Error: "refused"}, true, ""},
		{"error: refu", incident.Reading{Error: "refused"}, true, ""},
		{"error: other", incident.Reading{Error: "refused"}, false, "error: refused"},
		{"0", incident.Reading{}, false, "no data"},
	} {
		var r readingDoc
		if err := r.parse(c.text); err != nil {
			t.Fatal(err)
		}
		if ok, says := r.matches(c.got); ok != c.want || !strings.Contains(says, c.says) {
			t.Errorf("%s against %s: %v, %q", c.text, c.got.Text(), ok, says)
		}
	}
}

func TestAReportForACISystemHasEveryFailure(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	err := WriteJUnit(&b, []FileResult{
		{File: "a.yaml", Problems: []string{"a.yaml:1:1: wrong <here>"}},
		{File: "b.yaml", Results: []Result{
			{Test: "good", Dialect: "vllm", Passed: true},
			{Test: "gone", Dialect: "ray", Error: "no time"},
			{Test: "bad", Dialect: "ray", Differences: []Difference{{
				Field: "diagnosis", Expected: "a", Got: "b",
				Why: "one\ntwo",
			}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Cases    []struct {
				Name    string   `xml:"name,attr"`
				Failure []string `xml:"failure"`
				Error   string   `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	s := got.Suites
	if len(s) != 2 || s[0].Errors != 1 || s[0].Cases[0].Error != "a.yaml:1:1: wrong <here>" || s[1].Tests != 3 ||
		s[1].Failures != 1 || s[1].Errors != 1 {
		t.Fatalf("got %+v", s)
	}
	if c := s[1].Cases; c[0].Name != "good (vllm)" || c[1].Error != "no time" ||
		c[2].Failure[0] != "- diagnosis: a\n+ diagnosis: b\n    one\n    two" {
		t.Errorf("got %+v", c)
	}
	if (FileResult{Problems: []string{"x"}}).Passed() || !(FileResult{Results: []Result{{Passed: true}}}).Passed() {
		t.Error("a file with problems must not pass, and one whose tests passed must")
	}
}
