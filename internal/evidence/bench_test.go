package evidence

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// BenchmarkCollect reads 40 signals with a known dialect from a Prometheus that needs 200 ms for each answer, side by
// side and one after the other. It reports the time in answers: the goal is at most 2.5 with the concurrency of
// Prometheus' own default, 20; one after the other it is 40. "with the past" asks for the past and for each pod as
// well, which share the request.
func BenchmarkCollect(b *testing.B) {
	const latency = 200 * time.Millisecond
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(latency):
			if end := r.FormValue("end"); end != "" {
				promtest.Write(w, promtest.Success("matrix", `[{"metric":{"medic_part":"value"},"values":[[`+end+`,"5"]]}]`))
				return
			}
			promtest.Write(w, promtest.Success("vector", `[{"metric":{},"value":[1,"5"]}]`))
		case <-r.Context().Done():
		}
	}))
	b.Cleanup(srv.Close)
	signals := func(pods bool) []incident.Signal {
		var out []incident.Signal
		for i := range 40 {
			s := foreign(fmt.Sprint("signal_", i), fmt.Sprintf("sum(my_metric_%d)", i))
			if pods {
				s.Pods = fmt.Sprintf("sum by (pod) (my_metric_%d)", i)
			}
			out = append(out, s)
		}
		return out
	}
	for _, bb := range []struct {
		name        string
		concurrency int
		past        bool
	}{
		{"concurrent", prometheus.DefaultConcurrency, false},
		{"concurrent with the past and pods", prometheus.DefaultConcurrency, true},
		{"serial", 1, false},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c, err := New(Config{Prometheus: prometheus.Config{URL: srv.URL, Concurrency: bb.concurrency}}, nil, quiet())
			if err != nil {
				b.Fatal(err)
			}
			c.dialects.put(dialectKey(llmPool()), Dialect{}, time.Now())
			b.ReportAllocs()
			for b.Loop() {
				ev := c.Collect(b.Context(), llmPool(), signals(bb.past), CollectOptions{History: bb.past})
				for name, r := range ev.Readings {
					if !r.HasValue() {
						b.Fatalf("%s: %s", name, r.Text())
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(latency), "answers/op")
		})
	}
}
