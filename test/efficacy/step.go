package efficacy

import (
	"slices"
	"time"

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

// judge says of each change what it did: what came of the play with the changes up to it, compared with the same play
// with those before it. again plays it with the changes that it gets; whole is what came of the play itself.
func judge(
	first settings, changes []change, epoch time.Time, whole trial.Course, again func([]change) (trial.Course, error),
) ([]Step, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	arms := make([]trial.Course, 0, len(changes)+1)
	for n := range changes {
		c, err := again(changes[:n])
		if err != nil {
			return nil, err
		}
		arms = append(arms, c)
	}
	arms = append(arms, whole)
	var out []Step
	from := first
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
