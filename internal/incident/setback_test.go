package incident_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

func TestSetbacksAreCountedToldAndForgotten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	apply := func(ev incident.Event, count int, told, thread bool, note string) {
		t.Helper()
		res, err := incident.Apply(inc, ev, now)
		if err != nil {
			t.Fatal(err)
		}
		inc = res.Incident
		got := 0
		if inc.Setback != nil {
			got = inc.Setback.Count
		}
		if got != count || got > 0 && inc.Setback.Told != told || len(res.Entries) > 0 && res.Entries[0].Thread != thread ||
			!strings.Contains(present.Said(inc.Said), note) || note == "" && inc.Said.Kind != "" {
			t.Errorf("%+v: %d setbacks, %+v, note %q, entries %+v", ev, got, inc.Setback, present.Said(inc.Said), res.Entries)
		}
	}
	_, err := incident.Apply(inc, incident.SetBack{}, now)
	if _, ok := errors.AsType[*incident.RefusedError](err); !ok {
		t.Errorf("the end of no setback: %v", err)
	}
	at := now.Add(time.Minute)
	apply(incident.SetBack{How: incident.SetbackLost}, 1, false, false, "")
	apply(incident.SetBack{How: incident.SetbackPanic, Detail: "index out of range", RetryAt: at}, 2, true, true,
		"internal error. (index out of range) Next attempt at 03:01 UTC.")
	apply(incident.SetBack{How: incident.SetbackHung, RetryAt: at}, 3, true, false,
		"was given up. The same replica tries again only after that work ends or after a restart. Other replicas: "+
			"at 03:01 UTC.")
	apply(incident.SetBack{How: incident.SetbackHung, RetryAt: at, Parked: true}, 4, true, true,
		"attempt 4 in a row, so this incident is parked. Needs a human. The same replica tries again only after")
	apply(incident.SetBack{How: incident.SetbackHung, RetryAt: at, Parked: true}, 5, true, false,
		"Other replicas: at 03:01 UTC, or after any action on the incident.")
	if again := inc.RetryNow(); !again.Setback.RetryAt.IsZero() || again.Setback.Count != 5 ||
		inc.Setback.RetryAt.IsZero() {
		t.Errorf("a person's wish: %+v, before %+v", again.Setback, inc.Setback)
	}
	apply(incident.SetBack{}, 0, false, true, "")
	apply(incident.SetBack{How: incident.SetbackLost}, 1, false, false, "")
	res, err := incident.Apply(inc, incident.SetBack{}, now)
	if err != nil || len(res.Entries) != 0 || res.Incident.Setback != nil {
		t.Errorf("the end of what nobody was told of is told: %+v, %v", res.Entries, err)
	}
}

// Every open incident may meet a setback, and stays where it is.
func TestASetbackMovesNothing(t *testing.T) {
	t.Parallel()
	open := 0
	for _, tr := range incident.Transitions() {
		if tr.On == incident.KindSetback {
			open++
			if tr.From != tr.To {
				t.Errorf("a setback leads from %s to %s", tr.From, tr.To)
			}
		}
	}
	if want := len(incident.States()) - 1; open != want {
		t.Errorf("%d states take a setback, want %d", open, want)
	}
}
