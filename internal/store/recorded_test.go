package store_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// wrote makes a closed incident with one write under its real name.
func wrote(t *testing.T, s *store.Store, id string, at time.Time) incident.WriteID {
	t.Helper()
	w := incident.WriteID{Incident: id, Step: "p1-s1", Op: incident.OpApply, Since: at}
	inc := create(t, s, id, "pool-"+id)
	row := &incident.Write{
		ID: w.String(), Incident: id, Step: w.Step, Pool: inc.Pool, Kind: incident.StepReplicas, Target: "t", Op: w.Op,
		StartedAt: at,
	}
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Claim: row, Entries: []incident.Entry{{}}}))
	row.EndedAt, row.Result = at.Add(time.Second), incident.ResultApplied
	inc.State, inc.ClosedAt = incident.StateClosed, at
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 2, Finish: row}))
	return w
}

func TestAWriteIsRecordedAlsoWhenItsIncidentWasRemoved(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		old, young := wrote(t, s, "inc-old", now.Add(-91*day)), wrote(t, s, "inc-young", now.Add(-day))
		if got, err := s.Prune(t.Context(), now, store.DefaultKeep); err != nil || got.Incidents != 1 {
			t.Fatalf("removed %+v, %v", got, err)
		}
		for _, w := range []incident.WriteID{old, young} {
			if known, err := s.Recorded(t.Context(), w); err != nil || !known {
				t.Errorf("%s: %v %v", w, known, err)
			}
		}
	})
}

func TestAWriteThatTheDatabaseNeverHadIsNotRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		w := wrote(t, s, "inc-1", now.Add(-day))
		undo, later, elsewhere := w, w, w
		undo.Op, later.Since, elsewhere.Incident = incident.OpUndo, w.Since.Add(time.Second), "inc-2"
		for _, w := range []incident.WriteID{undo, later, elsewhere} {
			// The incident itself may be there: the backup is from before the write.
			if known, err := s.Recorded(t.Context(), w); err != nil || known {
				t.Errorf("%s: %v %v", w, known, err)
			}
		}
	})
}

func TestADatabaseThatCannotBeReadDoesNotSayWhatIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		w := wrote(t, s, "inc-1", now.Add(-day))
		ok(t, s.Close())
		if known, err := s.Recorded(t.Context(), w); err == nil || known {
			t.Errorf("%v without an error", known)
		}
	})
}
