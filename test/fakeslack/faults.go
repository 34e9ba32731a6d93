package fakeslack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Fault is something that goes wrong with a call. The zero value of each field
// means "not this". Without DropAfter or Performed the method is not carried out.
type Fault struct {
	// HTTPStatus answers with this status and an HTML page, as Slack's edge does;
	// 429 answers with JSON and, if RetryAfter is set, its header.
	HTTPStatus int
	// Error answers 200 with ok:false and this error code.
	Error string
	// Needed goes with Error "missing_scope".
	Needed string
	// RetryAfter is sent rounded up to whole seconds.
	RetryAfter time.Duration
	// Body answers 200 with exactly this, whatever it is.
	Body string
	// DropBefore cuts the connection and does nothing.
	DropBefore bool
	// DropAfter carries the method out and cuts the connection: the caller cannot know whether it happened.
	DropAfter bool
	// Performed carries the method out although the answer is the fault's.
	Performed bool
	// DelayAnswer waits after the call was done. With no other field the call then succeeds.
	DelayAnswer time.Duration
	// Skip lets this many calls of the method pass first.
	Skip int
}

type fault struct {
	Fault
	method string
	left   int
	skip   int
}

// String names what the fault does, for Unused and Call.Fault.
func (f Fault) String() string {
	var parts []string
	add := func(on bool, text string) {
		if on {
			parts = append(parts, text)
		}
	}
	add(f.DropBefore, "drop-before")
	add(f.DropAfter, "drop-after")
	add(f.HTTPStatus != 0, fmt.Sprintf("http-%d", f.HTTPStatus))
	add(f.Error != "", f.Error)
	add(f.Body != "", "body")
	add(f.Performed, "performed")
	add(f.DelayAnswer > 0, "delay-answer")
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "+")
}

// Fail makes the next n calls to method go wrong. Faults are used in the order in
// which they were given. It may be called at any time.
func (s *Server) Fail(method string, n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, method: method, left: n, skip: f.Skip})
}

// Outage makes every call of the Web API fail with an HTTP status, until Outage(0). Clicks are still sent.
func (s *Server) Outage(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = status
}

// RefuseBlocks makes this a workspace that does not have these types of blocks yet: a message with one is
// invalid_blocks, which is then not unexpected. It replaces what an earlier call named.
func (s *Server) RefuseBlocks(kinds ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknownBlocks = kinds
}

// takeFault returns the fault for this call, if there is one. The caller holds the lock.
func (s *Server) takeFault(method string) (Fault, bool) {
	if s.outage != 0 {
		return Fault{HTTPStatus: s.outage}, true
	}
	for _, f := range s.faults {
		switch {
		case f.left == 0 || f.method != method:
		case f.skip > 0:
			f.skip--
		default:
			f.left--
			return f.Fault, true
		}
	}
	return Fault{}, false
}

// performs reports whether the method is carried out under this fault.
func (f Fault) performs() bool {
	return f.DropAfter || f.Performed || f.onlyDelays()
}

func (f Fault) onlyDelays() bool {
	return f.HTTPStatus == 0 && f.Error == "" && f.Body == "" && !f.DropBefore && !f.DropAfter
}

// reply returns what the fault answers in place of the method.
func (f Fault) reply() reply {
	switch {
	case f.DropBefore, f.DropAfter:
		return reply{drop: true}
	case f.Body != "":
		return reply{status: http.StatusOK, body: []byte(f.Body)}
	case f.HTTPStatus == http.StatusTooManyRequests:
		rep := jsonReply(f.HTTPStatus, refuse("ratelimited").body())
		rep.retryAfter = f.RetryAfter
		return rep
	case f.HTTPStatus != 0:
		text := fmt.Sprintf("<!DOCTYPE html><title>%d</title><h1>%s</h1>", f.HTTPStatus, http.StatusText(f.HTTPStatus))
		return reply{status: f.HTTPStatus, body: []byte(text), html: true, retryAfter: f.RetryAfter}
	default:
		e := refuse(f.Error)
		e.needed = f.Needed
		return jsonReply(http.StatusOK, e.body())
	}
}

// pause waits d and reports whether the caller is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
