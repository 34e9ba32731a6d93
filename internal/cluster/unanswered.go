package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// kubeSilent says whether an error of client-go means that no answer about the object came. What the API server says
// about one object (forbidden, not found, not valid) is an answer, and so is a name that is refused before anything is
// sent.
func kubeSilent(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, incident.ErrUnanswered) ||
		apierrors.IsUnauthorized(err) {
		return true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code == http.StatusTooManyRequests || status.Status().Code >= http.StatusInternalServerError
	}
	var transport *url.Error
	return errors.As(err, &transport)
}

// limiter marks the errors of client-go's own rate limit: it refuses to wait longer than the context lasts, in words
// only.
type limiter struct{ flowcontrol.RateLimiter }

// Wait implements flowcontrol.RateLimiter.
func (l limiter) Wait(ctx context.Context) error {
	if err := l.RateLimiter.Wait(ctx); err != nil {
		return &incident.UnansweredError{Err: err}
	}
	return nil
}
