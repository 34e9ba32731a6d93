// Package hook posts JSON to an address that is itself a secret, as those of incoming webhooks are, and sorts the
// answers for a dispatcher.
package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/notify"
)

const (
	// timeout bounds one post.
	timeout = 15 * time.Second
	// longestWait bounds what a receiver can ask for with Retry-After.
	longestWait = 10 * time.Minute
	// drained bounds what is read of an answer, so that its connection can be used again.
	drained = 64 << 10
)

// Hook is one address. It is safe for concurrent use.
type Hook struct {
	address func() string
	client  *http.Client

	mu sync.Mutex
	// notBefore is when the receiver wants to be asked again.
	notBefore time.Time
}

// New returns a Hook for a URL, which is asked for with each post because it may be replaced. transport is
// http.DefaultTransport when nil. Redirects are not followed: what is posted is meant for this receiver only. The URL
// never stands in an error.
func New(address func() string, transport http.RoundTripper) (*Hook, error) {
	if u, err := url.Parse(address()); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("the address is not a URL that begins with https:// or http://")
	}
	return &Hook{address: address, client: &http.Client{
		Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Post sends a body once. A nil error says that the receiver took it. *notify.RateLimitedError and
// *notify.PermanentError are what they say; any other error may pass by itself, and the receiver may have the body: who
// posts again gives it the same id. A receiver that asks for time gets nothing until it is over.
func (h *Hook) Post(ctx context.Context, header http.Header, body []byte) error {
	if left := h.left(); left > 0 {
		return &notify.RateLimitedError{After: left}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address(), bytes.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	req.Header = header.Clone()
	resp, err := h.client.Do(req)
	if err != nil {
		return fmt.Errorf("the receiver does not answer: %w", without(err))
	}
	defer resp.Body.Close()                                        //nolint:errcheck // only its status counts
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, drained)) // an answer that is cut off has its status all the same
	err = answer(resp.StatusCode, resp.Header.Get("Retry-After"), time.Now())
	if limited, ok := errors.AsType[*notify.RateLimitedError](err); ok {
		h.hold(limited.After)
	}
	return err
}

// left is how long the receiver is still to be left alone.
func (h *Hook) left() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.notBefore)
}

func (h *Hook) hold(wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notBefore = time.Now().Add(wait)
}

// without is the error without the request's method and address.
func without(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func answer(status int, retryAfter string, now time.Time) error {
	said := fmt.Errorf("the receiver answers %d %s", status, http.StatusText(status))
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && retryAfter != "":
		return &notify.RateLimitedError{After: wait(retryAfter, now)}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return said
	case refusesContent(status):
		return &notify.PermanentError{Err: said, Content: true, Next: "Check what the receiver logs."}
	case status >= 300 && status < 400:
		return &notify.PermanentError{Err: said, Next: "Give the address that it redirects to."}
	default:
		return &notify.PermanentError{
			Err: said, Next: "Check the address and the secret in the configuration, and what the receiver logs.",
		}
	}
}

// refusesContent says that an answer is about what was posted. All others of its class are about the address, the
// secret or the receiver.
func refusesContent(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// wait reads Retry-After: seconds, or a date.
func wait(raw string, now time.Time) time.Duration {
	after := 30 * time.Second
	if s, err := strconv.Atoi(raw); err == nil {
		after = time.Duration(min(s, int(longestWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(raw); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, time.Second), longestWait)
}
