package fleet_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

func readyPods(f *fleet.Fleet) (ready, all int) {
	for _, r := range f.State().Replicas {
		if r.Ready {
			ready++
		}
	}
	return ready, len(f.State().Replicas)
}

func TestANewReplicaServesWhenItHasStarted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Replicas: 2, StartUp: 4 * time.Minute, GPUs: 2})
	if err := f.SetReplicas(3); err != nil {
		t.Fatal(err)
	}
	f.Advance(3 * time.Minute)
	if ready, all := readyPods(f); ready != 2 || all != 3 {
		t.Errorf("after 3 min %d of %d replicas are ready, want 2 of 3", ready, all)
	}
	if third := f.State().Replicas[2]; third.Running+third.Waiting > 0 {
		t.Error("a replica that starts has requests")
	}
	if status, _ := request(t, f, "GET", "/replica/2/metrics", ""); status != 503 {
		t.Errorf("its metrics answer %d, want 503", status)
	}
	f.Advance(2 * time.Minute)
	if ready, _ := readyPods(f); ready != 3 || f.State().Replicas[2].FirstTokens == 0 {
		t.Errorf("after 5 min %d replicas are ready and the new one gave %d first tokens", ready,
			f.State().Replicas[2].FirstTokens)
	}
	if got := time.Duration(f.State().GPUTime); got != 5*3*2*time.Minute {
		t.Errorf("GPUs were held for %s, want 3 replicas of 2 for 5 min", got)
	}
}

func TestACrashedReplicaComesBackColdUnderItsName(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Replicas: 2, StartUp: time.Minute})
	f.Advance(time.Minute)
	name := f.State().Replicas[0].Name
	if err := f.Crash(name); err != nil {
		t.Fatal(err)
	}
	if got := f.State(); got.Replicas[0].Ready || got.Lost == 0 || got.Replicas[0].FirstTokens != 0 {
		t.Errorf("after the crash: %+v", got)
	}
	f.Advance(2 * time.Minute)
	if got := f.State().Replicas[0]; !got.Ready || got.Name != name || got.FirstTokens == 0 {
		t.Errorf("later: %+v", got)
	}
	if err := f.Crash("nobody"); !errors.Is(err, fleet.ErrNoPod) {
		t.Errorf("a pod that is not there: %v", err)
	}
}

func TestADeletedPodIsReplacedByAnother(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Replicas: 2, StartUp: time.Minute})
	f.Advance(time.Minute)
	if err := f.Delete("llama-70b-0"); err != nil {
		t.Fatal(err)
	}
	if ready, all := readyPods(f); ready != 1 || all != 2 || f.State().Lost == 0 {
		t.Errorf("%d of %d are ready: %+v", ready, all, f.State())
	}
	f.Advance(2 * time.Minute)
	if got := f.State().Replicas[1]; got.Name != "llama-70b-2" || !got.Ready {
		t.Errorf("in its place there is %+v", got)
	}
	if err := f.Delete("llama-70b-0"); !errors.Is(err, fleet.ErrNoPod) {
		t.Errorf("deleted twice: %v", err)
	}
}

// As a Deployment does it: a spare pod first, or one pod less when there is no spare GPU.
func TestARolloutReplacesPodAfterPod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noSurge        bool
		fewest, widest int
	}{"with a spare GPU": {false, 3, 4}, "without": {true, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t,
				fleet.Options{Replicas: 3, StartUp: 2 * time.Minute, Recompile: time.Minute, NoSurge: c.noSurge})
			f.Advance(time.Minute)
			args := []string{"--max-num-batched-tokens=4096"}
			if err := f.SetArgs(args); err != nil {
				t.Fatal(err)
			}
			fewest, widest, done := 9, 0, 0
			for s := 0; s < 1200 && done == 0; s++ {
				ready, all := readyPods(f)
				fewest, widest = min(fewest, ready), max(widest, all)
				if ready == 3 && all == 3 && !slices.ContainsFunc(f.State().Replicas, func(r fleet.ReplicaState) bool {
					return r.MaxNumBatchedTokens != 4096
				}) {
					done = s
				}
				f.Advance(time.Second)
			}
			if fewest != c.fewest || widest != c.widest {
				t.Errorf("%d to %d replicas, want %d to %d", fewest, widest, c.fewest, c.widest)
			}
			// Three starts one after the other, of which the first compiles.
			if done < 3*108+60 || done > 3*132+62 {
				t.Errorf("it took %d s, want three starts of 2 min, give or take a tenth, and 1 min", done)
			}
		})
	}
}

func TestGoingBackDuringARolloutKeepsThePodsThatAreLeft(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Replicas: 2, StartUp: 2 * time.Minute})
	before := f.State().Replicas[0].Name
	for _, args := range [][]string{{"--max-num-batched-tokens=4096"}, nil} {
		if err := f.SetArgs(args); err != nil {
			t.Fatal(err)
		}
		f.Advance(30 * time.Second)
	}
	if ready, all := readyPods(f); ready != 2 || all != 2 || f.State().Replicas[0].Name != before || f.State().Lost > 0 {
		t.Errorf("%d of %d are ready, the first is %s (was %s), %d requests were lost", ready, all,
			f.State().Replicas[0].Name, before, f.State().Lost)
	}
}

// Somebody else, such as a cluster, says which pods there are; then nothing is started or ended but on request.
func TestPodsThatSomebodyElseDecidesStartToo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Replicas: 1, StartUp: time.Minute})
	pods := []fleet.Pod{{Name: "a", IP: "10.0.0.1"}, {Name: "b", IP: "10.0.0.2"}}
	if err := f.SetPods(pods); err != nil {
		t.Fatal(err)
	}
	if ready, all := readyPods(f); ready != 0 || all != 2 {
		t.Errorf("%d of %d are ready at once", ready, all)
	}
	f.Advance(2 * time.Minute)
	if ready, _ := readyPods(f); ready != 2 {
		t.Errorf("%d are ready after 2 min", ready)
	}
	if err := f.SetPods(pods[:1]); err != nil {
		t.Fatal(err)
	}
	f.Advance(2 * time.Minute)
	if _, all := readyPods(f); all != 1 {
		t.Errorf("%d replicas, want the one that was left", all)
	}
}
