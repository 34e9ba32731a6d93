package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// Limit is the most that is read of one answer, in bytes. It is our starting value: the pods of a workload of 250, the
// most that are looked at, are a quarter of it to a half.
const Limit int64 = 8 << 20

// A small answer is read at once. Of those that are larger only a few are read at one time, whoever asked: an incident
// reads several lists side by side, and several incidents do.
const (
	small      = 1 << 20
	largeSlots = 4
)

var large = make(chan struct{}, largeSlots)

// TooLargeError is an answer beyond its limit.
type TooLargeError struct {
	// Limit is in bytes.
	Limit int64
	// Next is what to do about it.
	Next string
}

// Error names the limit and the next step.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer is larger than %d bytes, the most that is read: %s", e.Limit, e.Next)
}

// Read reads an answer of at most limit bytes and closes it. next is what to do about a larger one.
func Read(resp *http.Response, limit int64, next string) (body []byte, err error) {
	b := bounded(resp, limit, next)
	defer func() { err = errors.Join(err, b.Close()) }()
	if body, err = io.ReadAll(b); err != nil {
		return nil, err
	}
	return body, nil
}

// OfKubernetes returns a transport to Kubernetes whose answers have at most Limit bytes, and of whose larger ones only
// a few are read at one time. It is safe for concurrent use if the other transport is.
func OfKubernetes(through http.RoundTripper) http.RoundTripper {
	return transport{through: through, limit: Limit, next: "make the objects there smaller or fewer"}
}

type transport struct {
	through http.RoundTripper
	limit   int64
	next    string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.through.RoundTrip(req)
	if err != nil || resp.Body == nil {
		return resp, err
	}
	b := bounded(resp, t.limit, t.next)
	ctx := req.Context()
	b.slots, b.gone = large, ctx.Done()
	b.why = func() error { return context.Cause(ctx) }
	if all, ok := req.Context().Value(togetherKey{}).(*atomic.Int64); ok {
		b.left = all
	}
	resp.Body = b
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below, to close its idle connections.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.through }

type togetherKey struct{}

// Pages asks for one page after the other, from the start that an empty text means, until none comes next. All of them
// together are bounded as one answer where they come through OfKubernetes.
func Pages(ctx context.Context, page func(ctx context.Context, from string) (next string, err error)) error {
	ctx = context.WithValue(ctx, togetherKey{}, leftOf(Limit))
	for from := ""; ; {
		next, err := page(ctx, from)
		if err != nil || next == "" {
			return err
		}
		from = next
	}
}

func leftOf(limit int64) *atomic.Int64 {
	left := new(atomic.Int64)
	left.Store(limit)
	return left
}

// boundedBody is the body of an answer that ends with an error at its bound.
type boundedBody struct {
	io.ReadCloser

	tooLarge *TooLargeError
	// left is what may still be read, by this answer or by all of its pages.
	left *atomic.Int64
	read int64
	// slots are those for large answers; nil where their number does not matter. gone ends the wait for one, for the
	// reason why.
	slots       chan struct{}
	gone        <-chan struct{}
	why         func() error
	has, closed atomic.Bool
}

func bounded(resp *http.Response, limit int64, next string) *boundedBody {
	b := &boundedBody{ReadCloser: resp.Body, tooLarge: &TooLargeError{Limit: limit, Next: next}, left: leftOf(limit)}
	if resp.ContentLength > limit {
		b.left.Store(-1)
	}
	return b
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left.Load() < 0 {
		return 0, b.tooLarge
	}
	if b.read >= small && b.slots != nil && !b.has.Load() {
		if err := b.enter(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.left.Add(-int64(n)) < 0 {
		return 0, b.tooLarge
	}
	return n, err
}

// enter waits for a slot, as long as the request lasts.
func (b *boundedBody) enter() error {
	select {
	case b.slots <- struct{}{}:
	case <-b.gone:
		return b.why()
	}
	b.has.Store(true)
	if b.closed.Load() {
		b.leave()
	}
	return nil
}

func (b *boundedBody) leave() {
	if b.has.CompareAndSwap(true, false) {
		<-b.slots
	}
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	b.closed.Store(true)
	b.leave()
	return b.ReadCloser.Close()
}
