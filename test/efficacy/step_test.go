package efficacy

import (
	"log/slog"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
	"github.com/vllm-medic/vllm-medic/test/size"
)

func judgedSteps(t *testing.T, script string, changes ...change) []Step {
	t.Helper()
	size.Needs(t, size.Large)
	s, err := trial.Find(script)
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for i := range changes {
		changes[i].At = epoch.Add(changes[i].At.Sub(time.Time{}))
	}
	st, err := NewStage(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	again := func(some []change) (trial.Course, error) { return st.again(t, s, 1, some) }
	whole, err := again(changes)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := judge(settings{Replicas: 3}, changes, epoch, whole, again)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// A change is judged by playing again without it, which says something only if playing again with it is the play.
func TestPlayingAgainWithTheSameChangesIsThePlay(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	st, err := NewStage(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, hand string
		seed         uint64
	}{{"many-sequences", Human, 10}, {"small-budget", Naive, 1}, {"sick-gpu", Instant, 1}} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			s, err := trial.Find(c.script)
			if err != nil {
				t.Fatal(err)
			}
			out := Result{Script: s.Name, Hand: c.hand, Seed: c.seed}
			var changes []change
			dir := t.TempDir()
			synctest.Test(t, func(*testing.T) { changes, err = st.simulated(dir, s, &out) })
			if err != nil || len(changes) == 0 {
				t.Fatalf("%d changes, %v, want some", len(changes), err)
			}
			again, err := st.again(t, s, c.seed, changes)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(again.Minutes, out.Minutes) {
				t.Errorf("with the changes %+v came\n%+v, and again\n%+v", changes, out.Minutes, again.Minutes)
			}
		})
	}
}

// after is a time since the fleet's start.
func after(d time.Duration) time.Time { return time.Time{}.Add(d) }

func TestAStepIsJudgedByWhatWouldHaveBeenWithoutIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		changes      []change
		want         []Effect
	}{
		{
			"more replicas in a surge help, and more than enough do nothing", "surge",
			[]change{
				{At: after(12 * time.Minute), Settings: settings{Replicas: 7}},
				{At: after(30 * time.Minute), Settings: settings{Replicas: 8}},
			},
			[]Effect{Helped, Nothing},
		},
		{
			"fewer replicas in a surge hurt", "surge",
			[]change{
				{At: after(6 * time.Minute), Settings: settings{Replicas: 8}},
				{At: after(30 * time.Minute), Settings: settings{Replicas: 3}},
			},
			[]Effect{Helped, Harmful},
		},
		{
			"taking back what nobody needs is harmless", "low-load",
			[]change{
				{At: after(10 * time.Minute), Settings: settings{Replicas: 4}},
				{At: after(20 * time.Minute), Settings: settings{Replicas: 3}},
			},
			[]Effect{Nothing, Harmless},
		},
		{
			"the sick pod is the one to delete, and not another", "sick-gpu",
			[]change{
				{At: after(15 * time.Minute), Settings: settings{Replicas: 3}, Deleted: "llama-70b-1"},
				{At: after(25 * time.Minute), Settings: settings{Replicas: 3}, Deleted: "llama-70b-0"},
			},
			[]Effect{Harmful, Helped},
		},
		{
			"at the end nothing shows any more", "surge",
			[]change{{At: after(47 * time.Minute), Settings: settings{Replicas: 8}}},
			[]Effect{Unjudged},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			steps := judgedSteps(t, c.script, c.changes...)
			for i, s := range steps {
				if s.Effect != c.want[i] {
					t.Errorf("step %d is %+v, want %s", i, s, c.want[i])
				}
			}
		})
	}
}

func TestAHarmfulStepStandsUnlessItIsTakenBack(t *testing.T) {
	t.Parallel()
	enough := change{At: after(6 * time.Minute), Settings: settings{Replicas: 8}}
	fewer := change{At: after(20 * time.Minute), Settings: settings{Replicas: 3}}
	if s := judgedSteps(t, "surge", enough, fewer); !standing(s[1]) || standing(s[0]) {
		t.Errorf("%+v, want the second to stand", s)
	}
	again := change{At: after(25 * time.Minute), Settings: settings{Replicas: 8}}
	s := judgedSteps(t, "surge", enough, fewer, again)
	if standing(s[1]) || s[1].Effect != Harmful || s[2].Effect != Helped {
		t.Errorf("%+v, want the harmful one to be taken back by one that helps", s)
	}
}

func TestPeopleAreTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	first, again := human("surge", 1), human("surge", 1)
	never, late := 0, 0
	const questions = 1000
	for range questions {
		d, ever := first.delay()
		if other, same := again.delay(); other != d || same != ever {
			t.Fatalf("%s, %t and %s, %t", d, ever, other, same)
		}
		if !ever {
			never++
		}
		if d > typicalDelay {
			late++
		}
	}
	if never < questions/20 || never > questions/5 || late < questions*2/5 || late > questions*3/5 {
		t.Errorf("of %d questions %d are never answered and %d late, want a tenth and a half", questions, never, late)
	}
	now := time.Unix(0, 0)
	p := &person{due: map[string]time.Time{}, delay: func() (time.Duration, bool) { return time.Minute, true }}
	if p.answers("a", now) || !p.answers("a", now.Add(time.Minute)) || p.answers("b", now.Add(time.Minute)) {
		t.Error("want an answer a minute after each question")
	}
	p.delay = func() (time.Duration, bool) { return 0, false }
	if p.answers("c", now) || p.answers("c", now.Add(time.Hour)) {
		t.Error("want no answer at all")
	}
}

func TestTheRunbookIsTheFirstStepOfEachPlaybook(t *testing.T) {
	t.Parallel()
	book, err := readRunbook()
	if err != nil {
		t.Fatal(err)
	}
	if s := book["vLLMQueueBacklog"]; s.add < 1 {
		t.Errorf("a backlog leads to %+v, want replicas", s)
	}
	if _, known := book["vLLMBadReplica"]; known {
		t.Error("what is only done by hand is no step")
	}
	args := withTokens([]string{"--a", tokensFlag + "1000"}, .5)
	if len(args) != 2 || args[1] != tokensFlag+"500" {
		t.Errorf("got %q", args)
	}
	if args := withTokens(nil, 10); len(args) != 1 || args[0] != tokensFlag+"16384" {
		t.Errorf("got %q, want the most that is allowed", args)
	}
}
