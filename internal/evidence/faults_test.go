package evidence

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var running = incident.Signal{Name: "running", Query: "sum(vllm:num_requests_running)", Unit: incident.UnitCount} //nolint:gochecknoglobals // read only

func TestAnAnswerBecomesAReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		body string
		want string
		warn string
	}{
		{"a value", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "12", ""},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1,"12"]}}`, "12", ""},
		{"a zero", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"0"]}]}}`, "0", ""},
		{"nothing", `{"status":"success","data":{"resultType":"vector","result":[]}}`, "no data", ""},
		{"NaN", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"NaN"]}]}}`, "no data", ""},
		{"+Inf", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"+Inf"]}]}}`, "no data", "measures nothing"},
		{"a harmless warning", `{"status":"success","warnings":["PromQL warning: mixed"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "12", "mixed"},
		{"an info", `{"status":"success","infos":["PromQL info: not a counter"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "12", ""},
		{"a warning without data", `{"status":"success","warnings":["No StoreAPIs matched for this query"],"data":{"resultType":"vector","result":[]}}`, "no data", "No StoreAPIs"},
		{"a truncated answer", `{"status":"success","warnings":["results truncated due to limit"],"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "error: the answer is partial: results truncated", ""},
		{"VictoriaMetrics without a node", `{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"12"]}]}}`, "error: the answer is partial: isPartial", ""},
		{"two series", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"1"},"value":[1,"12"]},{"metric":{"a":"2"},"value":[1,"13"]}]}}`, "error: the query gives 2 series", ""},
		{"a native histogram", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"1","sum":"2","buckets":[[0,"1","2","1"]]}]}]}}`, "error: the query gives a native histogram", ""},
		{"a text", `{"status":"success","data":{"resultType":"string","result":[1,"12"]}}`, "error: the query gives a text", ""},
		{"a matrix", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "error: the query gives a matrix", ""},
		{"a null result", `{"status":"success","data":{"resultType":"vector","result":null}}`, "error: the answer has no result", ""},
		{"no status", `{"data":{"resultType":"vector","result":[]}}`, "error: the answer has no status", ""},
		{"no data at all", `{"status":"success"}`, "error: the answer has no data", ""},
		{"an error with status 200", `{"status":"error","errorType":"internal","error":"boom"}`, "error: prometheus answered an error: internal: boom", ""},
		{"a number that is none", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"twelve"]}]}}`, "error: the answer of Prometheus cannot be used: bad_response", ""},
		{"half an answer", `{"status":"success","data":{"resultType":"vec`, "error: the answer is not JSON", ""},
		{"a login page", `<html><body>please log in, token=hunter2</body></html>`, "error: the answer is not JSON (Content-Type", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _ := collectOne(t, running, Config{}, reply{body: tt.body})
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

func TestTransientFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	fine := valueReply("5")
	for _, tt := range []struct {
		name  string
		first reply
	}{
		{"503", reply{status: http.StatusServiceUnavailable, body: "Service Unavailable"}},
		{"502 of a proxy", reply{status: http.StatusBadGateway, body: "<html>"}},
		{"429", reply{status: http.StatusTooManyRequests, header: map[string]string{"Retry-After": "0"}}},
		{"a reset connection", reply{before: reset}},
		{"an answer that ends early", reply{before: halfAnswer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, f := collectOne(t, running, Config{}, tt.first, fine)
			if got.Text() != "5" {
				t.Errorf("reading = %q", got.Text())
			}
			if n := f.count(got.Query); n != 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// reset ends a connection so that the client sees a reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func halfAnswer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	write(w, `{"status":`)
	panic(http.ErrAbortHandler)
}

func TestRetriesEndAndKeepTheRealError(t *testing.T) {
	t.Parallel()
	busy := reply{status: http.StatusServiceUnavailable, body: `{"status":"error","errorType":"unavailable","error":"TSDB not ready"}`}
	got, _ := collectOne(t, running, Config{}, busy, busy, busy)
	want := "Prometheus answered 503 Service Unavailable: unavailable: TSDB not ready (3 attempts)"
	if got.Error != want || got.Value != nil {
		t.Errorf("error = %q; want %q", got.Error, want)
	}
}

func TestFinalFailuresAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer reply
		want   string
	}{
		{"bad_data", reply{status: http.StatusBadRequest, body: `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\""}`}, `Prometheus answered 400 Bad Request: bad_data: invalid parameter "query"`},
		{"execution", reply{status: http.StatusUnprocessableEntity, body: `{"status":"error","errorType":"execution","error":"many-to-many matching"}`}, "Prometheus answered 422 Unprocessable Entity: execution: many-to-many matching"},
		{"Prometheus' own timeout", reply{status: http.StatusServiceUnavailable, body: `{"status":"error","errorType":"timeout","error":"query timed out"}`}, "Prometheus answered 503 Service Unavailable: timeout: query timed out"},
		{"401", reply{status: http.StatusUnauthorized, body: "token s3cret is wrong"}, "Prometheus answered 401 Unauthorized: check the credentials in prometheus.http_config"},
		{"404", reply{status: http.StatusNotFound, body: "404 page not found"}, "Prometheus answered 404 Not Found: check the path in prometheus.url"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, f := collectOne(t, running, Config{}, tt.answer)
			if got.Error != tt.want {
				t.Errorf("error = %q; want %q", got.Error, tt.want)
			}
			if n := f.count(got.Query); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestForbiddenPostIsAskedAgainByGet(t *testing.T) {
	t.Parallel()
	got, f := collectOne(t, running, Config{}, reply{status: http.StatusForbidden}, valueReply("5"))
	if got.Text() != "5" {
		t.Fatalf("reading = %q", got.Text())
	}
	var methods []string
	for _, r := range f.asked() {
		if r.form.Get("query") == got.Query {
			methods = append(methods, r.method)
			if r.form.Get("partial_response") != "false" {
				t.Errorf("%s without partial_response: %v", r.method, r.form)
			}
		}
	}
	if strings.Join(methods, " ") != "POST GET" {
		t.Errorf("methods = %v", methods)
	}
}

func TestASlowQueryEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	hang := reply{before: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	got, f := collectOne(t, running, Config{QueryTimeout: time.Second}, hang)
	if got.Error != "Prometheus gave no answer within 1s" {
		t.Errorf("error = %q", got.Error)
	}
	if n := f.count(got.Query); n != 1 {
		t.Errorf("a query that is too slow was asked %d times", n)
	}
	for _, r := range f.asked() {
		if r.form.Get("timeout") != "1s" {
			t.Errorf("Prometheus was not told the timeout: %v", r.form)
		}
	}
}

func TestALargeAnswerIsRefused(t *testing.T) {
	t.Parallel()
	large := success("vector", `[{"metric":{"a":"`+strings.Repeat("x", 40_000)+`"},"value":[1,"12"]}]`)
	for name, r := range map[string]reply{
		"announced": {body: large},
		"streamed": {before: func(w http.ResponseWriter, _ *http.Request) {
			for chunk := large; chunk != ""; {
				n := min(len(chunk), 4096)
				write(w, chunk[:n])
				_ = http.NewResponseController(w).Flush()
				chunk = chunk[n:]
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := collectOne(t, running, Config{ResponseLimit: 16 << 10}, r)
			if !strings.Contains(got.Error, "larger than 16384 bytes") || got.Value != nil {
				t.Errorf("reading = %q", got.Text())
			}
		})
	}
}

func TestARedirectNamesTheNewAddressAndIsNotFollowedElsewhere(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{false, true} {
		cfg := Config{}
		cfg.HTTPConfig.FollowRedirects = follow
		got, _ := collectOne(t, running, cfg, reply{status: http.StatusTemporaryRedirect, header: map[string]string{"Location": "https://user:hunter2@login.example.com/oauth?token=hunter2"}})
		want := "Prometheus answered 307 Temporary Redirect and leads to https://login.example.com/oauth: set prometheus.url to the address that answers itself"
		if got.Error != want {
			t.Errorf("follow %v: error = %q", follow, got.Error)
		}
	}
}

func TestARedirectOnTheSameHostIsFollowedWhenAsked(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.always(mustNamesQuery(t, llmMatchers), names2reply(nil))
	f.always(mustNamesQuery(t, nil), names2reply(nil))
	f.once(`sum(my_metric{model_name="llama",namespace="llm"})`, reply{status: http.StatusTemporaryRedirect, header: map[string]string{"Location": "/moved/api/v1/query"}})
	f.replies["/moved/api/v1/query "+`sum(my_metric{model_name="llama",namespace="llm"})`] = []reply{valueReply("5")}
	cfg := Config{URL: f.serve()}
	cfg.HTTPConfig.FollowRedirects = true
	ev := newCollector(t, cfg, nil).Collect(t.Context(), llmPool(), []incident.Signal{foreign("x", "sum(my_metric)")}, CollectOptions{})
	if got := ev.Readings["x"].Text(); got != "5" {
		t.Errorf("reading = %q", got)
	}
}

func TestAnUnreachablePrometheusIsAnErrorInEachReading(t *testing.T) {
	t.Parallel()
	c := newCollector(t, Config{URL: "http://127.0.0.1:1", Attempts: 2}, nil)
	ev := c.Collect(t.Context(), llmPool(), []incident.Signal{running, foreign("gpu", "avg(DCGM_FI_DEV_GPU_UTIL)")}, CollectOptions{})
	for _, name := range []string{"running", "gpu"} {
		r := ev.Readings[name]
		if !strings.Contains(r.Error, "Prometheus could not be asked: ") || !strings.Contains(r.Error, "connection refused") || !strings.HasSuffix(r.Error, "(2 attempts)") {
			t.Errorf("%s: error = %q", name, r.Error)
		}
		if r.Value != nil || r.HasValue() {
			t.Errorf("%s has a value: %+v", name, r)
		}
	}
	if !strings.HasPrefix(ev.Readings["running"].Error, "find out how this Prometheus spells vLLM's metrics: ") {
		t.Errorf("error = %q", ev.Readings["running"].Error)
	}
}
