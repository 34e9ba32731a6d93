package promembed_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

const page = `
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} %[1]d
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{model_name="m"} %[2]d
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.1"} %[1]d
vllm:time_to_first_token_seconds_bucket{model_name="m",le="1.0"} %[2]d
vllm:time_to_first_token_seconds_bucket{model_name="m",le="+Inf"} %[2]d
vllm:time_to_first_token_seconds_sum{model_name="m"} %[1]d.5
vllm:time_to_first_token_seconds_count{model_name="m"} %[2]d
not_a_number NaN
`

// copied is a real Prometheus that has scraped some samples, and ours with the same ones.
func copied(t *testing.T) (theirs http.RoundTripper, ours *promembed.Prometheus, at time.Time) {
	t.Helper()
	var targets []promtest.Target
	var exporters []*promtest.Exporter
	for _, pod := range []string{"a", "b"} {
		e := promtest.NewExporter(t, fmt.Sprintf(page, 1, 100))
		exporters = append(exporters, e)
		targets = append(targets,
			promtest.Target{Address: e.Address(), Labels: map[string]string{"pod": pod, "instance": pod}})
	}
	running := promtest.StartWith(t, promtest.Options{Targets: targets})
	running.WaitFor(t, `count(vllm:prompt_tokens_total == 100) == 2`)
	exporters[0].Set(fmt.Sprintf(page, 4, 150))
	exporters[1].Set(fmt.Sprintf(page, 2, 20)) // restarted
	running.WaitFor(t, `vllm:prompt_tokens_total == 150`)
	running.WaitFor(t, `vllm:prompt_tokens_total == 20`)
	// What was scraped before this moment may be stored after it; what a later scrape brought comes after both.
	at = time.Now().Truncate(time.Millisecond)
	running.WaitFor(t, fmt.Sprintf(`count(timestamp(up) > %s) == 2`, seconds(at)))
	theirs = redirected{running.URL}
	return theirs, copyOf(t, theirs, at), at
}

// copyOf asks for all raw samples and puts them into ours.
func copyOf(t *testing.T, theirs http.RoundTripper, at time.Time) *promembed.Prometheus {
	t.Helper()
	_, body := get(t, theirs,
		"/api/v1/query?"+form("query", `{__name__=~"vllm:.+|not_a_number"}[1h]`, "time", seconds(at)))
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Result) == 0 {
		t.Fatalf("no raw samples: %v %s", err, body)
	}
	ours := loaded(t)
	for _, s := range answer.Data.Result {
		samples := make([]promembed.Sample, len(s.Values))
		for i, v := range s.Values {
			f, err := strconv.ParseFloat(v[1].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			samples[i] = promembed.Sample{T: time.UnixMilli(int64(math.Round(v[0].(float64) * 1000))), V: f}
		}
		if err := ours.Append(labels.FromMap(s.Metric), samples); err != nil {
			t.Fatal(err)
		}
	}
	return ours
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

func TestARealPrometheusGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	theirs, ours, at := copied(t)
	now, before := seconds(at), seconds(at.Add(-10*time.Second))
	instant := func(query string, more ...string) string {
		return "/api/v1/query?" + form(append([]string{"query", query, "time", now}, more...)...)
	}
	span := func(query string, more ...string) string {
		return "/api/v1/query_range?" +
			form(append([]string{"query", query, "start", before, "end", now, "step", "1"}, more...)...)
	}
	list := func(path string, more ...string) string {
		return path + "?" + form(append([]string{"start", before, "end", now}, more...)...)
	}
	for _, path := range []string{
		instant(`vllm:num_requests_waiting`),
		instant(`sum(rate(vllm:prompt_tokens_total[1m]))`),
		instant(`histogram_quantile(0.95, sum by (le) (increase(vllm:time_to_first_token_seconds_bucket[1m])))`),
		instant(`vllm:num_requests_waiting{pod="a"}[1m]`),
		instant(`max_over_time(vllm:num_requests_waiting[1m:1s]) @ ` + now),
		instant(`timestamp(vllm:num_requests_waiting)`),
		instant(`not_a_number`), instant(`vllm:num_requests_waiting / 0`), instant(`missing`), instant(`1`),
		instant(`"text"`),
		instant(`rate(vllm:num_requests_waiting[1m])`),                            // an info: not a counter by its name
		instant(`histogram_quantile(7, vllm:time_to_first_token_seconds_bucket)`), // a warning
		instant(`vllm:num_requests_waiting{pod="a"} or vllm:num_requests_waiting{pod="b"}`, "limit", "1"),
		instant(`vllm:num_requests_waiting`, "limit", "-1"), instant(`vllm:num_requests_waiting`, "limit", "x"),
		instant(`sum(`), instant(``), instant(`{pod=""}`),
		instant(`vllm:num_requests_waiting + on() vllm:prompt_tokens_total`),
		instant(`label_replace(vllm:num_requests_waiting, "a b", "<&>", "pod", ".*")`),
		instant(`vllm:num_requests_waiting`, "timeout", "soon"),
		instant(`vllm:num_requests_waiting`, "lookback_delta", "1ms"),
		instant(`vllm:num_requests_waiting`, "lookback_delta", "x"),
		"/api/v1/query?" + form("query", "1", "time", "yesterday"),
		span(`sum by (pod) (vllm:num_requests_waiting)`), span(`vllm:prompt_tokens_total`, "limit", "1"), span(`missing`),
		span(`1`), span(`"text"`),
		span(`vllm:num_requests_waiting[1m]`),
		"/api/v1/query_range?" + form("query", "1", "start", now, "end", before, "step", "1"),
		"/api/v1/query_range?" + form("query", "1", "start", before, "end", now, "step", "0"),
		"/api/v1/query_range?" + form("query", "1", "start", before, "end", now, "step", "1ms"),
		"/api/v1/query_range?" + form("query", "1", "start", "0", "end", now, "step", "1"),
		"/api/v1/query_range?" + form("query", "1", "end", now, "step", "1"),
		list("/api/v1/series", "match[]", "vllm:num_requests_waiting", "match[]", `vllm:prompt_tokens_total{pod="b"}`),
		list("/api/v1/series", "match[]", `vllm:num_requests_waiting{pod="a"}`, "match[]",
			`vllm:num_requests_waiting{pod="b"}`, "limit", "1"),
		list("/api/v1/series", "match[]", "missing"), list("/api/v1/series"), list("/api/v1/series", "match[]", `{a=""}`),
		list("/api/v1/series", "match[]", `{`),
		list("/api/v1/labels", "match[]", `{__name__=~"vllm:.+"}`), list("/api/v1/labels", "match[]", "missing"),
		list("/api/v1/labels", "match[]", "{"), list("/api/v1/labels", "match[]", `{a=""}`),
		list("/api/v1/labels", "match[]", "vllm:num_requests_waiting", "limit", "2"),
		list("/api/v1/label/pod/values", "match[]", "vllm:num_requests_waiting"),
		list("/api/v1/label/le/values", "match[]", `{pod="a"}`, "match[]", `{pod="b"}`),
		list("/api/v1/label/missing/values"),
		"/api/v1/nothing",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			status, want := get(t, theirs, path)
			gotStatus, got := get(t, ours, path)
			if status != gotStatus {
				t.Errorf("status %d, the real one answers %d\n%s\n%s", gotStatus, status, got, want)
			}
			if diff := gocmp.Diff(decoded(want), decoded(got)); diff != "" {
				t.Errorf("(-real +ours):\n%s", diff)
			}
		})
	}
}

func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// decoded is JSON as values; what is no JSON stays text. The series of an instant query have no order of their own.
func decoded(body string) any {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return strings.TrimSpace(body)
	}
	answer, _ := v.(map[string]any)
	data, _ := answer["data"].(map[string]any)
	if list, ok := data["result"].([]any); ok && data["resultType"] == "vector" {
		slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}
