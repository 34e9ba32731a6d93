package play

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// column is what Engines shows of each engine: the last five minutes of the past, and those before the question.
type column struct{ head, query string }

// columns are in names without prefix; the dialect of an engine decides which of two names exists.
func columns() []column {
	p95 := func(name string) string {
		return "histogram_quantile(0.95, sum by (pod, engine, le) (rate(vllm:" + name + "_seconds_bucket[5m])))"
	}
	rate := func(name string) string { return "sum by (pod, engine) (rate(vllm:" + name + "[5m]))" }
	mean := func(name string) string { return "avg_over_time(vllm:" + name + "[5m])" }
	return []column{
		{"done/s", rate("request_success_total")},
		{"running", mean("num_requests_running")},
		{"waiting", mean("num_requests_waiting")},
		{"kv", mean("kv_cache_usage_perc") + " or " + mean("gpu_cache_usage_perc")},
		{"preempt/s", rate("num_preemptions_total")},
		{"ttft95", p95("time_to_first_token")},
		{"queue95", p95("request_queue_time")},
		{"prefill95", p95("request_prefill_time")},
		{"itl95", p95("inter_token_latency") + " or " + p95("time_per_output_token")},
		{"e2e95", p95("e2e_request_latency")},
		{
			"hit", rate("prefix_cache_hits_total") + " / " + rate("prefix_cache_queries_total") + " or " +
				rate("gpu_prefix_cache_hits_total") + " / " + rate("gpu_prefix_cache_queries_total"),
		},
	}
}

// Engines plays an incident without the bot and says what its engines did in the five minutes before the timeline and
// in the five before the question, and which alerts fire then: for whoever writes incidents.
func Engines(ctx context.Context, inc Incident) (string, error) {
	inc.NoRules = inc.rules() == ""
	inc.Dialect = native // the table reads one spelling
	s, err := newStage(&inc)
	if err != nil {
		return "", fmt.Errorf("%s: %w", inc.Name, err)
	}
	if err := s.play(ctx); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, at := range []struct {
		when string
		unix int64
	}{{"before the timeline", s.zero.Unix()}, {"at the question", askedAt.Unix()}} {
		rows, err := s.rows(ctx, at.unix)
		if err != nil {
			return "", err
		}
		table, err := diagnosis.Aligned(rows, true)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "five minutes %s:\n%s", at.when, table)
	}
	var names []string
	for _, a := range s.alerts() {
		names = append(names, a.Labels["alertname"])
	}
	slices.Sort(names)
	fmt.Fprintf(&out, "alerts: %s\n", strings.Join(slices.Compact(names), ", "))
	return out.String(), s.prom.Close()
}

// rows are a head and a row for each engine.
func (s *stage) rows(ctx context.Context, unix int64) ([][]string, error) {
	inFleet := map[string]string{}
	for name, in := range s.pods.Names() {
		inFleet[in] = name
	}
	head, cells := []string{"engine"}, map[string][]string{}
	for i, c := range columns() {
		head = append(head, c.head)
		values, err := s.query(ctx, c.query, unix)
		if err != nil {
			return nil, err
		}
		for labels, v := range values {
			name := strings.TrimSuffix(inFleet[labels[0]]+"/"+labels[1], "/")
			if cells[name] == nil {
				cells[name] = slices.Repeat([]string{"."}, len(columns()))
			}
			cells[name][i] = v
		}
	}
	rows := [][]string{head}
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		rows = append(rows, append([]string{name}, cells[name]...))
	}
	return rows, nil
}

// query is an instant query's values by pod and engine.
func (s *stage) query(ctx context.Context, query string, unix int64) (map[[2]string]string, error) {
	at := "/api/v1/query?" + url.Values{"query": {query}, "time": {strconv.FormatInt(unix, 10)}}.Encode()
	w := httptest.NewRecorder()
	s.prom.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody))
	var answer struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("ask %s: %w", query, err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("ask %s: %s", query, answer.Error)
	}
	out := map[[2]string]string{}
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("ask %s: %w", query, err)
		}
		out[[2]string{r.Metric["pod"], r.Metric["engine"]}] = strconv.FormatFloat(v, 'g', 3, 64)
	}
	return out, nil
}
