package fleet

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Whatever the load, steps that are taken together write what single steps write.
func TestStepsTakenTogetherGiveWhatSingleStepsGive(t *testing.T) {
	t.Parallel()
	together := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := randomScenario(rnd)
		s.Load.Prefixes = rnd.IntN(8)
		s.Load.Tail = float64(rnd.IntN(2)) * .7
		fast, slow := twin(s.Engine), twin(s.Engine)
		fast.fault, slow.fault = NoFault, NoFault
		for k := range 60 {
			at := time.Duration(k) * time.Duration(50+rnd.IntN(400)) * time.Millisecond
			at = max(at, fast.now, slow.now)
			r := s.Load.request(k, at, rnd, s.longest())
			other := *r
			fast.enqueue(r)
			slow.enqueue(&other)
			until := at + time.Duration(rnd.IntN(3000))*time.Millisecond
			fast.advance(until)
			together += fast.coast.steps
			singly(slow, until)
			if diff := cmp.Diff(slow.tally, fast.tally, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Fatalf("seed %d, request %d: single steps (-) and many together (+):\n%s", seed, k, diff)
			}
			if fast.now != slow.now || fast.used != slow.used || fast.inFlight() != slow.inFlight() {
				t.Fatalf("seed %d, request %d: at %s and %s, %d and %d blocks, %d and %d requests", seed, k, slow.now,
					fast.now, slow.used, fast.used, slow.inFlight(), fast.inFlight())
			}
		}
	}
	if together == 0 {
		t.Error("no steps were taken together")
	}
}

func twin(spec Engine) *engine {
	e := &engine{tally: newTally(vllm.V1), gone: func(*request, ending) {}, patience: forever}
	e.configure(spec)
	return e
}

// singly is advance with nothing but single steps.
func singly(e *engine, until time.Duration) {
	for e.now < until {
		if e.inFlight() == 0 {
			e.now = until
			return
		}
		e.dropImpatient()
		e.step()
		e.publish()
	}
}
