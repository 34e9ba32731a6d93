package remediation_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// foldedAtATime is how many deliveries are measured at a time, out of those that wait.
const foldedAtATime = 2_000

// BenchmarkFold folds in the first 2,000 of the deliveries that wait: storms of 200 groups for 16 pools, five alerts
// each, of which every fourth word is an end. How many wait must not matter.
func BenchmarkFold(b *testing.B) {
	for _, engine := range storetest.Engines() {
		for _, waiting := range []int{2_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d-wait", engine.Name, waiting), func(b *testing.B) {
				s := storetest.Open(b, engine.URL(b))
				some := &someOf{Store: s}
				e := folder(b, some)
				n := 0
				for b.Loop() {
					b.StopTimer()
					storm(b, s, n, waiting+min(n, 1)*(foldedAtATime-waiting))
					n += foldedAtATime
					some.left = foldedAtATime
					b.StartTimer()
					if _, err := e.Sweep(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// someOf is a store that gives out a number of deliveries and then none.
type someOf struct {
	*store.Store
	left int
}

func (s *someOf) ClaimDeliveries(
	ctx context.Context, owner string, now time.Time, lease time.Duration, limit int,
) ([]incident.Delivery, error) {
	if s.left <= 0 {
		return nil, nil
	}
	ds, err := s.Store.ClaimDeliveries(ctx, owner, now, lease, min(limit, s.left))
	s.left -= len(ds)
	return ds, err
}

// folder is an engine that does nothing but fold: its clock stands still, so no incident becomes due.
func folder(b *testing.B, s *someOf) *remediation.Engine {
	b.Helper()
	pools := make([]incident.Pool, 16)
	for n := range pools {
		pools[n] = llama()
		pools[n].Name = fmt.Sprintf("model-%d", n)
		pools[n].Match = map[string]string{"model_name": pools[n].Name}
	}
	sight := &sight{t: b}
	e, err := remediation.New(remediation.Config{
		Owner: "bench", Pools: pools, Mode: incident.ModeApprove,
		Policy: policy.Defaults(),
	}, remediation.Deps{
		Incidents: s, Inbox: s, Ledger: s, Collector: sight, Playbooks: sight, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return start },
	})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// storm stores deliveries, 64 at a time.
func storm(b *testing.B, s *store.Store, from, many int) {
	b.Helper()
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for n := from + worker; n < from+many; n += 64 {
				if _, err := s.AddDelivery(b.Context(), stormy(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func stormy(n int) incident.Delivery {
	group, round := n%200, n/200
	d := incident.Delivery{
		ReceivedAt: start, Receiver: "medic", GroupKey: fmt.Sprintf("{}:{group=\"%d\"}", group),
		Alerts: make([]incident.Alert, 5),
	}
	for a := range d.Alerts {
		x := alert("HighTTFT", fmt.Sprintf("model-%d", group%16))
		x.Fingerprint = fmt.Sprintf("%08x%08x", group, a)
		x.StartsAt, x.SeenAt = start.Add(time.Duration(round/4)*time.Minute), start
		if x.Firing = round%4 != 3; !x.Firing {
			x.EndsAt = x.StartsAt.Add(30 * time.Second)
		}
		x.Labels["pod"] = fmt.Sprintf("pod-%d-%d", group, a)
		x.Annotations = map[string]string{
			"summary":     "slow to answer",
			"description": "The 95th percentile of the time to first token is 4.2s, above 2s.",
		}
		x.GeneratorURL = "http://prometheus:9090/graph?g0.expr=" +
			"histogram_quantile%280.95%2C+sum+by+%28le%29+%28rate%28x%5B5m%5D%29%29%29+%3E+2&g0.tab=1"
		d.Alerts[a] = x
	}
	return d
}
