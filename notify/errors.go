package notify

import (
	"fmt"
	"time"
)

// AmbiguousError says that a post may or may not have happened: the answer was lost on the way.
type AmbiguousError struct{ Err error }

// Error says that the outcome is not known, and why.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("it is not known whether it was posted: %v", e.Err)
}

// Unwrap returns the cause.
func (e *AmbiguousError) Unwrap() error { return e.Err }

// RateLimitedError says that nothing was sent and when it may be tried again.
type RateLimitedError struct{ After time.Duration }

// Error names the wait.
func (e *RateLimitedError) Error() string { return fmt.Sprintf("rate limited for %s", e.After) }

// PermanentError says that nothing was sent and that trying again will not help until a person acts.
type PermanentError struct {
	Err error
	// Next is the next step for the operator, one sentence.
	Next string
	// Content says that it was refused for what it says: what comes after it may be taken. What becomes of it then is
	// added to Next.
	Content bool
}

// Error is the cause, without the next step.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// GoneError says that the message, or the thread's first message, is no longer there: somebody deleted it.
type GoneError struct{ Err error }

// Error is the cause.
func (e *GoneError) Error() string { return fmt.Sprintf("the message is gone: %v", e.Err) }

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// laterError ends the work on a message for now, without a failure: an earlier answer is still open.
type laterError struct {
	after  time.Duration
	reason string
}

func (e *laterError) Error() string { return e.reason }

// saveError is a failure of the store, told apart from failures of the notifier.
type saveError struct{ err error }

func (e *saveError) Error() string { return e.err.Error() }

func (e *saveError) Unwrap() error { return e.err }
