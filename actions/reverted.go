package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Mark reads the field just before a write, so that a later read can tell whether the write took effect. What keeps
// the field from being written is for the write to say; an error means that the cluster could not be asked.
func (a *adjuster) Mark(ctx context.Context, pool incident.Pool, step incident.Step) (incident.Mark, error) {
	s, err := a.find(ctx, step.Kind, pool, step.Target)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no):
		return incident.Mark{}, nil
	case err != nil:
		return incident.Mark{}, fmt.Errorf("look at %s before its write: %w", step.Target, err)
	}
	return s.Live().Mark(), nil
}

// Reversal says who has changed the field after a step, or its undo, had set it; nil while it holds that value. A field
// that cannot be read is not a changed one: that is an error. It reads once and writes nothing.
func (a *adjuster) Reversal(
	ctx context.Context, pool incident.Pool, step incident.Step, op incident.Op,
) (*incident.Reversal, error) {
	s, err := a.find(ctx, step.Kind, pool, step.Target)
	if errors.Is(err, kube.ErrGone) {
		return gone("the object was deleted"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", step.Target, err)
	}
	now := s.Live()
	_, to := ends(step, op)
	switch {
	case now.Target.UID != step.Target.UID:
		return gone("the object was deleted and made again"), nil
	case now.Holds(to):
		return nil, nil
	case now.Unread:
		return nil, fmt.Errorf("look at %s: %w", step.Target, now.Broken)
	}
	return now.Reversal(), nil
}

func gone(what string) *incident.Reversal { return &incident.Reversal{Gone: what} }
