package fakeslack

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaitReturnsWithTheChangeAndNotBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		begin := time.Now()
		go func() {
			time.Sleep(time.Minute)
			s.PostAs("U0BOB", room, "no", "")
			time.Sleep(time.Minute)
			s.PostAs("U0BOB", room, "yes", "")
		}()
		m, err := s.WaitMessage(t.Context(), room, func(m Message) bool { return m.Text == "yes" })
		if err != nil || m.Text != "yes" || time.Since(begin) != 2*time.Minute {
			t.Errorf("message = %+v, %v after %s", m, err, time.Since(begin))
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		why := errors.New("gave up")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		if _, err := s.WaitMessage(ctx, room, func(Message) bool { return true }); !errors.Is(err, why) {
			t.Errorf("WaitMessage: %v", err)
		}
		if _, err := s.WaitAnswers(ctx, "click1", 1); !errors.Is(err, why) {
			t.Errorf("WaitAnswers: %v", err)
		}
	})
}
