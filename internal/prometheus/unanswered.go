package prometheus

import (
	"context"
	"errors"
	"net/http"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Unanswered marks an error of a Client as incident.ErrUnanswered when Prometheus gave no answer, and returns any other
// as it is. A query that is refused, by Prometheus or by a proxy in front of it, is answered: the next one has other
// labels in it.
func Unanswered(err error) error {
	if err == nil || !silent(err) {
		return err
	}
	return &incident.UnansweredError{Err: err}
}

func silent(err error) bool {
	var (
		status    *statusError
		transport *transportError
		slow      *slowError
	)
	if errors.As(err, &status) {
		return transient(status) || status.kind == string(v1.ErrTimeout) || status.code == http.StatusUnauthorized
	}
	over := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	return over || errors.Is(err, incident.ErrUnanswered) || errors.As(err, &transport) || errors.As(err, &slow)
}
