package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// inMemory answers through the double without a socket.
func inMemory(f *fakeProm) Config {
	return Config{Prometheus: prometheus.Config{
		URL:       "http://prometheus",
		Transport: func(http.RoundTripper) http.RoundTripper { return f },
	}}
}

func TestAllQueriesAreAskedForOneTime(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
	f.Once(`max(vllm:kv_cache_usage_perc{model_name="llama",namespace="llm"})`, promtest.Value("0.97"))
	c := newCollector(t, asking(f.Serve()), nil)
	usage := incident.Signal{
		Name: "kv_usage", Title: "KV cache", Query: "max(vllm:kv_cache_usage_perc)",
		Unit: incident.UnitRatio, Direction: incident.HigherIsWorse,
	}
	ev := c.Collect(t.Context(), llmPool(), []incident.Signal{running, usage}, CollectOptions{})
	times := map[string]bool{}
	for _, r := range f.Requests() {
		times[r.Form.Get("time")] = true
	}
	if len(times) != 1 {
		t.Errorf("times = %v", times)
	}
	got := ev.Readings["kv_usage"]
	if got.Text() != "97%" || !got.At.Equal(ev.At) || got.Title != "KV cache" ||
		got.Direction != incident.HigherIsWorse || got.Signal != "kv_usage" ||
		got.Query != `max(vllm:kv_cache_usage_perc{model_name="llama",namespace="llm"})` {
		t.Errorf("reading = %+v", got)
	}
	if ev.Dialect != "vLLM V1 names (vllm:...)" || ev.Readings["running"].Text() != "5" {
		t.Errorf("evidence = %+v", ev)
	}
	if ev.Cluster.Error == "" || ev.Cluster.Replicas != nil {
		t.Errorf("a cluster that nobody configured reads %+v", ev.Cluster)
	}
}

func TestABrokenSignalSpoilsOnlyItself(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
	signals := []incident.Signal{
		running, foreign("broken", "sum("), foreign("twice", "up"), foreign("twice", "down"), foreign("empty", ""),
	}
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), signals, CollectOptions{})
	if len(ev.Readings) != 4 || ev.Readings["running"].Text() != "5" {
		t.Errorf("readings = %+v", ev.Readings)
	}
	for name, want := range map[string]string{
		"broken": "not PromQL", "twice": `two signals are called "twice"`,
		"empty": "not PromQL",
	} {
		if r := ev.Readings[name]; !strings.Contains(r.Error, want) || r.Value != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestAPoolWithABadMatcherReadsNothing(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	pool := llmPool()
	pool.Matchers = map[string]string{"namespace": ""}
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), pool,
		[]incident.Signal{running, foreign("up", "up")}, CollectOptions{})
	for name, r := range ev.Readings {
		if !strings.Contains(r.Error, "matcher namespace has no value") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestOldSamplesAreNoReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		age  time.Duration
		want string
	}{
		{"fresh", 30 * time.Second, "5"},
		{"old", 4 * time.Minute, "error: stale: the newest sample of this pool is 4m0s old, more than 3m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), nil)
			f.Always(`max(timestamp(vllm:num_requests_running{model_name="llama",namespace="llm",server=""}))`,
				promtest.Reply{Before: func(w http.ResponseWriter, r *http.Request) {
					var at float64
					if _, err := fmt.Sscanf(r.Form.Get("time"), "%g", &at); err != nil {
						t.Errorf("time %q: %v", r.Form.Get("time"), err)
					}
					promtest.Write(w, promtest.Success("vector", fmt.Sprintf(`[{"metric":{},"value":[1,"%f"]}]`, at-tt.age.Seconds())))
				}})
			f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
			f.Once(`sum(other{model_name="llama",namespace="llm"})`, promtest.Value("6"))
			ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(),
				[]incident.Signal{running, foreign("other", "sum(other)")}, CollectOptions{})
			if got := ev.Readings["running"].Text(); got != tt.want {
				t.Errorf("reading = %q; want %q", got, tt.want)
			}
			if got := ev.Readings["other"].Text(); got != "6" {
				t.Errorf("a reading of another exporter = %q", got)
			}
			if off := ev.At.Add(-tt.age).Sub(ev.SampledAt).Abs(); off > time.Millisecond {
				t.Errorf("the newest sample is of %s, looked at %s, %s old", ev.SampledAt, ev.At, tt.age)
			}
		})
	}
}

func TestAnUnknownSampleAgeIsSaid(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Always(`max(timestamp(vllm:num_requests_running{model_name="llama",namespace="llm",server=""}))`,
		promtest.Reply{Status: http.StatusUnprocessableEntity})
	f.Once(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`, promtest.Value("5"))
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{running},
		CollectOptions{})
	if !ev.SampledAt.IsZero() {
		t.Errorf("an unknown time of the newest sample reads %s", ev.SampledAt)
	}
	r := ev.Readings["running"]
	if r.Text() != "5" || !strings.Contains(r.Warning, "the age of the samples is not known: Prometheus answered 422") {
		t.Errorf("reading = %+v", r)
	}
}

func TestDifferentClocksAreSaid(t *testing.T) {
	t.Parallel()
	const query = `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	for name, tt := range map[string]struct {
		// ours is the bot's clock, seen from the machine's.
		ours time.Duration
		// theirs is Prometheus' clock, seen from the machine's.
		theirs time.Duration
		want   string
	}{
		"they agree": {0, 20 * time.Second, ""},
		"Prometheus is behind": {
			0, -10 * time.Minute,
			"the bot's clock is 10 min ahead of Prometheus': the reading may not be of now",
		},
		"Prometheus is ahead":               {0, 10 * time.Minute, "behind Prometheus'"},
		"the bot's is not the machine's":    {-10 * time.Minute, -10 * time.Minute, ""},
		"the bot's alone is not Prometheus": {10 * time.Minute, 0, "the bot's clock is 10 min ahead of Prometheus'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			answer := promtest.Value("5")
			answer.Header = map[string]string{"Date": time.Now().Add(tt.theirs).UTC().Format(http.TimeFormat)}
			f.Once(query, answer)
			c := newCollector(t,
				Config{Prometheus: prometheus.Config{URL: f.Serve(), Clock: func() time.Time { return time.Now().Add(tt.ours) }}},
				nil)
			if _, err := c.prom.Instant(t.Context(), query, c.Now()); err != nil {
				t.Fatal(err)
			}
			if w := c.ClockWarning(); (w == "") != (tt.want == "") || !strings.Contains(w, tt.want) {
				t.Errorf("warning %q, want %q", w, tt.want)
			}
		})
	}
}

// Samples that look old because the clocks differ are not called old without a word about the clocks.
func TestSamplesThatAreOldByAnotherClockSaySo(t *testing.T) {
	t.Parallel()
	r := incident.Reading{Value: new(5.0)}
	sampleAge{age: 4 * time.Minute, limit: 3 * time.Minute}.apply(&r, "the bot's clock is 4 min ahead of Prometheus'")
	if want := "stale: the newest sample of this pool is 4m0s old, more than 3m0s; the bot's clock is 4 min ahead of " +
		"Prometheus'"; r.Error != want || r.Value != nil {
		t.Errorf("%+v", r)
	}
}

// matrixAt answers a range with points that many steps before its end; the last of a chart's points is the value of
// now.
func matrixAt(t *testing.T, points map[int]string) promtest.Reply {
	t.Helper()
	return promtest.Reply{Before: func(w http.ResponseWriter, r *http.Request) {
		var end, step float64
		if _, err := fmt.Sscanf(r.Form.Get("end")+" "+r.Form.Get("step"), "%g %g", &end, &step); err != nil {
			t.Errorf("range %v: %v", r.Form, err)
		}
		var values []string
		for _, back := range slices.Backward(slices.Sorted(maps.Keys(points))) {
			values = append(values, fmt.Sprintf(`[%.3f,%q]`, end-float64(back)*step, points[back]))
		}
		promtest.Write(w, promtest.Success("matrix", `[{"metric":{},"values":[`+strings.Join(values, ",")+`]}]`))
	}}
}

func TestThePastAndTheValueShareARequest(t *testing.T) {
	t.Parallel()
	query := `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	f.Once(query, promtest.Value("5"))
	c := newCollector(t, asking(f.Serve()), nil)
	if r := c.Collect(t.Context(), llmPool(), []incident.Signal{running},
		CollectOptions{}).Readings["running"]; r.Series != nil {
		t.Errorf("series without being asked: %v", r.Series)
	}
	f.AlwaysRange(query, matrixAt(t, map[int]string{2: "1", 1: "NaN", 0: "7"}))
	ev := c.Collect(t.Context(), llmPool(), []incident.Signal{running}, CollectOptions{History: true})
	r := ev.Readings["running"]
	if r.Text() != "7" || len(r.Series) != 2 || r.Series[1].Value != 7 || f.Count(query) != 2 {
		t.Errorf("reading = %+v after %d requests", r, f.Count(query))
	}
	for _, req := range f.Requests() {
		if req.Path != promtest.RangePath {
			continue
		}
		var start, end, step float64
		if _, err := fmt.Sscanf(req.Form.Get("start")+" "+req.Form.Get("end")+" "+req.Form.Get("step"), "%g %g %g", &start,
			&end, &step); err != nil {
			t.Fatal(err)
		}
		if points := (end-start)/step + 1; points < 19.99 || points > 20.01 || step != 90 ||
			time.UnixMilli(int64(end*1000+0.5)).Compare(ev.At) != 0 {
			t.Errorf("range start %v end %v step %v", start, end, step)
		}
	}
}

// A short window that is looked through at points far apart would miss what happened between them.
func TestThePointsOfThePastAreNoFurtherApartThanTheWindow(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]string{
		0: "90", 5 * time.Minute: "90", 90 * time.Second: "90", time.Minute: "60", 10 * time.Second: "10",
	} {
		f := newFakeProm(t)
		f.dialect(llmMatchers, v1Names(), nil)
		f.AlwaysRange(`sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`,
			matrixAt(t, map[int]string{0: "7"}))
		cfg := asking(f.Serve())
		cfg.RuleWindow = window
		newCollector(t, cfg, nil).Collect(t.Context(), llmPool(), []incident.Signal{running}, CollectOptions{History: true})
		asked := false
		for _, req := range f.Requests() {
			if req.Path == promtest.RangePath {
				asked = true
				if step := req.Form.Get("step"); step != want {
					t.Errorf("a window of %s is looked through every %s s, want %s s", window, step, want)
				}
			}
		}
		if !asked {
			t.Error("the past was not asked for")
		}
	}
}

// A series that ended is no value of now, however recent its last point is, and so is a NaN.
func TestAPastThatEndedIsNoValue(t *testing.T) {
	t.Parallel()
	query := `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	for name, points := range map[string]map[int]string{"ended": {3: "1", 1: "5"}, "not a number": {1: "5", 0: "NaN"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), nil)
			f.AlwaysRange(query, matrixAt(t, points))
			r := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{running},
				CollectOptions{History: true}).Readings["running"]
			if r.Value != nil || r.Error != "" || len(r.Series) == 0 {
				t.Errorf("reading = %+v", r)
			}
		})
	}
}

func TestAMissingHistoryCostsOnlyTheChart(t *testing.T) {
	t.Parallel()
	query := `sum(vllm:num_requests_running{model_name="llama",namespace="llm",server=""})`
	for name, answer := range map[string]promtest.Reply{
		"refused": {
			Status: http.StatusUnprocessableEntity,
			Body:   `{"status":"error","errorType":"execution","error":"too many samples"}`,
		},
		"partial": {Body: `{"status":"success","isPartial":true,"data":{"resultType":"matrix","result":[]}}`},
		"two series": {Body: promtest.Success("matrix",
			`[{"metric":{"a":"1"},"values":[]},{"metric":{"a":"2"},"values":[]}]`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), nil)
			f.Always(query, promtest.Value("5"))
			f.AlwaysRange(query, answer)
			r := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{running},
				CollectOptions{History: true}).Readings["running"]
			if r.Text() != "5" || r.Series != nil || !strings.Contains(r.Warning, "its past could not be read: ") {
				t.Errorf("reading = %+v", r)
			}
		})
	}
}

// stuck is a transport that never answers, and counts what it holds.
type stuck struct{ holds, most atomic.Int64 }

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	s.most.Store(max(s.most.Load(), s.holds.Add(1)))
	defer s.holds.Add(-1)
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestTheDeadlineEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{}
		c := newCollector(t,
			Config{Prometheus: prometheus.Config{
				URL: "http://prometheus", Concurrency: 2,
				Transport: func(http.RoundTripper) http.RoundTripper { return s },
			}}, nil)
		var signals []incident.Signal
		for i := range 9 {
			signals = append(signals, foreign(fmt.Sprint("s", i), "up"))
		}
		c.dialects.put(dialectKey(llmPool()), Dialect{}, c.Now())
		begin := time.Now()
		ev := c.Collect(t.Context(), llmPool(), signals, CollectOptions{})
		if took := time.Since(begin); took != DefaultDeadline {
			t.Errorf("took %v", took)
		}
		if s.most.Load() != 2 {
			t.Errorf("%d queries at one time", s.most.Load())
		}
		slow, notAsked, cutOff := 0, 0, 0
		for _, r := range ev.Readings {
			switch r.Error {
			case "Prometheus gave no answer within 10s":
				slow++
			case "not asked: the deadline of 25s for all readings ended first":
				notAsked++
			case "the deadline of 25s for all readings ended first":
				cutOff++
			default:
				t.Errorf("error = %q", r.Error)
			}
		}
		if slow != 4 || cutOff != 2 || notAsked != 3 {
			t.Errorf("%d slow, %d cut off, %d not asked", slow, cutOff, notAsked)
		}
	})
}

func TestACancelledCollectionEndsAtOnceAndKeepsTheRealError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeProm(t)
		f.Always(mustNamesQuery(t, llmMatchers), promtest.Reply{Status: http.StatusServiceUnavailable})
		cfg := inMemory(f)
		cfg.Prometheus.RetryBase = 2 * time.Second
		c := newCollector(t, cfg, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("the bot stops")) })
		begin := time.Now()
		r := c.Collect(ctx, llmPool(), []incident.Signal{running}, CollectOptions{}).Readings["running"]
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(r.Error, "the bot stops; before that: Prometheus answered 503") {
			t.Errorf("error = %q", r.Error)
		}
	})
}

func TestManyCollectionsShareTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{}
		c := newCollector(t,
			Config{Prometheus: prometheus.Config{
				URL: "http://prometheus", Concurrency: 3,
				Transport: func(http.RoundTripper) http.RoundTripper { return s },
			}}, nil)
		c.dialects.put(dialectKey(llmPool()), Dialect{}, c.Now())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				c.Collect(t.Context(), llmPool(), []incident.Signal{foreign("a", "up"), foreign("b", "up")}, CollectOptions{})
			})
		}
		wg.Wait()
		if s.most.Load() != 3 {
			t.Errorf("%d queries at one time", s.most.Load())
		}
	})
}
