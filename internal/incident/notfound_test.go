package incident

import (
	"testing"
	"time"
)

// A look that finds no cause leaves the diagnosis of before where it is shown: the note says of when that is, until it
// is found again. The two must never contradict each other.
func TestADiagnosisThatIsNotFoundAgainIsDated(t *testing.T) {
	t.Parallel()
	unfound := func(at time.Time) Investigated {
		return Investigated{Evidence: Evidence{At: at}, Note: "No known cause: no diagnosis matches.", Healthy: False}
	}
	undecided := unfound(now.Add(time.Minute))
	undecided.Healthy = Undecided
	advice := Step{Kind: StepManual, Title: "Delete the pod"}
	dated := Note{Kind: NoteNotFoundAgain, At: now}

	watching := must(t, investigating(t), found("one-bad-replica", advice))
	if watching.State != StateWatching || watching.Said.Kind != NoteManualOnly {
		t.Fatalf("state %s, note %+v", watching.State, watching.Said)
	}
	for _, tt := range []struct {
		name   string
		inc    Incident
		events []Event
		want   Note
	}{
		{"watched", watching, []Event{unfound(now.Add(time.Minute))}, dated},
		{
			"watched, twice", watching,
			[]Event{unfound(now.Add(time.Minute)), unfound(now.Add(2 * time.Minute))},
			dated,
		},
		{
			"watched, found again", watching,
			[]Event{unfound(now.Add(time.Minute)), found("one-bad-replica", advice)},
			Note{Kind: NoteManualOnly},
		},
		{"asked, Prometheus away", deciding(t, scaleStep("2", "3")), []Event{undecided}, dated},
		{
			"asked, found again", deciding(t, scaleStep("2", "3")),
			[]Event{undecided, found("queueing", scaleStep("2", "3"))},
			Note{},
		},
		{
			"never diagnosed", must(t, investigating(t), unfound(now)),
			[]Event{unfound(now.Add(time.Minute))},
			Text("No known cause: no diagnosis matches."),
		},
	} {
		inc := must(t, tt.inc, tt.events...)
		if got := inc.Said; got.Kind != tt.want.Kind || !got.At.Equal(tt.want.At) || got.Why != tt.want.Why {
			t.Errorf("%s: note %+v, want %+v", tt.name, got, tt.want)
		}
		if (inc.Diagnosis != nil) != (tt.name != "never diagnosed") {
			t.Errorf("%s: diagnosis %+v", tt.name, inc.Diagnosis)
		}
	}
}
