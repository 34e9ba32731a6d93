package playbooktest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

const sound = `tests:
  - name: one
    input_series: [{series: 'vllm:num_requests_waiting{pod="a"}', values: '70x20'}, ` +
	`{series: 'vllm:num_requests_running{pod="a"}', values: '7x20'}]
    alerts: [vLLMQueueBacklog]
    at: 5m
    expect: {diagnosis: queueing}
`

func TestErrorsAreReportedAllAtOnceWithTheirPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no file":         {"", []string{"x.yaml:1:1: the file is empty"}},
		"a list":          {"- a\n", []string{"x.yaml:1:1: the file must be a mapping, not a list"}},
		"two documents":   {sound + "---\na: 1\n", []string{"the file holds several documents"}},
		"nothing to test": {"interval: 15s\n", []string{"x.yaml:1:1: tests is missing"}},
		"shape, all of it": {"tests:\n  - nam: x\n    at: soon\n    expect: {diagnosis: queueing, readings: {waiting: " +
			"many}}\nfoo: 1\n", []string{
			`x.yaml:2:5: unknown field "nam"`, `x.yaml:3:9: "soon" is not a duration`,
			`x.yaml:4:55: "many" is not a number with a unit`, `x.yaml:5:1: unknown field "foo"`,
		}},
		"a field twice": {"tests: []\ntests: []\n", []string{
			"x.yaml:1:8: tests is missing",
			`x.yaml:2:1: the field "tests" is given twice, first on line 1`,
		}},
		"meaning, all of it": {`tests:
  - name: one
    dialects: [vllm, klingon]
    input_series:
      - {series: 'vllm:num_requests_waiting{pod="a"', values: '1'}
      - {series: 'vllm:num_requests_running', values: '1 2 oops'}
      - {series: 'vllm:kv_cache_usage_perc', values: '1'}
      - {series: 'vllm:num_requests_running', values: '1'}
    histograms:
      - {series: 'vllm:no_such_seconds', spans: [{observe: {1s: 1}}]}
      - {series: 'vllm:time_to_first_token_seconds', spans: [{for: 20s}, {observe: {1s: 1}}]}
      - {series: 'vllm:request_queue_time_seconds', spans: [{observe: {97%: 1}}]}
      - {series: 'vllm:request_queue_time_seconds', spans: [{for: 5m}, {for: 5m}, {}]}
      - {series: 'vllm:request_queue_time_seconds'}
    pool: {slo: chit-chat, knobs: {replica: {min: 1}}, http_route: {name: llama}}
    cluster:
      pods:
        - {name: a, redy: true}
    at: 5m
    expect:
      diagnosis: quueing
      others: {kv-thrash: maybe}
      healthy: ill
  - name: one
    expect: {}
`, []string{
			`x.yaml:3:22: dialects: "klingon" is not one of all, vllm`,
			`x.yaml:5:52: series: unexpected end of input`,
			`x.yaml:6:60: values: unexpected identifier "oops"`,
			`x.yaml:8:9: duplicate series vllm:num_requests_running`,
			`x.yaml:10:9: vLLM has no histogram vllm:no_such_seconds`,
			`x.yaml:11:62: for: 20s is not a multiple of the interval 15s`,
			`x.yaml:12:61: observe: "97%" is neither a time nor a number`,
			`x.yaml:13:83: no time is left for the last span`,
			`x.yaml:14:9: the histogram has no spans`,
			`x.yaml:15:17: unknown profile "chit-chat"; known: chat, completion, batch, rag, agentic`,
			`x.yaml:15:36: unknown field "replica"; did you mean "replicas"?`,
			`x.yaml:15:68: http_route: needs namespace and name`,
			`x.yaml:18:21: unknown field "redy"; did you mean "ready"?`,
			`x.yaml:21:18: unknown diagnosis "quueing"; did you mean "queueing"?`,
			`x.yaml:22:27: "maybe" is not one of true, false, undecided`,
			`x.yaml:23:16: "ill" is not one of`,
			`x.yaml:24:5: at is missing`,
			`x.yaml:24:11: duplicate test "one"`,
			`x.yaml:25:13: diagnosis is missing`,
		}},
		"names that nobody has": {`tests:
  - name: one
    input_series:
      - {series: 'vllm:num_request_waiting{pod="a"}', values: '1'}
      - {series: 'vllm_num_requests_running{pod="a"}', values: '1'}
      - {series: 'node_load1{pod="a"}', values: '1'}
      - {series: 'vllm:num_requests_swapped{pod="a"}', values: '1'}
    histograms:
      - {series: 'vllm:time_to_first_token_secnds', buckets: [1, 2], spans: [{observe: {1s: 1}}]}
      - {series: 'vllm:time_to_first_token_seconds', spans: [{observe: {1s: 1}}]}
    alerts: [{labels: {alertname: A}, expr: 'vllm:num_requests_swapped > 0'}]
    at: 5m
    expect:
      diagnosis: zebra
      others: {kv-trash: true}
      readings: {wating: 3, pods_down: no data, batch_utilisation: no data, zebra: 4}
      plan: [trottle, {manual: {advice: look}}, {restart: {}}]
`, []string{
			`x.yaml:4:18: no signal reads vllm:num_request_waiting; did you mean vllm:num_requests_waiting?`,
			`x.yaml:6:18: no signal reads node_load1`,
			`x.yaml:9:18: no signal reads vllm:time_to_first_token_secnds_bucket; did you mean ` +
				`vllm:time_to_first_token_seconds_bucket?`,
			`x.yaml:14:18: unknown diagnosis "zebra"; known: at-capacity`,
			`x.yaml:15:26: unknown diagnosis "kv-trash"; did you mean "kv-thrash"?`,
			`x.yaml:16:26: unknown signal "wating"; did you mean "waiting"?`,
			`x.yaml:16:84: unknown signal "zebra"`,
			`x.yaml:17:14: unknown step "trottle"; did you mean "throttle"?`,
			`x.yaml:17:49: unknown step "restart"; known: ` + strings.Join(stepKinds(), ", "),
		}},
		"alternatives of a field": {`tests:
  - name: one
    alerts: [{labels: {severity: page}}, {labels: {alertname: a}, expr: up, generatorURL: b}, {lables: {}}]
    histograms: [{series: a, buckets: v7}, {series: a, buckets: [2, 1]}]
    pool: {slo: {tfft: 1s}}
    at: 5m
    expect:
      diagnosis: none
      plan: [{throttle: {}, replicas: {}}, {throttle: {by: 2}}]
      readings: {a: {value: 1s, tolerance: 1%}, b: {value: no data, tolerance: 1}}
`, []string{
			"x.yaml:3:14: the alert has no label alertname", "x.yaml:3:42: give expr or generatorURL",
			`x.yaml:3:96: unknown field "lables"`,
			`x.yaml:4:39: the buckets are v1, old or a list of numbers, not "v7"`,
			"x.yaml:4:65: bucket bounds must increase",
			`x.yaml:5:18: unknown field "tfft"`,
			"x.yaml:9:14: a step is its kind, or one kind with what it asks for", `x.yaml:9:56: unknown field "by"`,
			"x.yaml:10:21: tolerance: 1% is not a distance from 1s", "x.yaml:10:52: no data has no tolerance",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read("x.yaml", []byte(c.text), builtin(t))
			got, ok := errors.AsType[strictyaml.Problems](err)
			if !ok {
				t.Fatalf("got %v, want Problems", err)
			}
			for i, w := range c.want {
				if i >= len(got) || !strings.Contains(got[i].String(), w) {
					t.Errorf("problem %d should have %q", i+1, w)
				}
			}
			if len(got) != len(c.want) || t.Failed() {
				t.Errorf("got %d problems, want %d:\n%v", len(got), len(c.want), got)
			}
		})
	}
}

func TestPlaybooksOfOnesOwnAreTested(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mine := "name: mine\ntitle: Ours\ndoc: mine.md\nalerts: [Ours]\nhealthy: [{rule: waiting <= 5}]\n" +
		"diagnoses: [{name: ours, rank: 900, summary: Ours., source: us, when: waiting > 60, no_action: we know it}]\n"
	write("own/mine.yaml", mine)
	write("tests/a.yaml", "playbooks: [../own]\n"+strings.NewReplacer("vLLMQueueBacklog", "Ours", "queueing",
		"ours").Replace(sound))
	write("tests/file.yaml", "playbooks: [../own/mine.yaml]\n"+strings.NewReplacer("vLLMQueueBacklog", "Ours", "queueing",
		"ours").Replace(sound))
	write("tests/nowhere.yaml", "playbooks: [../own, ../away, ../empty]\n"+sound)
	write("empty/readme.md", "")
	write("tests/bad.yaml", "playbooks: [../bad]\n"+sound+"    more: 1\n")
	write("bad/mine.yaml", strings.Replace(mine, "waiting > 60", "wating > 60", 1))
	for _, name := range []string{"tests/a.yaml", "tests/file.yaml"} {
		f, err := Read(filepath.Join(dir, name), builtin(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Run(t.Context(), nil) {
			if !r.Passed {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	for name, want := range map[string][]string{
		"tests/nowhere.yaml": {
			":1:21: playbooks: ", "away: no such file or directory", ":1:30: playbooks: ",
			"empty holds no *.yaml",
		},
		"tests/bad.yaml": {"bad/mine.yaml:6:", "wating", `tests/bad.yaml:8:5: unknown field "more"`},
	} {
		_, err := Read(filepath.Join(dir, name), builtin(t))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %q in it", name, err, w)
			}
		}
	}
	if _, err := Read(filepath.Join(dir, "none.yaml"), builtin(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sound)
	f.Add("playbooks: []\ninterval: 1m\ntests: [{name: a, dialects: [all], histograms: [{series: x, buckets: [1], " +
		"spans: [{observe: {1s: 2}}]}], at: 1m, cluster: {pods: [{started: 5m ago}]}, expect: {diagnosis: none, plan: " +
		"[manual]}}]\n")
	f.Add("tests: &a\n  - *a\n")
	f.Add("tests: [{cluster: 1, pool: {knobs: []}, alerts: [{}], expect: {readings: {a: {}}}}]")
	own := []playbooks.File{{Name: "own.yaml", Data: []byte(
		"signals: [{name: waiting, title: w, query: sum(vllm:num_requests_waiting), unit: count, direction: " +
			"higher_is_worse, source: us}]\n" +
			"name: mine\ntitle: Ours\ndoc: mine.md\nalerts: [Ours]\nhealthy: [{rule: waiting <= 5}]\n" +
			"diagnoses: [{name: ours, rank: 900, summary: Ours., source: us, when: waiting > 60, no_action: we know it}]\n",
	)}}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "playbooks") {
			return // it would read files
		}
		file, err := read("x.yaml", []byte(text), own)
		bad, ok := errors.AsType[strictyaml.Problems](err)
		switch {
		case err == nil && len(file.tests) == 0:
			t.Error("a file without tests was accepted")
		case err != nil && (!ok || len(bad) == 0):
			t.Errorf("got %v, want Problems", err)
		}
		for _, p := range bad {
			if p.File == "x.yaml" && (p.Line < 1 || p.Col < 1 || p.Text == "") {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
	})
}

func builtin(t testing.TB) []playbooks.File {
	t.Helper()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}
