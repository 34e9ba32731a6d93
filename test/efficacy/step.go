package efficacy

import (
	"errors"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// Effect is what a step did to the clients.
type Effect string

// The effects. A step that takes capacity away, or back what an earlier one set, is not there to help: it is Harmless
// if it doesn't hurt.
const (
	Helped   Effect = "helped"
	Nothing  Effect = "nothing"
	Harmless Effect = "harmless"
	Harmful  Effect = "harmful"
	// Unjudged is a step so late that the play was over before it could show.
	Unjudged Effect = "unjudged"
)

// Step is a change that a hand made, and what came of it.
type Step struct {
	// At is since the fleet's start.
	At time.Duration
	// From and To are the replicas, Deleted the pod that was deleted, Args says that engine arguments were changed.
	From, To int
	Args     bool
	Deleted  string
	Effect   Effect
	// Bad is how many calls in a hundred were late or lost in the time after it, Without how many would have been.
	Bad, Without float64
	// Back says that the settings are those of before again, or were at some time later.
	Back bool
}

const (
	// judged is how long after a step its effect is looked at: a replica takes 2.5 minutes to start and some more to work
	// off what waits.
	judged = 15 * time.Minute
	// leastJudged is what must be left of the play.
	leastJudged = 5 * time.Minute
	// noticeable is the difference, in calls of a hundred, that counts.
	noticeable = 1.
)

// judge plays the script again for each change, with the changes up to it and without it, and nothing after. The fleet
// is the same for the same seed, so what differs is the change's own.
func judge(s trial.Script, seed uint64, epoch time.Time, first settings, changes []change) ([]Step, error) {
	var out []Step
	from := first
	var arms []trial.Course
	for n := range len(changes) + 1 {
		c, err := trial.Watch(s, seed, func(f *fleet.Fleet, _ trial.Script) (trial.Hand, error) {
			return &replay{fleet: f, changes: changes[:n], last: first}, nil
		}, trial.DefaultSLO())
		if err != nil {
			return nil, err
		}
		arms = append(arms, c)
	}
	for n, c := range changes {
		step := Step{
			At: c.At.Sub(epoch), From: from.Replicas, To: c.Settings.Replicas,
			Args: !slices.Equal(from.Args, c.Settings.Args), Deleted: c.Deleted,
		}
		step.Back = c.Deleted == "" && slices.ContainsFunc(changes[n+1:], func(later change) bool {
			return later.Settings.equal(from)
		})
		step.Effect = step.effect(arms[n], arms[n+1], undoes(first, changes[:n], c))
		out = append(out, step)
		from = c.Settings
	}
	return out, nil
}

// undoes says that a change goes back to what was set before, or takes replicas away.
func undoes(first settings, before []change, c change) bool {
	last := first
	if len(before) > 0 {
		last = before[len(before)-1].Settings
	}
	return c.Deleted == "" && (c.Settings.equal(first) || c.Settings.Replicas < last.Replicas)
}

// effect compares the minutes after a step with those that would have been.
func (s *Step) effect(without, with trial.Course, back bool) Effect {
	begin := max(0, int((s.At-trial.WarmUp+time.Minute-1)/time.Minute))
	end := min(begin+int(judged/time.Minute), len(with.Minutes))
	if end-begin < int(leastJudged/time.Minute) {
		return Unjudged
	}
	s.Bad, s.Without = bad(with.Minutes[begin:end]), bad(without.Minutes[begin:end])
	switch {
	case s.Bad > s.Without+noticeable:
		return Harmful
	case back:
		return Harmless
	case s.Bad < s.Without-noticeable:
		return Helped
	default:
		return Nothing
	}
}

// bad is how many calls in a hundred were late or lost.
func bad(minutes []trial.Minute) float64 {
	calls, wrong := 0, 0
	for _, m := range minutes {
		calls += m.Calls
		wrong += m.Late + m.Lost
	}
	if calls == 0 {
		return 0
	}
	return 100 * float64(wrong) / float64(calls)
}

// replay is a hand that repeats changes at their times on a fleet that is its own Deployment.
type replay struct {
	fleet   *fleet.Fleet
	changes []change
	last    settings
}

// Look implements trial.Hand.
func (r *replay) Look(now time.Time) (int, error) {
	done := 0
	for ; len(r.changes) > 0 && !r.changes[0].At.After(now); r.changes = r.changes[1:] {
		c := r.changes[0]
		done++
		if c.Deleted != "" {
			if err := r.fleet.Delete(c.Deleted); err != nil && !errors.Is(err, fleet.ErrNoPod) {
				return done, err
			}
		}
		if c.Settings.Replicas != r.last.Replicas {
			if err := r.fleet.SetReplicas(c.Settings.Replicas); err != nil {
				return done, err
			}
		}
		if !slices.Equal(c.Settings.Args, r.last.Args) {
			if err := r.fleet.SetArgs(c.Settings.Args); err != nil {
				return done, err
			}
		}
		r.last = c.Settings
	}
	return done, nil
}
