package efficacy_test

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/efficacy"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// failures makes an error in the bot's log a failure of the test.
type failures struct{ t *testing.T }

func (f failures) Write(line []byte) (int, error) {
	f.t.Errorf("the bot logs: %s", line)
	return len(line), nil
}

func stage(t *testing.T) *efficacy.Stage {
	t.Helper()
	size.Needs(t, size.Large)
	st, err := efficacy.NewStage(slog.New(slog.NewTextHandler(failures{t}, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func script(t *testing.T, name string) trial.Script {
	t.Helper()
	s, err := trial.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheBotHealsASurge(t *testing.T) {
	t.Parallel()
	st, s := stage(t), script(t, "surge")
	alone, healed := st.Play(t, s, 1, efficacy.Nobody), st.Play(t, s, 1, efficacy.Instant)
	if healed.Violation >= alone.Violation || healed.Lost >= alone.Lost || healed.GPU <= alone.GPU {
		t.Errorf("%+v alone, %+v with the bot", alone.Measure, healed.Measure)
	}
	if len(healed.Steps) == 0 || healed.Steps[0].From != 3 || healed.Steps[0].To <= 3 {
		t.Fatalf("steps %+v, want more replicas first", healed.Steps)
	}
	if healed.Fired <= 0 || healed.Opened < healed.Fired || healed.Asked < healed.Opened || healed.Asked > 10*time.Minute {
		t.Errorf("alert after %s, incident after %s, question after %s", healed.Fired, healed.Opened, healed.Asked)
	}
	var kinds []incident.EventKind
	for _, e := range healed.Incidents[0].Journal {
		kinds = append(kinds, e.Kind)
	}
	for _, kind := range []incident.EventKind{incident.KindInvestigated, incident.KindDecided, incident.KindWritten} {
		if !strings.Contains(joined(kinds), string(kind)) {
			t.Errorf("the journal has %s, want %s among it", joined(kinds), kind)
		}
	}
}

func joined(kinds []incident.EventKind) string {
	var b strings.Builder
	for _, k := range kinds {
		b.WriteString(string(k) + " ")
	}
	return b.String()
}

func TestTheBotLeavesAHealthyFleetAlone(t *testing.T) {
	t.Parallel()
	st := stage(t)
	for _, name := range []string{"low-load", "caches-dropped", "crash"} {
		got := st.Play(t, script(t, name), 1, efficacy.Instant)
		if got.Changes != 0 || got.Asked != efficacy.Never || got.Violation > 0 {
			t.Errorf("%s: %+v with the steps %+v, want nothing done", name, got.Measure, got.Steps)
		}
	}
}

func TestAPersonDeletesThePodThatTheBotNames(t *testing.T) {
	t.Parallel()
	st, s := stage(t), script(t, "sick-gpu")
	for _, hand := range []string{efficacy.Instant, efficacy.Human} {
		got := st.Play(t, s, 1, hand)
		var deleted []efficacy.Step
		for _, s := range got.Steps {
			if s.Deleted != "" {
				deleted = append(deleted, s)
			}
		}
		if len(deleted) != 1 || deleted[0].Deleted != "llama-70b-0" || deleted[0].Effect == efficacy.Harmful {
			t.Errorf("%s: steps %+v, want the one sick pod deleted", hand, got.Steps)
		}
		if got.Violation > 12 {
			t.Errorf("%s: %+v, want it cured", hand, got.Measure)
		}
	}
}

func TestTheSamePlayComesOutTheSame(t *testing.T) {
	t.Parallel()
	st := stage(t)
	for _, hand := range []string{efficacy.Human, efficacy.Naive} {
		first, again := st.Play(t, script(t, "surge"), 3, hand), st.Play(t, script(t, "surge"), 3, hand)
		if !reflect.DeepEqual(first.Course, again.Course) || !reflect.DeepEqual(first.Steps, again.Steps) ||
			first.Asked != again.Asked {
			t.Errorf("%s: %+v and %+v, with %+v and %+v", hand, first.Measure, again.Measure, first.Steps, again.Steps)
		}
		if other := st.Play(t, script(t, "surge"), 4, hand); reflect.DeepEqual(first.Course, other.Course) {
			t.Errorf("%s: another seed gives the same course", hand)
		}
	}
}

func TestWhoeverFollowsTheRunbookBlindlyGoesOnAndOn(t *testing.T) {
	t.Parallel()
	got := stage(t).Play(t, script(t, "sick-gpu"), 1, efficacy.Naive)
	if len(got.Steps) < 2 || got.Opened != efficacy.Never || len(got.Incidents) != 0 {
		t.Errorf("steps %+v, want replicas again and again, and no bot", got.Steps)
	}
}
