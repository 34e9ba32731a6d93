package live

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Biggest is the largest value that is worked with: every whole number up to it is exact as a float64.
const Biggest = 1 << 53

// Limits bound one step. MinWhy and MaxWhy name who sets the limit on that side when it is not the pool's
// configuration.
type Limits struct {
	Min, Max       int64
	MinWhy, MaxWhy string
	// Step is the largest change; 0: none of its own.
	Step int64
}

// LimitsOf are the limits that a pool's configuration sets for steps of a kind; the zero value, which allows nothing,
// where it does not allow them.
func LimitsOf(pool incident.Pool, kind incident.StepKind) Limits {
	k, _ := pool.Knobs.Limits(kind)
	return Limits{Min: k.Min, Max: k.Max, Step: k.MaxStep}
}

// AtMost tightens the upper limit, naming the reason.
func (l Limits) AtMost(most int64, why string) Limits {
	if most < l.Max {
		l.Max, l.MaxWhy = most, why
	}
	return l
}

// AtLeast tightens the lower limit, naming the reason.
func (l Limits) AtLeast(least int64, why string) Limits {
	if least > l.Min {
		l.Min, l.MinWhy = least, why
	}
	return l
}

// Adjust works out where a step ends that wants to go from one value to another. It may make the step smaller, never
// bigger, and never reverses it; what cannot be done within the limits that way is refused.
func (l Limits) Adjust(from, asked int64) (int64, incident.Guardrail, error) {
	to, g, no := l.adjust(from, asked)
	if no != nil {
		no.Worked = l.Worked(from, asked)
		return 0, incident.Guardrail{}, no
	}
	return to, g, nil
}

// Worked is the arithmetic of Adjust, for whoever works the step out again without the object.
func (l Limits) Worked(from, asked int64) *incident.Worked {
	return &incident.Worked{
		From: from, Up: asked > from, Min: l.Min, Max: l.Max, Step: l.Step, MinWhy: l.MinWhy, MaxWhy: l.MaxWhy,
	}
}

func (l Limits) adjust(from, asked int64) (int64, incident.Guardrail, *incident.RefusedError) {
	if asked == from {
		return 0, incident.Guardrail{}, NotNow("the change is too small: %d stays %d", from, from)
	}
	up := asked > from
	to := asked
	if l.Step > 0 {
		to = min(max(to, from-l.Step), from+l.Step)
	}
	if up {
		to = min(to, l.Max)
	} else {
		to = max(to, l.Min)
	}
	switch {
	case up && to <= from:
		return 0, incident.Guardrail{}, NotNow("already at the limit: %d (%s)", from, l.most())
	case !up && to >= from:
		return 0, incident.Guardrail{}, NotNow("already at the limit: %d (%s)", from, l.least())
	case to < l.Min:
		return 0, incident.Guardrail{}, Refused("%d would still be out of bounds (%s); this needs a human decision", to,
			l.least())
	case to > l.Max:
		return 0, incident.Guardrail{}, Refused("%d would still be out of bounds (%s); this needs a human decision", to,
			l.most())
	case to != asked:
		return to, incident.Guardrail{
			Name: "bounds", Verdict: incident.GuardShrink,
			Reason: fmt.Sprintf("%d instead of %d: %s", to, asked, l.whyNot(asked, to)),
		}, nil
	}
	return to, Pass("bounds", "%d is within %d to %d", to, l.Min, l.Max), nil
}

// Check refuses a value outside of the limits.
func (l Limits) Check(n int64) error {
	switch {
	case n < l.Min:
		return Refused("%d is out of bounds: %s", n, l.least())
	case n > l.Max:
		return Refused("%d is out of bounds: %s", n, l.most())
	}
	return nil
}

func (l Limits) whyNot(asked, to int64) string {
	switch {
	case asked > to && to == l.Max:
		return l.most()
	case asked < to && to == l.Min:
		return l.least()
	}
	return fmt.Sprintf("one step changes it by at most %d", l.Step)
}

func (l Limits) most() string {
	s := fmt.Sprintf("the maximum is %d", l.Max)
	if l.MaxWhy != "" {
		s += ", " + l.MaxWhy
	}
	return s
}

func (l Limits) least() string {
	s := fmt.Sprintf("the minimum is %d", l.Min)
	if l.MinWhy != "" {
		s += ", " + l.MinWhy
	}
	return s
}

// Times multiplies a value by the factor of a request, rounded to a whole number.
func Times(now int64, req incident.StepRequest) (int64, error) {
	asked, err := scaled(float64(now), req)
	if err != nil {
		return 0, err
	}
	return Chosen(now, asked, req)
}

// scaled is a number times the factor of a request.
func scaled(base float64, req incident.StepRequest) (int64, error) {
	f := math.Round(base * req.Factor)
	switch {
	case req.Add != 0 || !(req.Factor > 0):
		return 0, Refused("a %s step asks for a factor above 0, and nothing else", req.Kind)
	case !(f >= 1 && f <= Biggest):
		return 0, Refused("%v times %v is not a usable value", req.Factor, base)
	}
	return int64(f), nil
}

// Plus adds to a value what a request asks for, and what its load needs beyond that.
func Plus(now int64, req incident.StepRequest) (int64, error) {
	if req.Factor != 0 || req.Add <= 0 || req.Add > Biggest {
		return 0, Refused("replicas are only added; they are removed only by " +
			"undoing a step, because that ends running requests")
	}
	return Chosen(now, needed(now, req), req)
}

// headroom is by how much more than the present load a step is for: what has queued up has to be served as well, and
// engines that are full are slow. A utilization of 80% is our starting value.
const headroom = 1.25

// needed is the number that a request is for: at least Add more, as many as the load needs by an estimate, and at most
// double, as Kubernetes' HorizontalPodAutoscaler allows itself in one step: the estimate counts requests that have
// gathered, too. What is asked about already stays while the estimate wavers by one.
func needed(now int64, req incident.StepRequest) int64 {
	out := now + req.Add
	most := max(2*now, out)
	if req.Times > 0 {
		out = max(out, int64(math.Ceil(min(float64(now)*req.Times*headroom, float64(most)))))
	}
	if req.Asked > now && req.Asked <= most && max(out-req.Asked, req.Asked-out) <= 1 {
		return req.Asked
	}
	return out
}

// near is how far what a request is sized by may move before another value is asked for: requests in flight are never
// the same twice. A quarter is our starting value.
const near = 0.25

// reached is the part of a limit from which on it counts as reached: what is in flight is counted in the engines, and
// some of it is on the way there or back.
const reached = 0.9

// Lowered is Times for a limit that is only lowered. Where fewer requests are in flight than the limit allows, the
// factor multiplies those: a lower limit that is still above them would reject none. What is asked about already stays
// while it is near that.
func Lowered(now int64, req incident.StepRequest) (int64, error) {
	base := float64(now)
	if req.Of > 0 && req.Of < reached*base {
		base = math.Ceil(req.Of)
	}
	asked, err := scaled(base, req)
	switch {
	case err != nil:
		return 0, err
	case asked > now:
		return 0, Refused("a throttle only lowers the limit; it is raised again by undoing the step")
	case req.Of > 0 && req.Asked > 0 && req.Asked < now && math.Abs(float64(asked-req.Asked)) <= near*float64(req.Asked):
		asked = req.Asked
	}
	return Chosen(now, asked, req)
}

// Asked is where a request leads to from a value, before any limits.
func Asked(now int64, req incident.StepRequest) (int64, error) {
	knob, ok := req.Kind.Knob()
	switch {
	case !ok:
		return 0, Refused("%q is not a step that the bot can run", req.Kind)
	case knob.Adds:
		return Plus(now, req)
	case !knob.Raises:
		return Lowered(now, req)
	}
	return Times(now, req)
}

// Chosen is where a request leads to: to the value that a person chose, if that is a smaller change the same way.
func Chosen(now, asked int64, req incident.StepRequest) (int64, error) {
	n := req.Chosen
	switch {
	case n == 0:
		return asked, nil
	case now < n && n <= asked, asked <= n && n < now:
		return n, nil
	}
	return 0, Refused("%d isn't a smaller change than %d to %d", n, now, asked)
}

// Int is a whole number as a value.
func Int(n int64) incident.Value { return incident.Set(strconv.FormatInt(n, 10)) }

// Whole reads a value as a whole number.
func Whole(v incident.Value) (int64, error) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if !v.Present || err != nil {
		return 0, Refused("%q is not a whole number", v)
	}
	return n, nil
}
