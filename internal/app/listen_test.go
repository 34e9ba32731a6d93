package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

// ill is a store that can be reached or not.
type ill struct {
	Store
	err error
}

func (i ill) Ready(context.Context) error { return i.err }

func (i ill) Now() time.Time { return time.Now() }

func (i ill) Stats(context.Context) (store.Stats, error) { return store.Stats{}, i.err }

// Liveness is about loops, readiness about the store: a restart heals the one and not the other.
func TestHealthAndReadinessSayDifferentThings(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		name          string
		silent        time.Duration
		store         error
		health, ready int
		healthy, told string
	}{
		{"all is well", 0, nil, 200, 200, "ok", "ready"},
		{
			"the store is down", 0,
			&store.NotReadyError{Reason: "the disk is full", Err: errors.New("dial tcp 10.0.0.9:5432: refused")}, 200, 503, "ok",
			"the disk is full",
		},
		{"the loops are stuck", time.Hour, nil, 503, 200, "inbox: no sign of life for 1h0m0s", "ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			clock := now
			a := &App{
				opts: Options{Logger: slog.New(slog.DiscardHandler)}, registry: prometheus.NewRegistry(), store: ill{err: tt.store},
				outgoing: newOutgoing(), ignored: newIgnored(), connections: newConnections(quiet()), door: newDoor(nil, quiet()),
				liveness: newLiveness(time.Minute, func() time.Time { return clock }),
			}
			a.liveness.begin()
			clock = now.Add(tt.silent)
			ops, err := a.opsRoutes()
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]struct {
				code int
				text string
			}{"/healthz": {tt.health, tt.healthy}, "/readyz": {tt.ready, tt.told}} {
				w := httptest.NewRecorder()
				ops.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
				if w.Code != want.code || !strings.Contains(w.Body.String(), want.text) ||
					strings.Contains(w.Body.String(), "10.0.0.9") {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
		})
	}
}
