package store

import (
	"context"
	"sync"
	"time"
)

// calmAfter is how long no commit has had company when a storm is over: several commits, even on a slow disk.
const calmAfter = 50 * time.Millisecond

// storm says whether deliveries come faster than one commit each: over is nil while they do not, and closed when they
// no longer do.
type storm struct {
	mu   sync.Mutex
	over chan struct{}
}

func (s *storm) set(raging bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case raging && s.over == nil:
		s.over = make(chan struct{})
	case !raging && s.over != nil:
		close(s.over)
		s.over = nil
	}
}

// end is closed at the end of the storm; it is nil when there is none.
func (s *storm) end() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// Yield returns when deliveries to this replica do not come in a storm, or after the limit: who has work that can wait
// leaves the disk and the processors to intake.
func (s *Store) Yield(ctx context.Context, limit time.Duration) {
	over := s.commits.storm.end()
	if over == nil {
		return
	}
	enough := time.NewTimer(limit)
	defer enough.Stop()
	select {
	case <-over:
	case <-enough.C:
	case <-ctx.Done():
	}
}
