package rescue_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

func broken() error {
	return fill(nil)
}

func fill(into map[string]int) error {
	into["x"] = 1
	return nil
}

func TestAPanicBecomesAnErrorWithItsStack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fn   func() error
		want string
	}{
		"a runtime error": {broken, "panic: assignment to entry in nil map"},
		"a text":          {func() error { panic("no") }, "panic: no"},
		"an error":        {func() error { panic(io.ErrUnexpectedEOF) }, "panic: unexpected EOF"},
		"nil":             {func() error { panic(nil) }, "panic called with nil argument"},
		"one inside of another": {
			func() error { return rescue.Do(func() error { panic(errors.New("inner")) }) },
			"panic: inner",
		},
	} {
		err := rescue.Do(tt.fn)
		caught, ok := errors.AsType[*rescue.PanicError](err)
		if !ok || !strings.Contains(err.Error(), tt.want) || !bytes.Contains(caught.Stack, []byte("rescue_test")) {
			t.Errorf("%s: %v, want %q with a stack", name, err, tt.want)
		}
	}
	if err := rescue.Do(func() error { panic(io.EOF) }); !errors.Is(err, io.EOF) {
		t.Errorf("the error that was thrown is lost: %v", err)
	}
	if err := rescue.Do(func() error { return io.EOF }); err != io.EOF { //nolint:errorlint // the very same
		t.Errorf("an ordinary error: %v", err)
	}
	if err := rescue.Do(func() error { return nil }); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

func TestAGroupHandsThePanicOfAGoroutineOn(t *testing.T) {
	t.Parallel()
	done := 0
	err := rescue.Do(func() error {
		var g rescue.Group
		g.Go(func() { _ = broken() })
		inner := make(chan struct{})
		g.Go(func() { done++; close(inner) })
		<-inner
		g.Wait()
		t.Error("Wait returned")
		return nil
	})
	caught, ok := errors.AsType[*rescue.PanicError](err)
	if !ok || !bytes.Contains(caught.Stack, []byte("broken")) || done != 1 {
		t.Errorf("err %v, %d others done", err, done)
	}
	if _, ok := errors.AsType[runtime.Error](err); !ok {
		t.Errorf("the cause is lost: %v", err)
	}
	var quiet rescue.Group
	quiet.Go(func() {})
	quiet.Wait()
}

func TestALogSaysAndCounts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := rescue.NewLog(slog.New(slog.NewTextHandler(&out, nil)), "engine", "notify")
	for range 2 {
		if err := l.Do(t.Context(), "engine", broken, slog.String("incident", "inc-1")); err == nil {
			t.Error("no error")
		}
	}
	if err := l.Do(t.Context(), "engine", func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("an ordinary error: %v", err)
	}
	if got := l.Counts(); got["engine"] != 2 || len(got) != 2 {
		t.Errorf("counts %v", got)
	}
	for _, want := range []string{"incident=inc-1", "nil map", "rescue_test.broken"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q: %s", want, out.String())
		}
	}
	var none *rescue.Log
	if err := none.Do(t.Context(), "engine", broken); err == nil {
		t.Error("a nil Log does not catch")
	}
}

func TestALoopThatPanicsIsBegunAgainAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := rescue.NewLog(slog.New(slog.DiscardHandler))
		begun, at := 0, []time.Duration(nil)
		start := time.Now()
		err := l.Keep(t.Context(), "loop", func(context.Context) error {
			at = append(at, time.Since(start))
			if begun++; begun < 4 {
				return broken()
			}
			return io.EOF
		})
		if !errors.Is(err, io.EOF) || !slices.Equal(at, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}) {
			t.Errorf("%v, begun at %v", err, at)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = l.Keep(ctx, "loop", func(context.Context) error {
			cancel()
			return broken()
		})
		if err != nil || l.Counts()["loop"] != 4 {
			t.Errorf("at the end of the process: %v, counted %v", err, l.Counts())
		}
	})
}
