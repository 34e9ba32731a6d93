package evidence

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
)

// ErrUnanswered says that nobody answered: the API server or Prometheus could not be reached, took too long, was overloaded, or does not accept the
// bot at all. The next question would most likely end the same way. Any other error, a missing permission included, is an answer about the one
// object that was asked for.
var ErrUnanswered = errors.New("nobody answered")

// unansweredError is an error that is ErrUnanswered, in its own words.
type unansweredError struct{ err error }

// Error is the text of the error itself.
func (e *unansweredError) Error() string { return e.err.Error() }

// Unwrap returns the error itself.
func (e *unansweredError) Unwrap() error { return e.err }

// Is makes it ErrUnanswered.
func (e *unansweredError) Is(target error) bool { return target == ErrUnanswered }

// kubeSilent says whether an error of client-go means that no answer about the object came. What the API server says about one object (forbidden, not
// found, not valid) is an answer, and so is a name that is refused before anything is sent.
func kubeSilent(err error) bool {
	if timeOver(err) || apierrors.IsUnauthorized(err) {
		return true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code == http.StatusTooManyRequests || status.Status().Code >= http.StatusInternalServerError
	}
	var transport *url.Error
	return errors.As(err, &transport)
}

// promSilent says whether a failed query means that Prometheus gave no answer. A query that is refused, by Prometheus or by a proxy before it, is
// answered: the next one has other labels in it.
func promSilent(err error) bool {
	var (
		status    *statusError
		transport *transportError
		slow      *slowError
		deadline  *deadlineError
	)
	if errors.As(err, &status) {
		return transient(status) || status.kind == string(v1.ErrTimeout) || status.code == http.StatusUnauthorized
	}
	return timeOver(err) || errors.As(err, &transport) || errors.As(err, &slow) || errors.As(err, &deadline)
}

// timeOver says whether the time for the question was over.
func timeOver(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, ErrUnanswered)
}

// marked is the error, as ErrUnanswered when it is silent.
func marked(err error, silent func(error) bool) error {
	if err == nil || !silent(err) {
		return err
	}
	return &unansweredError{err}
}

// limiter marks the errors of client-go's own rate limit: it refuses to wait longer than the context lasts, in words only.
type limiter struct{ flowcontrol.RateLimiter }

// Wait implements flowcontrol.RateLimiter.
func (l limiter) Wait(ctx context.Context) error {
	return marked(l.RateLimiter.Wait(ctx), func(error) bool { return true })
}
