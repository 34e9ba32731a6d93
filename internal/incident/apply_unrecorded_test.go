package incident

import (
	"fmt"
	"slices"
	"testing"
)

func without(object, id string) Note {
	at := Target{Kind: "Deployment", Namespace: "llm", Name: object}
	return Note{Kind: NoteUnrecorded, Target: at, LastWrite: &LastWrite{Target: at, ID: id}}
}

// toldOf applies investigations one after the other and returns the lines about records that are in the thread.
func toldOf(t *testing.T, inc Incident, found ...[]Note) (out []Note, tallied int) {
	t.Helper()
	for _, notes := range found {
		ev := Investigated{Evidence: Evidence{At: now}, Healthy: Undecided, Unrecorded: notes}
		res, err := Apply(inc, ev, now)
		if err != nil {
			t.Fatal(err)
		}
		inc = res.Incident
		for _, e := range res.Entries {
			if e.Said.Kind == NoteUnrecorded || e.Said.Kind == NoteRecordUnknown {
				if !e.Thread {
					t.Errorf("%s is not in the thread", e.Said.Kind)
				}
				out = append(out, e.Said)
			}
		}
		for _, c := range (Change{Incident: res.Incident, Expect: 1, Entries: res.Entries}).Tallies() {
			if c.Family == TallyUnrecorded {
				tallied++
			}
		}
	}
	return out, tallied
}

func TestAWriteWithoutARecordIsToldOncePerIncident(t *testing.T) {
	t.Parallel()
	one, two := without("llama", "inc-a.p1-s1.apply.1"), without("llama", "inc-a.p1-s1.undo.2")
	other, unknown := without("qwen", "inc-a.p1-s1.apply.1"), Note{Kind: NoteRecordUnknown, Why: "no answer"}
	later := Note{Kind: NoteRecordUnknown, Why: "no answer either"}
	got, tallied := toldOf(t, investigating(t), []Note{one}, []Note{one, other}, nil, []Note{one, unknown},
		[]Note{two, later}, []Note{one, two, other, unknown})
	if len(got) != 4 || tallied != 3 {
		t.Errorf("%d lines, %d counted, want 4 and 3: %+v", len(got), tallied, got)
	}
}

func TestWhatSomebodyWritesAgainAndAgainIsNotToldWithoutEnd(t *testing.T) {
	t.Parallel()
	var all [][]Note
	for n := range 10 * mostUnrecorded {
		all = append(all, []Note{without("llama", fmt.Sprint(n))})
	}
	if got, _ := toldOf(t, investigating(t), all...); len(got) != mostUnrecorded {
		t.Errorf("%d lines, want %d", len(got), mostUnrecorded)
	}
}

func TestAnInvestigationWithoutSuchAWriteSaysNothingOfRecords(t *testing.T) {
	t.Parallel()
	got, tallied := toldOf(t, investigating(t), nil, nil)
	if len(got) != 0 || tallied != 0 {
		t.Errorf("told %+v", got)
	}
	if !slices.Equal(investigating(t).Unrecorded, nil) {
		t.Error("an incident begins with something told")
	}
}
