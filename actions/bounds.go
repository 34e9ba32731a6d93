package actions

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// wanted works out where a request leads from a value: multiplied and rounded towards the present value's side of zero, or added.
func wanted(now int64, req incident.StepRequest) (int64, error) {
	switch {
	case req.Factor > 0 && req.Add == 0:
		return int64(math.Round(float64(now) * req.Factor)), nil
	case req.Add != 0 && req.Factor == 0:
		return now + req.Add, nil
	default:
		return 0, &incident.RefusedError{Reason: "the playbook must ask for a factor above 0 or for a number to add, not for both"}
	}
}

// bounded holds a wanted value within the knob's bounds and step size, and says what it did. A value that cannot move is refused.
func bounded(now, to int64, knob incident.IntKnob) (incident.Value, []incident.Guardrail, error) {
	asked := to
	if knob.MaxStep > 0 {
		to = min(max(to, now-knob.MaxStep), now+knob.MaxStep)
	}
	to = min(max(to, knob.Min), knob.Max)
	moved, meant := to-now, asked-now
	switch {
	case meant == 0:
		return incident.Value{}, nil, &incident.RefusedError{Reason: fmt.Sprintf("the change is too small: %d stays %d", now, now)}
	case moved == 0 || (moved > 0) != (meant > 0):
		return incident.Value{}, nil, &incident.RefusedError{
			Reason: fmt.Sprintf("it is %d already, and the bounds are %d to %d", now, knob.Min, knob.Max),
		}
	case to != asked:
		return value(to), []incident.Guardrail{{
			Name: "bounds", Verdict: incident.GuardShrink, Reason: fmt.Sprintf("%d was asked for; the bounds %d to %d%s make it %d", asked, knob.Min, knob.Max, stepText(knob), to),
		}}, nil
	}
	return value(to), []incident.Guardrail{{Name: "bounds", Verdict: incident.GuardPass, Reason: fmt.Sprintf("%d is within %d to %d", to, knob.Min, knob.Max)}}, nil
}

func stepText(k incident.IntKnob) string {
	if k.MaxStep == 0 {
		return ""
	}
	return fmt.Sprintf(" and the largest step %d", k.MaxStep)
}

func value(n int64) incident.Value { return incident.Set(strconv.FormatInt(n, 10)) }

// number reads a value that was read from an object.
func number(v incident.Value) (int64, error) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	if !v.Present || err != nil {
		return 0, &incident.RefusedError{Reason: fmt.Sprintf("the present value %q is not a whole number", v)}
	}
	return n, nil
}

// notConfigured refuses a knob that the pool does not name.
func notConfigured(pool incident.Pool, name string) error {
	return &incident.RefusedError{Reason: fmt.Sprintf("pool %s does not allow it: knobs.%s is not configured", pool.Name, name)}
}
