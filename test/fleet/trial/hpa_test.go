package trial

import (
	"testing"
	"time"
)

func TestTheControllerAsksForWhatKubernetesWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		current, pods int
		waiting       float64
		want          int
	}{
		{"twice the target", 3, 3, 30, 6},
		{"idle", 3, 3, 0, 0},
		{"a little above the target is right", 3, 3, 16, 3},
		{"a little below the target is right", 3, 3, 14, 3},
		{"rounded up", 3, 3, 17, 4},
		{"a pod that starts counts as idle when more are wanted", 3, 2, 40, 8},
		{"and as busy when fewer are", 3, 2, 2, 2},
		{"more without it and fewer with it is nothing", 3, 2, 11, 3},
		{"no metric at all is not zero", 3, 0, 0, 3},
	} {
		if got := desired(c.current, c.pods, c.waiting); got != c.want {
			t.Errorf("%s: %d replicas, want %d", c.name, got, c.want)
		}
	}
}

func TestTheControllerGoesUpInStepsAndDownLate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	h := &hpa{least: 2, most: 20}
	for _, c := range []struct {
		after           time.Duration
		current, wanted int
		want            int
	}{
		{0, 3, 100, 7}, // four more
		{15 * time.Second, 7, 100, 14},
		{30 * time.Second, 14, 9, 14},                // 100 was recommended a moment ago
		{5*time.Minute + 16*time.Second, 14, 1, 9},   // now 9 is the highest of the last five minutes
		{5*time.Minute + 29*time.Second, 9, 1, 9},    // still
		{10*time.Minute + 30*time.Second, 9, 1, 2},   // and no longer; never below the minimum
		{10*time.Minute + 45*time.Second, 2, 2, 2},   // nothing to do
		{11*time.Minute + 0*time.Second, 15, 40, 20}, // never above the maximum
	} {
		if got := h.limited(now.Add(c.after), c.current, c.wanted); got != c.want {
			t.Errorf("after %s, from %d with %d wanted: %d, want %d", c.after, c.current, c.wanted, got, c.want)
		}
	}
}
