package store

import (
	"context"
	"sync"
)

// seen remembers what was logged, so that a row that cannot be read is named once and not on every read.
type seen struct {
	mu  sync.Mutex
	ids map[string]bool
}

// first says whether an id is new.
func (s *seen) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	known := s.ids[id]
	s.ids[id] = true
	return !known
}

// unreadable logs an incident whose body cannot be read, once.
func (s *Store) unreadable(ctx context.Context, id string, err error) {
	if !s.named.first(id) {
		return
	}
	s.opts.Logger.ErrorContext(ctx, "an incident in the store cannot be read; nothing is done for it until the next start",
		"incident", id, "err", err,
		"reason", "a newer vllm-medic may have written it; start that one")
}

// gaveUp logs a delivery whose alerts are lost to the bot.
func (s *Store) gaveUp(ctx context.Context, id int64, reason string) {
	s.opts.Logger.ErrorContext(ctx,
		"a delivery was given up; its alerts are not looked at unless Alertmanager sends them again", "delivery", id,
		"reason", reason)
}
