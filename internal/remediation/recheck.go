package remediation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// dropped says why the runbook asks for no step of this kind any more, judged by a fresh look, or "".
func dropped(inc incident.Incident, s incident.Step, l Look) string {
	switch {
	case l.Result.Healthy == incident.True:
		return "the signals are healthy again"
	case slices.ContainsFunc(l.Result.Steps, func(r incident.StepRequest) bool { return r.Kind == s.Kind }):
		return ""
	case !sameCause(inc, l):
		return "the diagnosis no longer holds: " + nowSays(l)
	case len(l.Result.Steps) == 0:
		return "the runbook no longer asks for this step"
	}
	titles := make([]string, len(l.Result.Steps))
	for n, r := range l.Result.Steps {
		titles[n] = requestTitle(r)
	}
	return "the runbook no longer asks for this step. It now asks for: " + strings.Join(titles, "; ")
}

// replaced says why the runbook asks for another step than this one by now, or "": an approval binds to the same value on the same field of the same object, with
// the same way back. It holds for another cause that asks for the same change: under load two neighbouring causes take turns (a cache at 95 % and the
// queue before it). An error means that the live values could not be read from which a step is worked out.
func (e *Engine) replaced(ctx context.Context, t *turn, exec Executor, s incident.Step, l Look) (string, error) {
	var instead, cannot []string
	var unread error
	for _, req := range l.Result.Steps {
		if req.Kind != s.Kind {
			continue
		}
		now, err := exec.Propose(ctx, t.pool, req)
		var refused *incident.RefusedError
		switch {
		case err == nil && now.ComputeDigest() == s.Digest:
			return "", nil
		case err == nil:
			instead = append(instead, now.Title)
		case errors.As(err, &refused):
			cannot = append(cannot, refused.Reason)
		default:
			unread = err
		}
	}
	switch {
	case unread != nil:
		return "", fmt.Errorf("work the step out again: %w", unread)
	case !sameCause(t.inc, l):
		return "the diagnosis no longer holds: " + nowSays(l), nil
	case len(instead) == 0:
		return "this step can't be proposed any more: " + strings.Join(cannot, "; "), nil
	default:
		return "the runbook now asks for another change: " + strings.Join(instead, "; "), nil
	}
}

// sameCause says whether a look shows the diagnosis on which the incident's plan stands.
func sameCause(inc incident.Incident, l Look) bool {
	return inc.Diagnosis != nil && l.Result.Diagnosis != nil && l.Result.Diagnosis.Name == inc.Diagnosis.Name
}

// partial says whether a look could not read all that it asked for, so that what it does not show may be there.
func partial(l Look) bool {
	if l.Result.Diagnosis == nil && l.Result.Healthy == incident.Undecided || l.Evidence.Cluster.Error != "" && !l.Evidence.Cluster.NotConfigured {
		return true
	}
	for _, r := range l.Evidence.Readings {
		if r.Error != "" {
			return true
		}
	}
	return false
}

func nowSays(l Look) string {
	switch {
	case l.Result.Diagnosis != nil:
		return "now it is " + l.Result.Diagnosis.Summary
	case l.Result.Note != "":
		return l.Result.Note
	default:
		return "the signals do not tell"
	}
}
