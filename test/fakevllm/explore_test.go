package fakevllm

import (
	"fmt"
	"testing"
	"time"
)

func TestExplore(t *testing.T) {
	for _, gen := range []int{200, 300, 600} {
		for _, wm := range []float64{.01, .015, .02, .025, .03} {
			for _, spread := range []float64{.1, .2, .4} {
				s := cacheFull()
				s.Load.Generation = gen
				s.Load.Spread = spread
				s.Load.Rate = map[int]float64{200: 8.9, 300: 7.3, 600: 4.6}[gen]
				s.Engine.Watermark = wm
				f, _ := New(Options{})
				f.Apply(s)
				f.Advance(2 * time.Minute)
				kmin, over, n := 1.0, 0, 0
				p0 := f.State().Replicas[0].Preemptions + f.State().Replicas[1].Preemptions
				for range 1800 {
					f.Advance(time.Second)
					for _, r := range f.replicas {
						kmin = min(kmin, r.ranks[0].tally.kv)
						n++
						if r.ranks[0].tally.kv <= .95 {
							over++
						}
					}
				}
				fmt.Println(gen, wm, spread, "kmin", kmin, "below", over, "P", f.State().Replicas[0].Preemptions+f.State().Replicas[1].Preemptions-p0, "W", f.State().Replicas[0].Waiting)
			}
		}
	}
}
