package fakevllm

import (
	"fmt"
	"testing"
	"time"
)

func q(h, prev *histogram, p float64) float64 {
	var counts []uint64
	var total uint64
	for i := range h.counts {
		c := h.counts[i] - prev.counts[i]
		counts = append(counts, c)
	}
	total = h.count - prev.count
	rank := p * float64(total)
	var cum float64
	for i, c := range counts {
		if cum+float64(c) >= rank && c > 0 {
			lo := 0.0
			if i > 0 {
				lo = h.bounds[i-1]
			}
			return lo + (h.bounds[i]-lo)*(rank-cum)/float64(c)
		}
		cum += float64(c)
	}
	return h.bounds[len(h.bounds)-1]
}

func cp(h *histogram) *histogram {
	c := *h
	c.counts = append([]uint64(nil), h.counts...)
	return &c
}

func TestExplore(t *testing.T) {
	for _, s := range Scenarios() {
		for _, mode := range []string{"none", "3", "4", "thr64", "thr80"} {
			f, err := New(Options{Scenario: s.Name})
			if err != nil {
				t.Fatal(err)
			}
			run := func(n int) {
				for i := 0; i < n; i++ {
					e := f.replicas[0].ranks[0]
					a, b, c, pr := cp(e.tally.ttft), cp(e.tally.itl), cp(e.tally.queue), e.tally.preemptions
					fin, st := e.tally.e2e.count, e.tally.ttft.count
					kmin, kmax, wmax := 1.0, 0.0, 0
					for k := 0; k < 60; k++ {
						f.Advance(time.Second)
						kmin, kmax, wmax = min(kmin, e.tally.kv), max(kmax, e.tally.kv), max(wmax, e.tally.waiting)
					}
					fmt.Printf("%-18s %-6s %3dm R=%3d W=%3d(max %d) KV=%.3f..%.3f P=%d ttft95=%.2f itl50=%.3f itl99=%.3f q95=%.2f started=%d finished=%d\n", s.Name, mode, int(f.now.Minutes()),
						e.tally.running, e.tally.waiting, wmax, kmin, kmax, e.tally.preemptions-pr, q(e.tally.ttft, a, .95), q(e.tally.itl, b, .5), q(e.tally.itl, b, .99), q(e.tally.queue, c, .95), e.tally.ttft.count-st, e.tally.e2e.count-fin)
				}
			}
			begin := time.Now()
			if mode == "none" {
				run(8)
			} else {
				f.Advance(8 * time.Minute)
				switch mode {
				case "3":
					f.SetReplicas(3)
				case "4":
					f.SetReplicas(4)
				case "thr64":
					f.SetThrottle(128)
				case "thr80":
					f.SetThrottle(160)
				}
				run(5)
			}
			fmt.Println("   took", time.Since(begin))
		}
	}
}
