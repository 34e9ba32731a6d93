package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// errPartial marks an answer that lacks a part of the data.
var errPartial = errors.New("the answer is partial")

// statusError is an answer with an HTTP status other than 2xx.
type statusError struct {
	code int
	// kind and msg are Prometheus' errorType and error; empty when the body was not Prometheus' own.
	kind, msg string
	// location is where a redirect led, without parameters.
	location string
	after    time.Duration
	settings Settings
}

// Error names the status, what Prometheus said about it, and the next step where there is one.
func (e *statusError) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("Prometheus answered %d %s", e.code, http.StatusText(e.code)))
	switch {
	case e.location != "":
		return status + " and leads to " + e.location + ": set " + e.settings.URL + " to the address that answers itself"
	case e.code == http.StatusUnauthorized, e.code == http.StatusForbidden:
		return status + ": check the credentials in " + e.settings.Credentials
	case e.code == http.StatusNotFound && e.kind == "":
		return status + ": check the path in " + e.settings.URL
	case e.kind != "":
		return status + ": " + e.kind + ": " + e.msg
	}
	return status
}

// newStatusError takes text from the body only when the body is Prometheus' error JSON. Any other body (a login page, a
// proxy that repeats the request's headers) could hold anything.
func newStatusError(resp *http.Response, body []byte, settings Settings) *statusError {
	e := &statusError{code: resp.StatusCode, after: retryAfter(resp), settings: settings}
	if resp.StatusCode/100 == 3 {
		if u, err := resp.Location(); err == nil {
			e.location = safeURL(u.String())
		}
		return e
	}
	var env envelope
	if json.Unmarshal(body, &env) == nil && env.Status == "error" {
		e.kind, e.msg = redact.Line(env.ErrorType), redact.Line(env.Error)
	}
	return e
}

// transportError is a failure to exchange a request with Prometheus. Its cause is kept; its text has no address with
// parameters.
type transportError struct{ err error }

// Unreached is why Prometheus was not reached at all, in a line; ok is false for any other error. Whoever knows the
// address says it once: what was asked for does not matter then.
func Unreached(err error) (why string, ok bool) {
	e, ok := errors.AsType[*transportError](err)
	if !ok {
		return "", false
	}
	return e.cause(), true
}

func (e *transportError) cause() string { return redact.Line(e.err.Error()) }

// Error is the cause's text.
func (e *transportError) Error() string {
	return "can't reach Prometheus: " + e.cause()
}

// Unwrap returns the cause.
func (e *transportError) Unwrap() error { return e.err }

// networkError prefers the reason why ctx ended and drops url.Error, whose text is the whole address.
func networkError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if tooLarge, ok := errors.AsType[*answer.TooLargeError](err); ok {
		return tooLarge
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return &transportError{err: err}
}

// transient says that the same query may well succeed in a moment. Everything that is not named here is final.
func transient(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		if status.kind == string(v1.ErrTimeout) {
			return false // a query that is too slow would only be slow again
		}
		return status.code == http.StatusTooManyRequests || status.code >= 500 && status.code != http.StatusNotImplemented
	}
	if _, ok := errors.AsType[*transportError](err); !ok {
		return false
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return false // a TLS alert: the other side does not accept us
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// explain turns client_golang's own error into words; other errors are already ours.
func explain(err error) error {
	if api, ok := errors.AsType[*v1.Error](err); ok {
		return fmt.Errorf("the answer of Prometheus cannot be used: %s: %s", api.Type, redact.Line(api.Msg))
	}
	return err
}
