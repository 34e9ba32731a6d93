package evidence

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// BenchmarkCollect reads 40 signals from a Prometheus that needs 200 ms for each query, side by side and one after the other.
func BenchmarkCollect(b *testing.B) {
	const latency = 200 * time.Millisecond
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(latency):
			write(w, success("vector", `[{"metric":{},"value":[1,"5"]}]`))
		case <-r.Context().Done():
		}
	}))
	b.Cleanup(srv.Close)
	var signals []incident.Signal
	for i := range 40 {
		signals = append(signals, foreign(fmt.Sprint("signal_", i), fmt.Sprintf("sum(my_metric_%d)", i)))
	}
	for _, bb := range []struct {
		name        string
		concurrency int
	}{{"concurrent", DefaultConcurrency}, {"serial", 1}} {
		b.Run(bb.name, func(b *testing.B) {
			c, err := New(Config{URL: srv.URL, Concurrency: bb.concurrency}, nil, quiet())
			if err != nil {
				b.Fatal(err)
			}
			c.dialects.put(dialectKey(llmPool()), Dialect{}, time.Now())
			b.ReportAllocs()
			for b.Loop() {
				ev := c.Collect(b.Context(), llmPool(), signals, CollectOptions{})
				for name, r := range ev.Readings {
					if !r.HasValue() {
						b.Fatalf("%s: %s", name, r.Text())
					}
				}
			}
		})
	}
}
