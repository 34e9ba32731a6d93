package fleet_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// served is usual with an API server that needs CPU.
func served() fleet.Scenario {
	s := usual()
	s.Engine = s.Engine.WithFrontend()
	return s
}

// means are the mean times of a pod's requests, from its histograms.
type means struct{ ttft, queue, prefill, itl float64 }

// meansAfter lets ten minutes pass and says what the first pod's metrics say of them.
func meansAfter(t *testing.T, p *pool) means {
	t.Helper()
	read := func() map[string]float64 {
		out := map[string]float64{}
		for _, s := range parse(t, page(t, p.Fleet, "/replica/0/metrics"), "text/plain").samples {
			out[s.labels.Get("__name__")] += s.value
		}
		return out
	}
	before := read()
	p.after(10 * time.Minute)
	after := read()
	mean := func(name string) float64 {
		name = "vllm:" + name + "_seconds"
		return (after[name+"_sum"] - before[name+"_sum"]) / (after[name+"_count"] - before[name+"_count"])
	}
	return means{
		mean("time_to_first_token"), mean("request_queue_time"), mean("request_prefill_time"), mean("inter_token_latency"),
	}
}

func TestABusyFrontEndDelaysTheFirstTokenAndNothingElse(t *testing.T) {
	t.Parallel()
	p := newPool(t, served(), fleet.Options{Replicas: 2, Seed: 9})
	p.after(5 * time.Minute)
	before := meansAfter(t, p)
	rest := func(m means) float64 { return m.ttft - m.queue - m.prefill }
	if rest(before) > .2 {
		t.Errorf("with enough CPU %.3f s of the time to first token are neither queue nor prefill: %+v", rest(before), before)
	}
	p.set(fleet.Levers{AllPods: fleet.PodLever{Frontend: 30}})
	p.after(5 * time.Minute)
	now := meansAfter(t, p)
	if rest(now) < 1 || now.queue > before.queue+.1 || now.prefill > before.prefill*1.2 || now.itl > before.itl*1.2 {
		t.Errorf("a front end that is short of CPU: %+v before, %+v then", before, now)
	}
	p.set(fleet.Levers{})
	p.after(10 * time.Minute)
	if healed := meansAfter(t, p); rest(healed) > .2 {
		t.Errorf("it does not heal: %+v", healed)
	}
}

func TestMoreAPIServersShareTheWork(t *testing.T) {
	t.Parallel()
	rest := func(args ...string) float64 {
		p := newPool(t, served(), fleet.Options{Replicas: 2, Seed: 9, Args: args})
		p.set(fleet.Levers{AllPods: fleet.PodLever{Frontend: 30}})
		p.after(5 * time.Minute)
		m := meansAfter(t, p)
		return m.ttft - m.queue - m.prefill
	}
	if one, four := rest(), rest("--api-server-count=4"); four > one/3 {
		t.Errorf("outside of the engine a first token takes %.2f s with one API server and %.2f s with four", one, four)
	}
	if _, err := fleet.New(fleet.Options{Args: []string{"--api-server-count", "0"}}); err == nil {
		t.Error("no API server at all is accepted")
	}
}

func TestAFrontEndDoesNotDependOnHowItIsWatched(t *testing.T) {
	t.Parallel()
	run := func(piece time.Duration) []fleet.Outcome {
		s := served()
		s.Load.Retries, s.Load.RetryAfter = 1, time.Second
		p := newPool(t, s, fleet.Options{Replicas: 2, Ranks: 2, Seed: 10})
		p.set(fleet.Levers{Traffic: 2, AllPods: fleet.PodLever{Frontend: 20}})
		for range int(5 * time.Minute / piece) {
			p.Advance(piece)
		}
		if err := p.Crash("llama-70b-0"); err != nil {
			t.Fatal(err)
		}
		for range int(5 * time.Minute / piece) {
			p.Advance(piece)
		}
		slices.SortFunc(p.outcomes, func(a, b fleet.Outcome) int { return cmp.Compare(a.Arrived, b.Arrived) })
		return p.outcomes
	}
	whole := run(5 * time.Minute)
	if diff := gocmp.Diff(whole, run(250*time.Millisecond)); diff != "" {
		t.Errorf("time in one piece (-) and in many (+):\n%.2000s", diff)
	}
	if len(whole) < 500 {
		t.Errorf("%d calls ended", len(whole))
	}
}
