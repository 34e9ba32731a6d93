package app

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sparingly is how often a sparing log has a line of one kind.
const sparingly = time.Minute

// sparing logs what anybody can cause at any rate: one line a minute of each kind, with how many there were since the
// last one. Kinds are few, and no text of others.
type sparing struct {
	logger *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	kinds map[string]*spared
}

type spared struct {
	last time.Time
	many int
}

func newSparing(logger *slog.Logger, now func() time.Time) *sparing {
	return &sparing{logger: logger, now: now, kinds: map[string]*spared{}}
}

// warn logs, or counts for the next line.
func (s *sparing) warn(ctx context.Context, kind, text string, args ...any) {
	if many, due := s.due(kind); due {
		s.logger.WarnContext(ctx, text, append(args, "since_last_line", many)...) //nolint:sloglint // its callers have them
	}
}

func (s *sparing) due(kind string) (many int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kinds[kind]
	if !ok {
		k = &spared{}
		s.kinds[kind] = k
	}
	k.many++
	now := s.now()
	if now.Sub(k.last) < sparingly {
		return 0, false
	}
	many, k.many, k.last = k.many, 0, now
	return many, true
}
