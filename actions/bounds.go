package actions

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// biggest is the largest value that is worked with: every whole number up to it is exact as a float64.
const biggest = 1 << 53

// limits bound one step. why names who sets the limit on that side when it is not the pool's configuration.
type limits struct {
	min, max       int64
	minWhy, maxWhy string
	// step is the largest change; 0: none of its own.
	step int64
}

// lower tightens the upper limit, naming the reason.
func (l limits) lower(most int64, why string) limits {
	if most < l.max {
		l.max, l.maxWhy = most, why
	}
	return l
}

// raise tightens the lower limit, naming the reason.
func (l limits) raise(least int64, why string) limits {
	if least > l.min {
		l.min, l.minWhy = least, why
	}
	return l
}

// turn works out where a step ends that wants to go from one value to another. It may make the step smaller, never bigger, and never turn it round;
// what cannot be done within the limits that way is refused.
func (l limits) turn(from, asked int64) (int64, incident.Guardrail, error) {
	if asked == from {
		return 0, incident.Guardrail{}, fornow("the change is too small: %d stays %d", from, from)
	}
	up := asked > from
	to := asked
	if l.step > 0 {
		to = min(max(to, from-l.step), from+l.step)
	}
	if up {
		to = min(to, l.max)
	} else {
		to = max(to, l.min)
	}
	switch {
	case up && to <= from:
		return 0, incident.Guardrail{}, fornow("it is at its limit already: %d, and %s", from, l.most())
	case !up && to >= from:
		return 0, incident.Guardrail{}, fornow("it is at its limit already: %d, and %s", from, l.least())
	case to < l.min:
		return 0, incident.Guardrail{}, refused("%d would still be outside of the bounds: %s; a person has to decide", to, l.least())
	case to > l.max:
		return 0, incident.Guardrail{}, refused("%d would still be outside of the bounds: %s; a person has to decide", to, l.most())
	case to != asked:
		return to, incident.Guardrail{Name: "bounds", Verdict: incident.GuardShrink, Reason: fmt.Sprintf("%d instead of %d: %s", to, asked, l.whyNot(asked, to))}, nil
	}
	return to, pass("bounds", "%d is within %d to %d", to, l.min, l.max), nil
}

// within refuses a value outside of the limits.
func (l limits) within(n int64) error {
	switch {
	case n < l.min:
		return refused("%d is outside of the bounds: %s", n, l.least())
	case n > l.max:
		return refused("%d is outside of the bounds: %s", n, l.most())
	}
	return nil
}

func (l limits) whyNot(asked, to int64) string {
	switch {
	case asked > to && to == l.max:
		return l.most()
	case asked < to && to == l.min:
		return l.least()
	}
	return fmt.Sprintf("one step changes it by %d at most", l.step)
}

func (l limits) most() string {
	s := fmt.Sprintf("%d is the most", l.max)
	if l.maxWhy != "" {
		s += ", " + l.maxWhy
	}
	return s
}

func (l limits) least() string {
	s := fmt.Sprintf("%d is the least", l.min)
	if l.minWhy != "" {
		s += ", " + l.minWhy
	}
	return s
}

// fornow is a refusal about the present value: another one could be changed.
func fornow(format string, args ...any) *incident.RefusedError {
	no := refused(format, args...)
	no.Cause = incident.CauseNow
	return no
}

// times multiplies a value by the factor of a request, rounded to a whole number.
func times(now int64, req incident.StepRequest) (int64, error) {
	f := math.Round(float64(now) * req.Factor)
	switch {
	case req.Add != 0 || !(req.Factor > 0):
		return 0, refused("a %s step asks for a factor above 0, and nothing else", req.Kind)
	case !(f >= 1 && f <= biggest):
		return 0, refused("%v times %d is no usable value", req.Factor, now)
	}
	return int64(f), nil
}

func intValue(n int64) incident.Value { return incident.Set(strconv.FormatInt(n, 10)) }

// whole reads a value as a whole number.
func whole(v incident.Value) (int64, error) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if !v.Present || err != nil {
		return 0, refused("%q is not a whole number", v)
	}
	return n, nil
}
