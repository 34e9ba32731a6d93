package live

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Pass is a guardrail that has nothing against a step.
func Pass(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardPass, Reason: fmt.Sprintf(format, args...)}
}

// Caution lets a step run, but an approver should know the reason first.
func Caution(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardCaution, Reason: fmt.Sprintf(format, args...)}
}

// Refuse is a guardrail that refuses a step.
func Refuse(name, format string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Reason: fmt.Sprintf(format, args...)}
}

// Refused says why there is no step.
func Refused(format string, args ...any) *incident.RefusedError {
	return &incident.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// NotNow is a refusal about the present value: another one could be changed.
func NotNow(format string, args ...any) *incident.RefusedError {
	no := Refused(format, args...)
	no.Cause = incident.CauseNow
	return no
}

// NotConfigured refuses a step of a knob that the pool does not name.
func NotConfigured(pool incident.Pool, kind incident.StepKind) *incident.RefusedError {
	return &incident.RefusedError{
		Reason: fmt.Sprintf("the knob %s of pool %s is not configured", kind, pool.Name),
		Hint:   fmt.Sprintf("Allow it with its bounds: pools[].knobs.%s of pool %s.", kind, pool.Name),
	}
}

// RolloutFailed is a rollout that will not end.
func RolloutFailed(format string, args ...any) incident.Rollout {
	return incident.Rollout{State: incident.RolloutFailed, Note: fmt.Sprintf(format, args...)}
}

// RolloutRunning is a rollout that has not ended yet.
func RolloutRunning(format string, args ...any) incident.Rollout {
	return incident.Rollout{State: incident.RolloutRunning, Note: fmt.Sprintf(format, args...)}
}

// RolloutDone is a rollout that has ended well.
func RolloutDone(format string, args ...any) incident.Rollout {
	return incident.Rollout{State: incident.RolloutDone, Note: fmt.Sprintf(format, args...)}
}
