package incident

import "errors"

// ErrNoWorkload says that a search was made and that no workload is there. Asking again gives the same until something
// changes.
var ErrNoWorkload = errors.New("no workload")

// ErrUnanswered says that a question got no answer: the API server or Prometheus could not be reached, took too long,
// was overloaded, or does not accept the bot at all. The next question would most likely end the same way. Any other
// error, a missing permission included, is an answer about the one object that was asked for.
var ErrUnanswered = errors.New("nobody answered")

// UnansweredError is ErrUnanswered in the words of the error that was the reason.
type UnansweredError struct{ Err error }

// Error is the text of the reason.
func (e *UnansweredError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnansweredError) Unwrap() error { return e.Err }

// Is makes it ErrUnanswered.
func (e *UnansweredError) Is(target error) bool { return target == ErrUnanswered }
