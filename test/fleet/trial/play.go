package trial

import (
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// Hand is somebody who looks after a fleet. It is used by one play and by one goroutine.
type Hand interface {
	// Look is called after every LookEvery of simulated time, with the time of the fleet. It may change replicas,
	// arguments and limits, and says how many changes it made. An error ends the play.
	Look(now time.Time) (changes int, err error)
}

// NewHand gives a hand the fleet that it looks after. An error ends the play.
type NewHand func(f *fleet.Fleet, s Script) (Hand, error)

// Nobody looks after the fleet.
func Nobody(*fleet.Fleet, Script) (Hand, error) { return nobody{}, nil }

type nobody struct{}

func (nobody) Look(time.Time) (int, error) { return 0, nil }

const (
	// LookEvery is how often Prometheus scrapes and a hand may look.
	LookEvery = 15 * time.Second
	// StartUp is how long a 70B model takes until it is ready from a warm disk (vllm-project/vllm#19824: 60 s for peer
	// access, 10 s for weights, 15 s for dynamo, 60 s for graphs).
	StartUp = 145 * time.Second
	// Recompile is what a new token budget adds (ibidem).
	Recompile = 70 * time.Second
	// gpusEach is for FP8 weights of a 70B model.
	gpusEach = 2
	// FaultAt is when something breaks in the scripts of Faults, since the fleet's start.
	FaultAt = WarmUp + begin
	// WarmUp fills the prefix caches before anything is measured.
	WarmUp = 5 * time.Minute
	// drain is how long the last calls may take to end.
	drain = 20 * time.Minute
)

// Play plays a script with a seed under a hand.
func Play(s Script, seed uint64, hand NewHand, slo SLO) (Measure, error) {
	c, err := Watch(s, seed, hand, slo)
	return c.Measure, err
}

// Watch is Play with the minutes.
func Watch(s Script, seed uint64, hand NewHand, slo SLO) (Course, error) {
	fail := func(err error) (Course, error) {
		return Course{}, fmt.Errorf("play %s with seed %d: %w", s.Name, seed, err)
	}
	b := &book{slo: slo, from: WarmUp}
	f, err := fleet.New(fleet.Options{
		Model: modelName, Seed: seed, Replicas: s.Replicas, Args: s.Args, StartUp: StartUp, Recompile: Recompile,
		GPUs: gpusEach, Observe: b.observe,
	})
	if err != nil {
		return fail(err)
	}
	if err := f.Apply(fleet.Scenario{Name: s.Name, Summary: s.Summary, Load: s.Load, Engine: s.Engine}); err != nil {
		return fail(err)
	}
	h, err := hand(f, s)
	if err != nil {
		return fail(err)
	}
	p := play{f: f, hand: h, turns: s.Turns}
	if err := p.until(WarmUp); err != nil {
		return fail(err)
	}
	before := time.Duration(f.State().GPUTime)
	if err := p.until(WarmUp + s.For); err != nil {
		return fail(err)
	}
	held := time.Duration(f.State().GPUTime) - before
	if err := p.end(); err != nil {
		return fail(err)
	}
	c := b.course(int(s.For / time.Minute))
	c.GPU, c.Changes = held.Minutes(), float64(p.changes)
	return c, nil
}

// play is a script that is going on.
type play struct {
	f       *fleet.Fleet
	hand    Hand
	turns   []Turn
	now     time.Duration
	changes int
}

// until lets everything happen that happens until then.
func (p *play) until(end time.Duration) error {
	for p.now < end {
		next := min(end, (p.now/LookEvery+1)*LookEvery)
		for len(p.turns) > 0 && p.turns[0].At+WarmUp <= next {
			p.advance(p.turns[0].At + WarmUp)
			if err := p.turns[0].Do(p.f); err != nil {
				return err
			}
			p.turns = p.turns[1:]
		}
		p.advance(next)
		if p.now%LookEvery != 0 {
			continue
		}
		n, err := p.hand.Look(p.f.Now())
		if err != nil {
			return err
		}
		p.changes += n
	}
	return nil
}

func (p *play) advance(to time.Duration) {
	p.f.Advance(to - p.now)
	p.now = to
}

// end lets no more calls come and those that are there end. What is broken stays so: the clients of an engine that
// hangs give up.
func (p *play) end() error {
	l := p.f.Levers()
	l.Traffic = 1e-9
	if err := p.f.SetLevers(l); err != nil {
		return err
	}
	p.advance(p.now + drain)
	return nil
}
