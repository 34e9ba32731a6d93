package fleet_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// Whoever is shown samples in simulated time is shown what a Prometheus would scrape.
func TestSamplesAreWhatIsOnThePages(t *testing.T) {
	t.Parallel()
	for _, d := range fleet.Dialects() {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			f := busy(t, fleet.Options{Dialect: d})
			want := map[string]float64{}
			for _, target := range f.Targets("fleet:1") {
				path := target.Labels["__metrics_path__"]
				delete(target.Labels, "__metrics_path__")
				page, contentType := get(t, f, path, openMetrics)
				addAll(want, parse(t, page, contentType).samples, target.Labels)
				want[labels.FromMap(withName(target.Labels, "up")).String()] = 1
			}
			got, now := map[string]float64{}, f.Now().UnixMilli()
			err := fleet.NewScraper(f, false).Scrape(func(ls labels.Labels, at int64, v float64) error {
				if at != now {
					t.Errorf("%s is of %d, the fleet's time is %d", ls, at, now)
				}
				if _, twice := got[ls.String()]; twice {
					t.Errorf("%s comes twice", ls)
				}
				got[ls.String()] = v
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages (-) and samples (+):\n%s", diff)
			}
		})
	}
}

func addAll(to map[string]float64, samples []sample, target map[string]string) {
	for _, s := range samples {
		b := labels.NewBuilder(s.labels)
		for name, v := range target {
			b.Set(name, v)
		}
		to[b.Labels().String()] = s.value
	}
}

func withName(ls map[string]string, name string) map[string]string {
	out := maps.Clone(ls)
	out[model.MetricNameLabel] = name
	return out
}

func TestWhatIsGoneIsMarkedStaleOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{StartUp: time.Minute})
	s := fleet.NewScraper(f, true)
	scrape := func() (live, stale, up map[string]int) {
		f.Advance(15 * time.Second)
		live, stale, up = map[string]int{}, map[string]int{}, map[string]int{}
		if err := s.Scrape(func(ls labels.Labels, _ int64, v float64) error {
			pod := ls.Get("pod")
			switch {
			case value.IsStaleNaN(v):
				stale[pod]++
			case ls.Get(model.MetricNameLabel) == "up":
				up[pod] = int(v)
			default:
				live[pod]++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return live, stale, up
	}
	before, stale, up := scrape()
	if before["llama-70b-0"] == 0 || before["llama-70b-0"] != before["llama-70b-1"] || before["envoy-0"] != 5 ||
		len(stale) > 0 || up["llama-70b-1"] != 1 {
		t.Fatalf("series by pod: %v, stale %v, up %v", before, stale, up)
	}
	if err := f.Crash("llama-70b-0"); err != nil {
		t.Fatal(err)
	}
	live, stale, up := scrape()
	if live["llama-70b-0"] != 0 || stale["llama-70b-0"] != before["llama-70b-0"] || up["llama-70b-0"] != 0 {
		t.Errorf("while it starts: live %v, stale %v, up %v; before %v", live, stale, up, before)
	}
	if err := f.SetReplicas(1); err != nil { // the one that is not ready goes
		t.Fatal(err)
	}
	if _, stale, _ = scrape(); stale["llama-70b-0"] != 1 {
		t.Errorf("when it is gone: stale %v, want its up and nothing twice", stale)
	}
	if live, stale, _ = scrape(); len(stale) > 0 || live["llama-70b-1"] != before["llama-70b-1"] {
		t.Errorf("afterwards: live %v, stale %v", live, stale)
	}
}

func TestAScrapeEndsWithTheErrorOfItsSink(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	full := errors.New("the disk is full")
	n := 0
	err := fleet.NewScraper(f, false).Scrape(func(labels.Labels, int64, float64) error {
		n++
		return full
	})
	if !errors.Is(err, full) || n != 1 {
		t.Errorf("%v after %d samples, want %v after one", err, n, full)
	}
}

func TestTheClockOfTheFleetIsItsEpochAndWhatHasPassed(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, time.May, 1, 8, 0, 0, 0, time.UTC)
	f := newFleet(t, fleet.Options{Epoch: epoch})
	f.Advance(90 * time.Second)
	if got := f.Now(); !got.Equal(epoch.Add(90 * time.Second)) {
		t.Errorf("it is %s, want 90 s after %s", got, epoch)
	}
}
