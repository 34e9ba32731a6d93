package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// batchLimit bounds how many deliveries share one commit, queueLimit how many may wait for one. A full queue is an
// error, which Alertmanager answers by sending again.
const (
	batchLimit = 256
	queueLimit = 1024
)

// In a storm, commits of whatever just waits are small, and each costs a flush of the disk: the loop then gathers for
// gatherFor first. A commit of stormFrom deliveries is the sign of one; a delivery that comes alone is never held. 1 ms
// took the most deliveries a second in BenchmarkIntake, of 0.5 to 8. PostgreSQL's commit_delay and commit_siblings are
// the same idea.
const (
	gatherFor = time.Millisecond
	stormFrom = 4
)

const (
	// trialEvery is how long the store goes without a commit before it tries one, so that it is known not to take any
	// before a delivery comes.
	trialEvery = 5 * time.Second
	// retryEvery is the same after a commit that failed.
	retryEvery = time.Second
	// trialLimit bounds what a trial writes.
	trialLimit = 1 << 20
)

// committer gathers concurrent deliveries into shared commits: one disk flush instead of one each.
type committer struct {
	store *Store
	queue chan *waiting
	done  chan struct{}
	state commitState
	// last is how many deliveries the last commit had.
	last  int
	storm storm
}

// waiting is a delivery on its way to the disk. It holds the bytes only, so that a large delivery is in memory once.
type waiting struct {
	receivedAt, group int64
	body              []byte
	since             time.Time
	id                int64
	err               error
	ready             chan struct{}
	// decided is set by whoever is first: the committer, which then commits it, or the sender, who was told to send it
	// again and takes the body along.
	decided atomic.Bool
}

func newCommitter(s *Store) *committer {
	return &committer{
		store: s, queue: make(chan *waiting, queueLimit), done: make(chan struct{}),
		state: commitState{patience: s.timeout() / 2, logger: s.opts.Logger},
	}
}

// run commits what waits until the context ends; what waits then gets ErrClosed.
func (c *committer) run(ctx context.Context) {
	quiet, calm := time.NewTimer(trialEvery), time.NewTimer(calmAfter)
	defer quiet.Stop()
	defer calm.Stop()
	defer c.storm.set(false)
	for {
		c.store.opts.Beat()
		every := trialEvery
		if c.state.failing() {
			every = retryEvery
		}
		quiet.Reset(every)
		select {
		case <-ctx.Done():
			return
		case first := <-c.queue:
			batch := c.gather(first)
			if len(batch) >= stormFrom {
				c.storm.set(true)
			}
			c.commit(ctx, batch)
			if len(batch) >= stormFrom {
				calm.Reset(calmAfter)
			}
		case <-calm.C:
			c.storm.set(false)
		case <-quiet.C:
			c.try(ctx)
		}
	}
}

// end lets those go that still wait.
func (c *committer) end() { close(c.done) }

// gather takes what waits with the first one, and in a storm what comes within gatherFor, without those whose senders
// are gone.
func (c *committer) gather(first *waiting) []*waiting {
	batch := []*waiting{}
	add := func(w *waiting) {
		if w.decided.CompareAndSwap(false, true) {
			batch = append(batch, w)
		}
	}
	add(first)
	var enough <-chan time.Time
	if c.last >= stormFrom {
		enough = time.After(gatherFor)
	}
	for len(batch) < batchLimit {
		select {
		case w := <-c.queue:
			add(w)
			continue
		default:
		}
		if enough == nil {
			break // nothing waits
		}
		select {
		case w := <-c.queue:
			add(w)
		case <-enough:
			enough = nil
		}
	}
	c.last = len(batch)
	return batch
}

func (c *committer) commit(ctx context.Context, batch []*waiting) {
	if len(batch) == 0 {
		return
	}
	s, size := c.store, 0
	for _, w := range batch {
		size += len(w.body)
	}
	err := c.within(ctx, batch[0].since, size, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.insertDeliveries(ctx, tx, batch); err != nil {
			return fmt.Errorf("insert deliveries: %w", err)
		}
		return s.announce(ctx, tx)
	})
	for _, w := range batch {
		w.err = err
		close(w.ready)
	}
	if err == nil {
		s.wake.signal()
	}
}

// try commits a row that comes and goes, as large as what could not be committed: a disk that is full may have room for
// a little.
func (c *committer) try(ctx context.Context) {
	s := c.store
	size := min(c.state.failedSize(), trialLimit)
	// The state has the error, and logs it.
	_ = c.within(ctx, time.Now(), size, func(ctx context.Context, tx *sql.Tx) error {
		var id int64
		if err := s.row(ctx, tx, []any{&id}, `INSERT INTO trials (body) VALUES (?) RETURNING id`,
			strings.Repeat("-", size)); err != nil {
			return err
		}
		_, err := s.changed(ctx, tx, `DELETE FROM trials WHERE id = ?`, id)
		return err
	})
}

// within runs one commit and notes how it went.
func (c *committer) within(ctx context.Context, since time.Time, size int,
	fn func(ctx context.Context, tx *sql.Tx) error,
) error {
	c.state.begin(since)
	commit, cancel := context.WithTimeoutCause(ctx, c.state.patience, ErrTimeout)
	defer cancel()
	err := c.store.file.damaged()
	if err == nil {
		err = c.store.opts.Panics.Do(commit, Part, func() error { return c.store.inTx(commit, fn) })
	}
	if ctx.Err() != nil {
		return err // the process ends
	}
	c.state.end(ctx, size, err)
	return err
}

// AddDelivery commits one delivery, together with others that wait at the same time. When the context ends first, or
// the database does not answer, the delivery may have been committed all the same: delivery is at least once.
func (s *Store) AddDelivery(ctx context.Context, d incident.Delivery) (int64, error) {
	body, err := json.Marshal(d, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return 0, fmt.Errorf("write a delivery as JSON: %w", err)
	}
	if err := s.commits.state.hopeless(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.commits.state.patience, ErrTimeout)
	defer cancel()
	w := &waiting{
		receivedAt: nanos(d.ReceivedAt), group: groupOf(d), body: body, since: time.Now(),
		ready: make(chan struct{}),
	}
	select {
	case s.commits.queue <- w:
	case <-s.commits.done:
		return 0, ErrClosed
	default:
		return 0, fmt.Errorf("%d deliveries wait for the disk already", queueLimit)
	}
	select {
	case <-w.ready:
		return w.id, w.err
	case <-s.commits.done:
		return 0, ErrClosed
	case <-ctx.Done():
		if w.decided.CompareAndSwap(false, true) {
			w.body = nil // its place in the queue may be there for a while
		}
		return 0, context.Cause(ctx)
	}
}
