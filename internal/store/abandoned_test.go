package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// Whether the claim before was given back is all that is known of a process that ended in the middle of its work.
func TestAClaimSaysWhetherTheOneBeforeWasGivenBack(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			url := engine.URL(t)
			s := storetest.Open(t, url)
			at := s.Now()
			inc := incident.New("inc-1", "llama", incident.ModeApprove, false, at)
			if err := s.Commit(t.Context(), incident.Change{Incident: inc, DueAt: at}); err != nil {
				t.Fatal(err)
			}
			claim := func(want bool) incident.Claimed {
				t.Helper()
				at = at.Add(2 * time.Minute)
				got, err := s.ClaimDue(t.Context(), "me", at, time.Minute, 1)
				if err != nil || len(got) != 1 || got[0].Abandoned != want {
					t.Fatalf("claimed %+v, %v; abandoned should be %v", got, err, want)
				}
				return got[0]
			}
			first := claim(false)
			if err := s.ReleaseClaim(t.Context(), "inc-1", first.Fence, first.Incident.Version, at); err != nil {
				t.Fatal(err)
			}
			claim(false)
			third := claim(true)
			change := incident.Change{
				Incident: third.Incident, Expect: third.Incident.Version, Fence: third.Fence, DueAt: at,
				Release: true,
			}
			if err := s.Commit(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			claim(false)
		})
	}
}

// On SQLite the next process frees the claims of the last one, and still knows of them.
func TestANewProcessOnSQLiteKnowsWhatWasCutOff(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	s := storetest.Open(t, url)
	at := s.Now()
	if err := s.Commit(t.Context(),
		incident.Change{Incident: incident.New("inc-1", "llama", incident.ModeApprove, false, at), DueAt: at}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.ClaimDue(t.Context(), "me", at, time.Hour, 1); err != nil || len(got) != 1 || got[0].Abandoned {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	next := storetest.Open(t, url)
	if got, err := next.ClaimDue(t.Context(), "you", at, time.Hour, 1); err != nil || len(got) != 1 || !got[0].Abandoned {
		t.Errorf("%+v, %v", got, err)
	}
}
