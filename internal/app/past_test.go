package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// memory is a Prometheus that remembers, and counts how often it is asked, and by how many at once.
type memory struct {
	takes time.Duration
	fails string

	mu                sync.Mutex
	asked, busy, most int
}

func (m *memory) PastBetween(ctx context.Context, query string, _, to time.Time, _ int) ([]incident.Point, error) {
	m.mu.Lock()
	m.asked++
	m.busy++
	m.most = max(m.most, m.busy)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy--
	}()
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if query == m.fails {
		return nil, errors.New("too many samples")
	}
	return []incident.Point{{At: to, Value: 1}}, nil
}

func recalling(m *memory) *pasts {
	p := newPasts(clients{}, slog.New(slog.DiscardHandler))
	p.collector = m
	return p
}

func over(n int) incident.Incident {
	return incident.Incident{ID: fmt.Sprintf("inc-%d", n), Version: 7}
}

// Many people look at an incident that is over. Prometheus is asked once, a few queries at a time.
func TestPrometheusIsAskedOnceForWhatIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{takes: 100 * time.Millisecond}
		p, queries := recalling(m), map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
		for range 3 {
			got, err := p.Past(t.Context(), over(1), queries, time.Now().Add(-time.Hour), time.Now())
			if err != nil || len(got) != len(queries) {
				t.Fatalf("got %v, %v", got, err)
			}
		}
		if m.asked != len(queries) || m.most != pastsAtOnce {
			t.Errorf("asked %d times, %d at once", m.asked, m.most)
		}
		again := over(1)
		again.Version++ // it was opened again, and has another end
		if _, err := p.Past(t.Context(), again, queries, time.Now(), time.Now()); err != nil || m.asked != 2*len(queries) {
			t.Errorf("asked %d times, %v", m.asked, err)
		}
		for n := range 3 * mostPasts {
			if _, err := p.Past(t.Context(), over(n), map[string]string{"a": "1"}, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if len(p.known) != mostPasts || len(p.order) != mostPasts {
			t.Errorf("%d pasts are kept", len(p.known))
		}
	})
}

// A page does not wait for long, shows what came, and asks again the next time.
func TestAPastThatCouldNotBeReadIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{fails: "2"}
		p, queries := recalling(m), map[string]string{"a": "1", "b": "2"}
		for range 2 {
			got, err := p.Past(t.Context(), over(1), queries, time.Now(), time.Now())
			if err == nil || err.Error() != "b: too many samples" || len(got["a"]) != 1 || len(got) != 1 {
				t.Errorf("got %v, %v", got, err)
			}
		}
		m.takes, m.fails = time.Hour, ""
		begin := time.Now()
		more := maps.Clone(queries)
		more["c"] = "3" // has to wait for its turn
		got, err := p.Past(t.Context(), over(1), more, time.Now(), time.Now())
		if err == nil || len(got) > 0 || time.Since(begin) != pastFor {
			t.Errorf("after %s: %v, %v", time.Since(begin), got, err)
		}
		if m.asked != 2*2+pastsAtOnce {
			t.Errorf("asked %d times", m.asked)
		}
	})
}
