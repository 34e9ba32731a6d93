package promembed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
)

// statusClientGone is what Prometheus answers a client that has left; it is nginx' number.
const statusClientGone = 499

// maxNotes is how many warnings, and how many infos, Prometheus puts into one answer.
const maxNotes = 10

// envelope is the outer part of every answer (web/api/v1/api.go of Prometheus, Response).
type envelope struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Infos     []string `json:"infos,omitempty"`
}

// badDataError is an error that the client made.
type badDataError struct{ err error }

// Error is the error's text.
func (e *badDataError) Error() string { return e.err.Error() }

// Unwrap is the error.
func (e *badDataError) Unwrap() error { return e.err }

func badData(err error) error { return &badDataError{err: err} }

func badParam(name string, err error) error {
	return badData(fmt.Errorf("invalid parameter %q: %w", name, err))
}

// answering writes what f returns as Prometheus would.
func answering(f func(*http.Request) (any, annotations.Annotations, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, notes, err := f(r)
		status, e := http.StatusOK, envelope{Status: "success", Data: data}
		if err != nil {
			status, e.ErrorType = kindOf(err)
			e.Status, e.Error, e.Data = "error", err.Error(), nil
		} else {
			e.Warnings, e.Infos = notes.AsStrings(r.FormValue("query"), maxNotes, maxNotes)
		}
		body, err := json.Marshal(e)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		// A client that has left cannot be told.
		_, _ = w.Write(body)
	}
}

// kindOf sorts errors as Prometheus does (returnAPIError and getDefaultErrorCode of web/api/v1).
func kindOf(err error) (status int, kind string) {
	if _, ok := errors.AsType[*badDataError](err); ok {
		return http.StatusBadRequest, "bad_data"
	}
	if _, ok := errors.AsType[promql.ErrQueryTimeout](err); ok {
		return http.StatusServiceUnavailable, "timeout"
	}
	if _, ok := errors.AsType[promql.ErrQueryCanceled](err); ok || errors.Is(err, context.Canceled) {
		return statusClientGone, "canceled"
	}
	if errors.Is(err, errClosed) {
		return http.StatusServiceUnavailable, "unavailable"
	}
	if _, ok := errors.AsType[promql.ErrStorage](err); ok {
		return http.StatusInternalServerError, "internal"
	}
	return http.StatusUnprocessableEntity, "execution"
}
