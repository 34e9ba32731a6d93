package fleet_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// What is to be thousands of times as fast as real time: four replicas of a 70B model that are busy, with requests at
// random moments, of random lengths, with shared beginnings. Baseline, on one busy core of a 2-core Xeon, 2026-11:
// saturated 20,000 simulated seconds in a second, at half of that load 29,000.
func BenchmarkFleet(b *testing.B) {
	for name, rate := range map[string]float64{"busy": 1.2, "saturated": 2.6} {
		b.Run(name, func(b *testing.B) {
			f, err := fleet.New(fleet.Options{Replicas: 4, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			s := fleet.Scenario{Name: name, Engine: fleet.Llama70B(), Load: fleet.Load{
				Rate: rate, Random: true, Prompt: 1200, Generation: 250, Tail: .6, CachedShare: .4, Prefixes: 20,
				FirstTokenPatience: 30 * time.Second, Retries: 2, RetryAfter: time.Second,
			}}
			if err := f.Apply(s); err != nil {
				b.Fatal(err)
			}
			f.Advance(10 * time.Minute)
			b.ResetTimer()
			for range b.N {
				f.Advance(time.Minute)
			}
			b.ReportMetric(time.Minute.Seconds()*float64(b.N)/b.Elapsed().Seconds(), "simulated-s/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A scrape of four replicas and the gateway into samples, which costs a trial less than the 15 simulated seconds before
// it. Baseline on the same machine: 0.2 ms for 876 samples.
func BenchmarkScrape(b *testing.B) {
	f, err := fleet.New(fleet.Options{Replicas: 4, Scenario: "swapping"})
	if err != nil {
		b.Fatal(err)
	}
	f.Advance(5 * time.Minute)
	s := fleet.NewScraper(f, true)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Scrape(func(labels.Labels, int64, float64) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/float64(b.N), "samples/op")
}
