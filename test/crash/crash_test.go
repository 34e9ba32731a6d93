package crash

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNobodyCanTellThatTheBotWasKilled plays the same incident again and again: once left alone, once for each commit and each call that changes
// something outside with one death there, and once with a death at every point, the reads included.
func TestNobodyCanTellThatTheBotWasKilled(t *testing.T) {
	t.Parallel()
	f, p := newFleet(t)
	alone := newRun(t, f, p, listing, "")
	alone.play()
	want := alone.outcome()
	want.sound(t)
	points := deaths(t, lines(t, alone.pointsFile()))
	t.Logf("%d deaths, one in each run; the incident left alone:\n%s", len(points), alone.story())

	t.Run("everywhere", func(t *testing.T) {
		t.Parallel()
		r := newRun(t, f, p, everywhere, "")
		r.play()
		if d := cmp.Diff(want, r.outcome()); d != "" {
			t.Errorf("(-left alone +killed):\n%s", d)
		}
		if r.kills < len(points) {
			t.Errorf("the bot was killed %d times, which is less often than there are writing points", r.kills)
		}
		t.Logf("the bot was killed %d times in one incident", r.kills)
	})
	for _, at := range points {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, f, p, once, at)
			r.play()
			if r.kills != 1 {
				t.Errorf("the bot was killed %d times", r.kills)
			}
			if d := cmp.Diff(want, r.outcome()); d != "" {
				t.Errorf("(-left alone +killed):\n%s", d)
			}
		})
	}
}

// deaths are the points of a run at which something is committed or changed outside. Reads are the business of mode everywhere.
func deaths(t *testing.T, passed []string) []string {
	t.Helper()
	var out []string
	for _, point := range passed {
		what, n, _ := strings.Cut(point, " #")
		_, what, _ = strings.Cut(what, " ")
		writes := strings.HasPrefix(what, "store ") || strings.HasPrefix(what, "slack POST /api/chat.") ||
			strings.HasPrefix(what, "kubernetes PATCH")
		first := n == "1" || n == "2" && (strings.HasPrefix(what, "store commit") || strings.HasSuffix(what, "x"))
		if writes && first {
			out = append(out, point)
		}
	}
	slices.Sort(out)
	if len(slices.Compact(out)) != len(out) || len(out) < 50 {
		t.Fatalf("these cannot be all points: %q", out)
	}
	return out
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}
