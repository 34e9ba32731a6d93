package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const (
	// clockEvery is how often PostgreSQL is asked for the time; in between the machine only counts on.
	clockEvery = 10 * time.Second
	// clockStep is how far a clock must have been set for it to be a step; less is drift, or how exactly it can be
	// measured.
	clockStep = 2 * time.Second
)

// clock tells the time that everything in the store is compared with. On PostgreSQL it is the server's, so that the
// clocks of replicas may differ: counted on from when the server was asked last, which a step of the machine's clock
// does not change. On SQLite it is the machine's.
type clock struct {
	machine func() time.Time

	mu sync.Mutex
	// told is what the clock showed at the moment at, whose monotonic part is what counts on.
	told, at time.Time
	// offset is how far the machine is ahead of PostgreSQL; apart says that this has been logged.
	offset time.Duration
	apart  bool
	// longest is the longest lease that was asked for.
	longest time.Duration
	// stale says that rows may hold times of a clock that was ahead; again is when that is assumed once more, zero when it
	// is not.
	stale bool
	again time.Time
}

// Now is the time of the store: what it keeps and compares is told in it, the due times and leases of all replicas
// among them.
func (s *Store) Now() time.Time {
	if !s.postgres {
		return s.clock.machine()
	}
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return s.clock.now(time.Now())
}

// ClockOffset is how far this machine's clock is ahead of the store's; on SQLite there is only one.
func (s *Store) ClockOffset() time.Duration {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return s.clock.offset
}

func (c *clock) now(at time.Time) time.Time { return c.told.Add(at.Sub(c.at)) }

// lease notes how long claims last.
func (c *clock) lease(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, d)
}

// watchClock follows the clock until the context ends.
func (s *Store) watchClock(ctx context.Context) {
	every := time.Second
	if s.postgres {
		every = clockEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.measureClock(ctx); err != nil && ctx.Err() == nil {
				// that the database is away is said elsewhere
				s.opts.Logger.DebugContext(ctx, "the time could not be asked for", "err", err)
			}
		}
	}
}

// measureClock asks for the time. A clock that was set back makes due what was put off by it: what waits for a time
// that will not come for hours would wait without a word. Being early is harmless, everybody who is woken looks whether
// it is time.
func (s *Store) measureClock(ctx context.Context) error {
	told, at, exact, err := s.ask(ctx)
	if err != nil {
		return err
	}
	step := s.clock.set(told, at, exact)
	stale := s.clock.mayBeStale(at, step <= -clockStep)
	if step <= -clockStep {
		s.opts.Logger.WarnContext(ctx, "the clock was set back; what it had put off is looked at now", "by",
			(-step).Round(time.Second))
	}
	if s.postgres {
		s.reportOffset(ctx, at)
	}
	if !stale {
		return nil
	}
	return s.heal(ctx)
}

// ask reads the time, and the moment at which it was true. exact is false when the answer took so long that this is a
// guess.
func (s *Store) ask(ctx context.Context) (told, at time.Time, exact bool, err error) {
	before := time.Now()
	if !s.postgres {
		told = s.clock.machine().Round(0)
		return told, before, time.Since(before) < clockStep/2, nil
	}
	var micros int64
	if err := s.row(ctx, s.read, []any{&micros},
		`SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint`); err != nil {
		return told, at, false, fmt.Errorf("ask for the time: %w", err)
	}
	took := time.Since(before)
	return time.UnixMicro(micros).UTC(), before.Add(took / 2), took < clockStep/2, nil
}

// set takes a measurement and says by how much the clock was set since the one before. What is not exact is used only
// when there is nothing else.
func (c *clock) set(told, at time.Time, exact bool) (step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() {
		if !exact {
			return 0
		}
		step = told.Sub(c.now(at))
	}
	c.told, c.at = told, at
	return step
}

// reportOffset keeps and says how far the machine's clock is from PostgreSQL's.
func (s *Store) reportOffset(ctx context.Context, at time.Time) {
	c := &s.clock
	c.mu.Lock()
	c.offset = c.machine().Add(-time.Since(at)).Round(0).Sub(c.told)
	offset, was := c.offset.Round(time.Millisecond), c.apart
	c.apart = offset.Abs() > incident.ClockTolerance
	apart := c.apart
	c.mu.Unlock()
	switch {
	case apart && !was:
		s.opts.Logger.WarnContext(ctx, "this machine's clock differs from PostgreSQL's; the bot goes by PostgreSQL's",
			"ahead", offset,
			"reason", "is the time synchronized on both machines?")
	case was && !apart:
		s.opts.Logger.InfoContext(ctx, "this machine's clock agrees with PostgreSQL's again", "ahead", offset)
	}
}

// mayBeStale says whether rows may hold times of a clock that was ahead: after a step back, and once more when whoever
// read the time before it has ended.
func (c *clock) mayBeStale(at time.Time, back bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case back:
		c.stale, c.again = true, at.Add(c.longest)
	case !c.again.IsZero() && !at.Before(c.again):
		c.stale, c.again = true, time.Time{}
	}
	return c.stale
}

// heal makes due what lies ahead, and shortens leases that end later than any could. Several replicas may do it at
// once, and twice does no harm.
func (s *Store) heal(ctx context.Context) error {
	s.clock.mu.Lock()
	longest := s.clock.longest
	s.clock.mu.Unlock()
	now := nanos(s.Now())
	for table, column := range map[string]string{"incidents": "due_at", "messages": "next_at"} {
		if err := s.lower(ctx, table, column, column+` > ?`, now, now); err != nil {
			return fmt.Errorf("make due what waits in %s: %w", table, err)
		}
	}
	if err := s.lower(ctx, "deliveries", "held_until", `state = 'new' AND held_until > ? AND lease_owner = ''`, 0,
		now); err != nil {
		return fmt.Errorf("make due what waits in deliveries: %w", err)
	}
	end := now + int64(longest)
	if longest > 0 { // else nothing was claimed here yet
		if err := s.lower(ctx, "deliveries", "held_until", `state = 'new' AND held_until > ? AND lease_owner <> ''`, end,
			end); err != nil {
			return fmt.Errorf("shorten the claims on deliveries: %w", err)
		}
		for _, table := range leased {
			if err := s.lower(ctx, table, "lease_until", `lease_until > ?`, end, end); err != nil {
				return fmt.Errorf("shorten the claims on %s: %w", table, err)
			}
		}
	}
	s.clock.mu.Lock()
	s.clock.stale = false
	if s.postgres && longest == 0 {
		// The leases of a process that is gone may have been told by a clock that was ahead: they are looked at once it is
		// known how long a lease is here.
		s.clock.again = time.Now()
	}
	s.clock.mu.Unlock()
	s.wake.signal()
	return nil
}

// lower sets a time in those rows in which it is later than a limit. A row that a transaction holds just now gets a
// time of the present clock from it and is left out: a start must not wait for a replica that was cut off in the middle
// of its work, nor run into a deadlock with one that works.
func (s *Store) lower(ctx context.Context, table, column, where string, to, limit int64) error {
	key := "id"
	if table == "messages" {
		key = "incident, sink"
	}
	rows := "(SELECT " + key + " FROM " + table + " WHERE " + where + s.skipLocked() + ")"
	_, err := s.changed(ctx, s.write,
		"UPDATE "+table+" SET "+column+" = ? WHERE ("+key+") IN "+rows, to, limit)
	return err
}

// leased are the tables whose rows are claimed until lease_until. Those of deliveries are until held_until.
var leased = []string{"incidents", "messages", "clicks"}
