package evidence

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

//nolint:gochecknoglobals // read only
var running = incident.Signal{Name: "running", Query: "sum(vllm:num_requests_running)", Unit: incident.UnitCount}

func TestAnAnswerBecomesAReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		body string
		want string
		warn string
	}{
		{
			"a value", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "12",
			"",
		},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1,"12"]}}`, "12", ""},
		{"a zero", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"0"]}]}}`, "0", ""},
		{"nothing", `{"status":"success","data":{"resultType":"vector","result":[]}}`, "no data", ""},
		{
			"NaN", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}}`, "no data",
			"",
		},
		{
			"+Inf", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"+Inf"]}]}}`, "no data",
			"measures nothing",
		},
		{
			"a harmless warning",
			`{"status":"success","warnings":["PromQL warning: mixed"],"data":{"resultType":"vector",` +
				`"result":[{"metric":{},"value":[1,"12"]}]}}`, "12", "mixed",
		},
		{"an info", `{"status":"success","infos":["PromQL info: not a counter"],` +
			`"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "12", ""},
		{
			"a warning without data",
			`{"status":"success","warnings":["No StoreAPIs matched for this query"],"data":{"resultType":"vector","result":[]}}`,
			"no data", "No StoreAPIs",
		},
		{
			"a truncated answer",
			`{"status":"success","warnings":["results truncated due to limit"],"data":{"resultType":"vector",` +
				`"result":[{"metric":{},"value":[1,"12"]}]}}`, "error: the answer is partial: results truncated", "",
		},
		{
			"VictoriaMetrics without a node",
			`{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`,
			"error: the answer is partial: isPartial", "",
		},
		{
			"two series",
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"1"},"value":[1,"12"]},` +
				`{"metric":{"a":"2"},"value":[1,"13"]}]}}`, "error: the query gives 2 series", "",
		},
		{
			"a native histogram",
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},` +
				`"histogram":[1,{"count":"1","sum":"2","buckets":[[0,"1","2","1"]]}]}]}}`,
			"error: the query gives a native histogram", "",
		},
		{
			"a text", `{"status":"success","data":{"resultType":"string","result":[1,"12"]}}`, "error: the query gives a text",
			"",
		},
		{
			"a matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "error: the query gives a matrix",
			"",
		},
		{
			"a null result", `{"status":"success","data":{"resultType":"vector","result":null}}`,
			"error: the answer has no result", "",
		},
		{"no status", `{"data":{"resultType":"vector","result":[]}}`, "error: the answer has no status", ""},
		{"no data at all", `{"status":"success"}`, "error: the answer has no data", ""},
		{
			"an error with status 200", `{"status":"error","errorType":"internal","error":"boom"}`,
			"error: prometheus answered an error: internal: boom", "",
		},
		{
			"a number that is none",
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"twelve"]}]}}`,
			"error: the answer of Prometheus cannot be used: bad_response", "",
		},
		{"half an answer", `{"status":"success","data":{"resultType":"vec`, "error: the answer is not JSON", ""},
		{
			"a login page", `<html><body>please log in, token=hunter2</body></html>`,
			"error: the answer is not JSON (Content-Type", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := collectOne(t, running, Config{}, promtest.Reply{Body: tt.body})
			if !strings.HasPrefix(got.Text(), tt.want) || got.Error == "" && got.Text() != tt.want {
				t.Errorf("reading = %q; want %q", got.Text(), tt.want)
			}
			if !strings.Contains(got.Warning, tt.warn) || (got.Warning == "") != (tt.warn == "") {
				t.Errorf("warning = %q; want %q", got.Warning, tt.warn)
			}
			if strings.Contains(got.Text(), "hunter2") {
				t.Errorf("the body of a foreign page is in the error: %q", got.Error)
			}
			if got.HasValue() != (got.Value != nil) || got.Error != "" && got.Value != nil {
				t.Errorf("value and error together: %+v", got)
			}
		})
	}
}

func TestAnUnreachablePrometheusIsAnErrorInEachReading(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Config{Prometheus: prometheus.Config{URL: "http://127.0.0.1:1", Attempts: 2}}, nil)
	ev := c.Collect(t.Context(), llmPool(), []incident.Signal{running, foreign("gpu", "avg(DCGM_FI_DEV_GPU_UTIL)")},
		CollectOptions{})
	for _, name := range []string{"running", "gpu"} {
		r := ev.Readings[name]
		if !strings.Contains(r.Error, "can't reach Prometheus: ") ||
			!strings.Contains(r.Error, "connection refused") || !strings.HasSuffix(r.Error, "(2 attempts)") {
			t.Errorf("%s: error = %q", name, r.Error)
		}
		if r.Value != nil || r.HasValue() {
			t.Errorf("%s has a value: %+v", name, r)
		}
	}
	// What was asked for says nothing where nobody was reached.
	if !strings.HasPrefix(ev.Readings["running"].Error, "can't reach Prometheus: ") {
		t.Errorf("error = %q", ev.Readings["running"].Error)
	}
}
