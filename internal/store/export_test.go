package store

import (
	"context"
	"errors"
	"time"
)

// InTx is for tests that need a transaction that lasts, MeasureClock for those that cannot wait for the next
// measurement, and ReadClaimed is the second half of a claim, which another replica may be ahead of.
var (
	InTx         = (*Store).inTx
	MeasureClock = (*Store).measureClock
	ReadClaimed  = (*Store).readClaimed
)

// HoldSave has a copy of a SQLite file that is gone wait: begun is closed when it begins, and it goes on when goOn is.
func HoldSave(s *Store, begun chan<- struct{}, goOn <-chan struct{}) {
	save := s.file.save
	s.file.save = func(ctx context.Context, to string) error {
		close(begun)
		<-goOn
		return save(ctx, to)
	}
}

// ShiftClock has the store believe that PostgreSQL's clock was so far ahead when it was asked last.
func ShiftClock(s *Store, by time.Duration) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.told = s.clock.told.Add(by)
}

// Healed says that no row is left to be looked at after a step of the clock.
func Healed(s *Store) bool {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return !s.clock.stale
}

// PrepareAfterClose prepares a statement that was met before the statements were closed.
func PrepareAfterClose(ctx context.Context, s *Store, query string) {
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		panic(err)
	}
	s.statements.in(ctx, tx, query)
	if err := errors.Join(tx.Rollback(), s.statements.close()); err != nil {
		panic(err)
	}
	s.statements.prepare(ctx, s.write)
}
