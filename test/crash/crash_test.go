package crash

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// story is an incident that is played again and again, and what of it is worth a death.
type story struct {
	name string
	play func(*run)
	// says is how the throttle is taken back in it.
	says string
	// deadly says whether a point of it is to be died at.
	deadly func(point string) bool
	// least is how many such points there must be: fewer mean that a rule does not meet them any more.
	least int
}

func stories() []story {
	return []story{
		{"healed", (*run).healed, ": reverting to ", func(string) bool { return true }, 100},
		// Up to the click on Undo it is the other story.
		{"taken back", (*run).takenBack, "requested by slack:" + alice, undoing, 24},
	}
}

// undoing are the points of the way back that a person asked for: the second click, the second write to the policy,
// what is committed and claimed in between, and the second plan that follows.
func undoing(point string) bool {
	second := strings.HasSuffix(point, " #2") &&
		(strings.Contains(point, "click") || strings.Contains(point, "PATCH") || strings.Contains(point, "commit proposed"))
	return second || strings.Contains(point, "undoing") || strings.Contains(point, "store commit watching")
}

// worst says whether a death at the point is the kind that would change something twice, or never: around a write, and
// around the answer to a click. These are played in each medium run, the others in a large one.
func worst(point string) bool {
	write := strings.Contains(point, "kubernetes PATCH") && !strings.Contains(point, "dry-run")
	return strings.HasSuffix(point, " #1") && (write || strings.Contains(point, "click"))
}

// TestNobodyCanTellThatTheBotWasKilled plays each incident again and again: once left alone, once for each commit and
// each call that changes something outside with one death there, and once with a death at every point, the reads
// included.
func TestNobodyCanTellThatTheBotWasKilled(t *testing.T) {
	t.Parallel()
	f, p := newFleet(t)
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			alone := newRun(t, f, p, listing, "")
			s.play(alone)
			want := alone.outcome()
			want.sound(t, s.says)
			points := slices.DeleteFunc(deaths(t, lines(t, alone.pointsFile())), func(point string) bool {
				return !s.deadly(point)
			})
			if len(points) < s.least {
				t.Fatalf("these cannot be all points: %q", points)
			}
			t.Logf("%d deaths, one in each run; the incident left alone:\n%s", len(points), alone.story())
			t.Run("everywhere", func(t *testing.T) {
				t.Parallel()
				r := newRun(t, f, p, everywhere, "")
				s.play(r)
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
					if !worst(at) {
						size.Needs(t, size.Large)
					}
					r := newRun(t, f, p, once, at)
					s.play(r)
					if r.kills != 1 {
						t.Errorf("the bot was killed %d times", r.kills)
					}
					if d := cmp.Diff(want, r.outcome()); d != "" {
						t.Errorf("(-left alone +killed):\n%s", d)
					}
				})
			}
		})
	}
}

// deaths are the points of a run at which something is committed or changed outside, each with a before and an after:
//   - the commits on the incident, by what they bring (its state, the phase of its step, the claim or the end of a
//     write), and those on a click: the first and the second time, because an incident has two steps and an undo;
//   - every other commit: a delivery taken in or ended, a claim given back, each kind of save in the outbox: the first
//     time;
//   - the claims that find something, of an incident (in each state), a delivery, a click and a message: the first
//     time, those of a click twice;
//   - the calls: a write to the cluster and an answer to a click, twice; a dry-run, a post and an update in Slack, the
//     first time.
//
// Not covered with a run of its own is a later repeat of the same point, such as the third check of a watched incident
// or the ninth edit of the message. It is the same code between the same rows; and how many there are differs between
// two runs that are left alone (edits are merged), so a death could not be placed there. Reads, and the same points in
// other states of the incident, are the business of mode everywhere, which dies once at each. The way back that a
// person asked for has its deaths from the click on. Before it serves, a process has no points: it commits nothing but
// the schema. PostgreSQL is not killed here; its commits pass the same suite as SQLite's.
func deaths(t *testing.T, passed []string) []string {
	t.Helper()
	var out []string
	for _, point := range passed {
		what, n, _ := strings.Cut(point, " #")
		_, what, _ = strings.Cut(what, " ")
		click := strings.Contains(what, "click")
		patch := strings.HasPrefix(what, "kubernetes PATCH")
		commit := strings.HasPrefix(what, "store commit")
		writes := click || patch || strings.HasPrefix(what, "store ") || strings.HasPrefix(what, "slack POST /api/chat.")
		twice := click || commit || patch && !strings.HasSuffix(what, "dry-run")
		if writes && (n == "1" || n == "2" && twice) {
			out = append(out, point)
		}
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		t.Fatalf("a point comes twice: %q", out)
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
