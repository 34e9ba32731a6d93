package reread

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Set is all that a process reads again, by the settings that name the files. The zero value is ready; a nil Set keeps
// nothing and reloads nothing.
type Set struct {
	mu  sync.Mutex
	all []*member
}

// member is one Source of whatever type.
type member struct {
	setting  string
	reload   func() (Outcome, error)
	state    func() State
	validity func() (Validity, bool)
	// said is the state that was logged last.
	said State
}

// Validity is from when until when certificates hold.
type Validity struct{ NotBefore, NotAfter time.Time }

// lasting is a value that holds for a time only.
type lasting interface{ Validity() Validity }

// Add has the Set read a Source again from now on. setting is what the configuration calls its files.
func Add[T any](set *Set, setting string, s *Source[T]) {
	if set == nil {
		return
	}
	m := &member{setting: setting, reload: s.Reload, state: s.State, said: s.State()}
	m.validity = func() (Validity, bool) {
		v, is := any(s.Value()).(lasting)
		if !is {
			return Validity{}, false
		}
		return v.Validity(), true
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	set.all = append(set.all, m)
}

// Reload reads everything again, and logs what is new: files that are in force now, or why they are not. A Source that
// somebody has reloaded meanwhile is told of, too.
func (s *Set) Reload(ctx context.Context, logger *slog.Logger) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		_, _ = m.reload() // its state says the same, whoever asked
		is := m.state()
		switch {
		case is.Problem != "" && is.Problem != m.said.Problem:
			logger.ErrorContext(ctx, "a changed file is invalid; the last valid one stays in force", "setting", m.setting,
				"err", is.Problem)
		case is.Problem == "" && is.Loaded != m.said.Loaded:
			logger.InfoContext(ctx, "a changed file is in force", "setting", m.setting)
		}
		m.said = is
	}
}

// Member is a setting with its files' state.
type Member struct {
	Setting string
	State   State
	// Validity is that of the certificates in force; nil when the files hold none.
	Validity *Validity
}

// Members are all settings, in the order in which they were added.
func (s *Set) Members() []Member {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Member, 0, len(s.all))
	for _, m := range s.all {
		one := Member{Setting: m.setting, State: m.state()}
		if v, is := m.validity(); is {
			one.Validity = &v
		}
		out = append(out, one)
	}
	return out
}
