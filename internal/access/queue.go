package access

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// ErrBusy says that nobody has looked at the credentials: too many are being checked. Try again in a few seconds.
var ErrBusy = errors.New("too many credentials are being checked right now; try again in a few seconds")

// queue gives a bounded number of places to those who wait for one, each sender in its turn. Whoever waits longer than
// they want gets ErrBusy. Use newQueue.
type queue struct {
	// places is how many there are, ofOne how many of them one sender has at the same time, most how many may wait.
	places, ofOne, most int

	mu             sync.Mutex
	taken, waiting int
	of             map[string]*sender
	// turns are the senders of which somebody waits, the next one first.
	turns []*sender
}

// sender is who has places or waits for one.
type sender struct {
	key     string
	taken   int
	waiting []*ticket // the oldest first
}

// ticket is one who waits. answer gets nil for a place, or ErrBusy.
type ticket struct{ answer chan error }

func newQueue(places, ofOne, most int) *queue {
	return &queue{places: places, ofOne: ofOne, most: most, of: map[string]*sender{}}
}

// enter takes a place for a sender, and waits for it no longer than that. leave gives it back and is called once.
func (q *queue) enter(ctx context.Context, key string, wait time.Duration) (leave func(), err error) {
	s, t := q.line(key)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err = <-t.answer:
	case <-ctx.Done():
		err = q.withdraw(s, t, context.Cause(ctx))
	case <-timer.C:
		err = q.withdraw(s, t, ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	return func() { q.leave(s) }, nil
}

// line puts one more into the queue of their sender.
func (q *queue) line(key string) (*sender, *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, ok := q.of[key]
	if !ok {
		s = &sender{key: key}
		q.of[key] = s
	}
	t := &ticket{answer: make(chan error, 1)}
	if len(s.waiting) == 0 {
		q.turns = append(q.turns, s)
	}
	s.waiting = append(s.waiting, t)
	q.waiting++
	q.admit()
	if q.waiting > q.most {
		q.drop()
	}
	return s, t
}

// admit gives the free places to whose turn it is.
func (q *queue) admit() {
	for q.taken < q.places {
		n := slices.IndexFunc(q.turns, func(s *sender) bool { return s.taken < q.ofOne })
		if n < 0 {
			return
		}
		s := q.turns[n]
		t := s.waiting[0]
		s.taken++
		q.taken++
		q.remove(s, 0)
		if len(s.waiting) > 0 { // behind the others
			q.turns = append(slices.Delete(q.turns, n, n+1), s)
		}
		t.answer <- nil
	}
}

// drop turns away one of the sender that has most waiting: any, so that whoever came last has the chance of the others.
func (q *queue) drop() {
	s := slices.MaxFunc(q.turns, func(a, b *sender) int { return len(a.waiting) - len(b.waiting) })
	n := rand.IntN(len(s.waiting)) //nolint:gosec // nothing is to be guessed
	t := s.waiting[n]
	q.remove(s, n)
	t.answer <- ErrBusy
}

// remove takes one who waits out of the queue.
func (q *queue) remove(s *sender, n int) {
	s.waiting = slices.Delete(s.waiting, n, n+1)
	q.waiting--
	if len(s.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(o *sender) bool { return o == s })
		q.forget(s)
	}
}

// withdraw takes back what somebody waited for; nil when they have got it in the meantime.
func (q *queue) withdraw(s *sender, t *ticket, because error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := slices.Index(s.waiting, t)
	if n < 0 {
		return <-t.answer // it has one
	}
	q.remove(s, n)
	return because
}

func (q *queue) leave(s *sender) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.taken--
	q.taken--
	q.forget(s)
	q.admit()
}

// forget keeps no sender that has nothing here.
func (q *queue) forget(s *sender) {
	if s.taken == 0 && len(s.waiting) == 0 {
		delete(q.of, s.key)
	}
}
