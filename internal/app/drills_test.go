package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/schedule"
)

func TestADrillIsOrderedOnceForEachOfItsTimes(t *testing.T) {
	t.Parallel()
	tuesdays, err := schedule.New("0 10 * * 2", "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 24, 9, 59, 50, 0, time.UTC)
	var orders []incident.DrillOrder
	var away error
	p := &planned{
		drills: []config.Drill{{Scenario: "queue", Pool: "llama", When: tuesdays}},
		start: func(_ context.Context, o incident.DrillOrder) (string, error) {
			if away == nil {
				orders = append(orders, o)
			}
			return "drill-1", away
		},
		now: func() time.Time { return now }, logger: slog.New(slog.DiscardHandler),
	}
	for _, step := range []struct {
		after time.Duration
		away  error
		want  int
	}{
		{0, nil, 0},
		{15 * time.Second, errors.New("the store is away"), 0},
		{15 * time.Second, nil, 1}, // tried again
		{15 * time.Second, nil, 1},
		{5 * time.Minute, nil, 1},
		{7*24*time.Hour + time.Minute, nil, 2},
		{7*24*time.Hour + 20*time.Minute, nil, 2}, // away when it came, and too late
	} {
		now, away = now.Add(step.after), step.away
		p.order(t.Context())
		if len(orders) != step.want {
			t.Fatalf("at %v there are %d orders, want %d: %+v", now, len(orders), step.want, orders)
		}
	}
	want := incident.DrillOrder{
		Pool: "llama", Scenario: "queue", Slot: time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC),
		By: incident.Actor{Kind: "schedule", ID: "queue"},
	}
	if orders[0] != want {
		t.Errorf("ordered %+v", orders[0])
	}
}
