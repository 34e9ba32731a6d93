// Package rescue turns a panic in a piece of work into its error, so that one incident, message or click that meets an
// error in the program does not end the process for all others.
//
// Do and Group catch; whoever asked for the work decides what the error means for it. Goroutines that a piece of work
// starts belong into a Group, whose Wait hands their panic on to the work itself: recover does not reach other
// goroutines. What ends the whole process in Go (out of memory, stack overflow, concurrent use of a map) cannot be
// caught here.
package rescue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"
)

// PanicError is a panic that was caught.
type PanicError struct {
	Value any
	// Stack is where it came from.
	Stack []byte
}

// Error says what the panic was, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the error that was thrown, if it was one.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do runs fn and returns its error, or *PanicError when it panics.
func Do(fn func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *PanicError: // of a Group
			err = v
		default:
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

// Group is a sync.WaitGroup whose Wait panics when one of its goroutines has. The zero Group is ready.
type Group struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	first *PanicError
}

// Go runs fn in a goroutine.
func (g *Group) Go(fn func()) {
	g.wg.Go(func() {
		err := Do(func() error { fn(); return nil })
		if caught, ok := errors.AsType[*PanicError](err); ok {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = caught
			}
		}
	})
}

// Wait waits for all goroutines, then panics with the first *PanicError there was.
func (g *Group) Wait() {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if first := g.first; first != nil {
		panic(first)
	}
}

// Log logs and counts the panics of a process. A nil Log only catches. It is safe for concurrent use.
type Log struct {
	logger *slog.Logger

	mu     sync.Mutex
	counts map[string]int64
}

// NewLog returns a Log that counts for these parts of the program; one that is not named here is counted from its first
// panic on.
func NewLog(logger *slog.Logger, parts ...string) *Log {
	l := &Log{logger: logger, counts: map[string]int64{}}
	for _, p := range parts {
		l.counts[p] = 0
	}
	return l
}

// Do is the function Do that logs the panic, with its stack and the attributes, and counts it for the part.
func (l *Log) Do(ctx context.Context, part string, fn func() error, attrs ...slog.Attr) error {
	err := Do(fn)
	caught, ok := errors.AsType[*PanicError](err)
	if !ok || l == nil {
		return err
	}
	l.mu.Lock()
	l.counts[part]++
	l.mu.Unlock()
	attrs = append(attrs, slog.String("of", part), slog.Any("err", caught), slog.String("stack", string(caught.Stack)))
	l.logger.LogAttrs(ctx, slog.LevelError, "an internal error was caught; the process goes on", attrs...)
	return err
}

// The pauses before work that panicked is begun again.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Keep runs fn, which lasts as long as the context, and begins it again when it panics, after a pause that grows. It
// returns what fn returns.
func (l *Log) Keep(ctx context.Context, part string, fn func(context.Context) error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		begun := time.Now()
		err := l.Do(ctx, part, func() error { return fn(ctx) })
		if _, caught := errors.AsType[*PanicError](err); !caught {
			return err
		}
		if time.Since(begun) > lastPause {
			pause = firstPause
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
	}
}

// Counts are the panics so far, by part.
func (l *Log) Counts() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}
