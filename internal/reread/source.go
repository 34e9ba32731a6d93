// Package reread keeps what is in files that somebody replaces while the bot runs, such as a kubelet that renews a
// mounted Secret: it reads them again, takes what is valid, and keeps the last valid value otherwise. It does no work
// of its own; whoever has a Source or a Set says when to look. All of it is safe for concurrent use.
package reread

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
)

// Content is a file as it was read.
type Content struct {
	Name string
	Data []byte
}

// Outcome is what a Reload found.
type Outcome int

// The outcomes: as before; new and valid, so that it is the value from now on; invalid for a new reason, so that the
// last valid value stays.
const (
	Unchanged Outcome = iota
	Taken
	Refused
)

// State says whether a value is what is in the files now.
type State struct {
	// Problem is why what is in the files is not in force; empty when it is. Since is when that began.
	Problem string
	Since   time.Time
	// Loaded is when the value in force was read.
	Loaded time.Time
}

// Source is a value that some files hold together. Use New or Having.
type Source[T any] struct {
	read  func() ([]Content, error)
	parse func([]Content) (T, error)

	// reading orders reloads, so that none puts an older value in force.
	reading sync.Mutex

	mu    sync.Mutex
	value T
	state State
	// last is what was read last, valid or not; known says that anything was.
	last  []Content
	known bool
}

// New reads the files for the first time. Its error is that of read or parse: without a value there is no Source.
func New[T any](read func() ([]Content, error), parse func([]Content) (T, error)) (*Source[T], error) {
	content, err := read()
	if err != nil {
		return nil, err
	}
	value, err := parse(content)
	if err != nil {
		return nil, err
	}
	s := Having(value, read, parse)
	s.last, s.known = content, true
	return s, nil
}

// Having is a Source whose files somebody else has read a moment ago. The first reload that finds them valid takes them
// without a word: most likely they are what the value was made of.
func Having[T any](value T, read func() ([]Content, error), parse func([]Content) (T, error)) *Source[T] {
	return &Source[T]{read: read, parse: parse, value: value, state: State{Loaded: time.Now()}}
}

// Value is the last valid one.
func (s *Source[T]) Value() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// State says whether Value is what is in the files.
func (s *Source[T]) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Reload reads the files and, when they have changed, takes them or says why not. The error comes with Refused only: a
// reason that was told already is Unchanged.
func (s *Source[T]) Reload() (Outcome, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	for again := false; ; again = true {
		content, err := s.read()
		if err == nil && s.isLast(content) {
			return Unchanged, nil
		}
		var next T
		if err == nil {
			next, err = s.parse(content)
		}
		// Files that belong together are replaced between two reads of ours: a second look sees them whole.
		if err == nil || again {
			return s.take(content, next, err)
		}
	}
}

func (s *Source[T]) isLast(content []Content) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known && slices.EqualFunc(content, s.last, same)
}

func (s *Source[T]) take(content []Content, next T, err error) (Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.known && s.state.Problem == ""
	s.last, s.known = content, content != nil
	if err != nil {
		told := s.state.Problem == err.Error()
		if s.state.Problem == "" {
			s.state.Since = time.Now()
		}
		s.state.Problem = err.Error()
		if told {
			return Unchanged, nil
		}
		return Refused, err
	}
	s.value, s.state = next, State{Loaded: time.Now()}
	if first {
		return Unchanged, nil
	}
	return Taken, nil
}

func same(a, b Content) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }

// Files reads files by their paths, each up to a bound.
func Files(paths ...string) func() ([]Content, error) {
	return func() ([]Content, error) {
		out := make([]Content, 0, len(paths))
		for _, path := range paths {
			data, err := boundedfile.ReadRegular(path, boundedfile.MaxSecret)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be read: %w", path, whyUnread(err))
			}
			out = append(out, Content{Name: path, Data: data})
		}
		return out, nil
	}
}

// whyUnread is why a file could not be read, without its name.
func whyUnread(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
