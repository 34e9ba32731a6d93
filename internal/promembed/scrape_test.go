package promembed_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func labelsOf(in map[string]string) labels.Labels { return labels.FromMap(in) }

// sorted puts a list without an order of its own into one.
func sorted(list []any) {
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

const page1 = `
# HELP vllm:num_requests_waiting Waiting.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m",engine="0"} 4
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{model_name="m",le="1"} 3
vllm:time_to_first_token_seconds_bucket{model_name="m",le="+Inf"} 7
vllm:time_to_first_token_seconds_sum{model_name="m"} 9.5
vllm:time_to_first_token_seconds_count{model_name="m"} 7
own_labels{instance="mine",pod="mine",empty="",job="router"} 1
not_a_number NaN
`

// page2 lacks a series of page1 and has one more.
const page2 = `
vllm:num_requests_waiting{model_name="m",engine="0"} 6
vllm:num_requests_waiting{model_name="m",engine="1"} 2
`

// now are all series that an instant query finds, those apart that only the real one adds.
func now(t *testing.T, body string) []any {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out := []any{}
	for _, r := range answer.Data.Result {
		if !strings.HasPrefix(r.Metric["__name__"], "scrape_") {
			out = append(out, map[string]any{"labels": r.Metric, "value": r.Value[1]})
		}
	}
	sorted(out)
	return out
}

const everything = `{__name__=~".+"}`

// A real Prometheus makes the same series of the same pages: their labels, up, and what ends with a page.
func TestARealPrometheusScrapesTheSame(t *testing.T) {
	t.Parallel()
	e := promtest.NewExporter(t, page1)
	target := promtest.Target{Address: e.Address(), Labels: map[string]string{"pod": "a", "instance": "10.0.0.1:8000"}}
	theirs := promtest.StartWith(t, promtest.Options{Targets: []promtest.Target{target}})
	ours := loaded(t)
	scraped := ours.Target(labels.FromStrings("job", "vllm", "pod", "a", "instance", "10.0.0.1:8000"))
	at := start
	compare := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		_, got := get(t, ours, "/api/v1/query?"+form("query", everything, "time", seconds(at)))
		err = process.Until(t.Context(), func(context.Context) error {
			query := "/api/v1/query?" + form("query", everything)
			_, want := get(t, redirected{theirs.URL}, query) //nolint:contextcheck // the test's
			if diff := gocmp.Diff(now(t, want), now(t, got)); diff != "" {
				return fmt.Errorf("%s (-real +ours):\n%s", what, diff)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		at = at.Add(time.Second)
	}
	compare("the first page", scraped.Scraped(at, []byte(page1)))
	e.Set(page2)
	compare("the second page", scraped.Scraped(at, []byte(page2)))
	e.Fail()
	compare("no answer", scraped.Failed(at))
	e.Set("x {")
	if err := scraped.Scraped(at, []byte("x {")); err == nil {
		t.Error("no error")
	}
	compare("a page that cannot be read", nil)
	e.Set(page1)
	compare("the first page again", scraped.Scraped(at, []byte(page1)))
}

func TestAllSeriesEndWithTheTarget(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	target := p.Target(labels.FromStrings("job", "vllm", "pod", "a"))
	if err := target.Scraped(start, []byte(page1)); err != nil {
		t.Fatal(err)
	}
	if err := target.Gone(start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := vector(t, p, everything, start.Add(time.Second)); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	if got := vector(t, p, everything, start); len(got) == 0 {
		t.Error("the past is gone as well")
	}
}

func TestAPageWithTimestampsCountsAsAFailedScrape(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	target := p.Target(labels.FromStrings("job", "vllm"))
	err := target.Scraped(start, []byte("x 1 1767322800000\n"))
	if err == nil || !strings.Contains(err.Error(), "timestamp") {
		t.Errorf("%v", err)
	}
	if got := vector(t, p, everything, start); len(got) != 1 || vector(t, p, "up == 0", start) == nil {
		t.Errorf("%v", got)
	}
}

// With a retention the answers about the kept time are the same, and what is older is gone.
func TestARetentionChangesOnlyWhatIsOlder(t *testing.T) {
	t.Parallel()
	const scrapes, kept = 2000, 10 * time.Minute
	all, some := loaded(t), (*promembed.Prometheus)(nil)
	some, err := promembed.New(promembed.Options{Retention: kept})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*promembed.Prometheus{all, some} {
		steady, ends := p.Target(labels.FromStrings("pod", "a")), p.Target(labels.FromStrings("pod", "b"))
		for i := range scrapes {
			at := start.Add(time.Duration(i) * time.Second)
			err := steady.Scraped(at, fmt.Appendf(nil, "x_total %d\ng %d\n", i*3%1000, i%7))
			if i < 100 && err == nil {
				err = ends.Scraped(at, []byte("x_total 1\n"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	end := start.Add((scrapes - 1) * time.Second)
	for _, query := range []string{
		"x_total", "g[9m]", "rate(x_total[5m])", "increase(x_total[9m])", "quantile_over_time(0.9, g[7m])",
		"g offset 121s", "sum_over_time(g[241s]) + up", "x_total[119s] @ " + seconds(end.Add(-8*time.Minute)),
	} {
		path := "/api/v1/query?" + form("query", query, "time", seconds(end))
		_, want := get(t, all, path)
		_, got := get(t, some, path)
		if want != got || strings.Contains(want, `"result":[]`) {
			t.Errorf("%s: %s, without a retention %s", query, got, want)
		}
	}
	if got := vector(t, some, "x_total", start.Add(time.Minute)); len(got) != 0 {
		t.Errorf("still there after the retention: %v", got)
	}
	if _, got := get(t, some, "/api/v1/label/pod/values"); strings.Contains(got, `"b"`) {
		t.Errorf("a series that ended before the retention is still listed: %s", got)
	}
	if _, got := get(t, all, "/api/v1/label/pod/values"); !strings.Contains(got, `"b"`) {
		t.Errorf("without a retention it is gone: %s", got)
	}
}
