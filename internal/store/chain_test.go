package store_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/audit"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// journaled is a store with an incident of five entries in three commits.
func journaled(t *testing.T, s *store.Store, id string) {
	t.Helper()
	inc := fresh(id, "pool-"+id)
	entry := func(text string) incident.Entry {
		return incident.Entry{At: now, Kind: incident.KindAlerts, Text: text, Thread: true}
	}
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Entries: []incident.Entry{entry("one"), entry("two")}}))
	inc.State = incident.StateInvestigating
	ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Entries: []incident.Entry{entry("three")}}))
	ok(t, s.Commit(t.Context(),
		incident.Change{Incident: inc, Expect: 2, Entries: []incident.Entry{entry("four, \"ü\" <5>"), entry("five")}}))
}

// found reads the journals as the command line does, and says what is wrong with each.
func found(t *testing.T, url string, heads map[string][]string) map[string][]string {
	t.Helper()
	r, err := store.OpenReadOnly(t.Context(), url)
	ok(t, err)
	ids, err := r.Audited(t.Context())
	ok(t, err)
	out := map[string][]string{}
	for _, id := range ids {
		c, _, err := r.Chain(t.Context(), id)
		ok(t, err)
		for _, f := range audit.Check(c, heads[id]...) {
			out[id] = append(out[id], f.What)
		}
	}
	ok(t, r.Close())
	return out
}

func tamper(t *testing.T, url string, statements ...string) {
	t.Helper()
	ok(t, storetest.Tamper(t.Context(), url, statements...))
}

func TestAJournalIsChainedInTheCommitThatWritesIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		journaled(t, s, "inc-a")
		journaled(t, s, "inc-b")
		if got := found(t, url, nil); len(got) > 0 {
			t.Errorf("a journal that nobody touched: %v", got)
		}
		inc, err := s.IncidentWithJournal(t.Context(), "inc-a")
		ok(t, err)
		heads := map[string][]string{}
		for _, e := range inc.Journal {
			if len(e.Hash) != 64 {
				t.Errorf("entry %d has the hash %q", e.Seq, e.Hash)
			}
			heads["inc-a"] = append(heads["inc-a"], audit.Short(e.Hash))
		}
		if got := found(t, url, heads); len(got) > 0 {
			t.Errorf("with every head that it had: %v", got)
		}
		// What failed to commit is not in the chain.
		inc.Pool = "pool-inc-b"
		err = s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 3, Entries: []incident.Entry{{Text: "six"}}},
			incident.Change{Incident: fresh("inc-c", "pool-inc-b")})
		if err == nil {
			t.Fatal("a second open incident of a pool was committed")
		}
		if got := found(t, url, heads); len(got) > 0 {
			t.Errorf("after a commit that failed: %v", got)
		}
	})
}

func TestWhatSomebodyDoesToAJournalIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   []string
		want string
	}{
		"a changed entry": {
			[]string{`UPDATE journal SET body = '{"seq":2,"text":"nothing happened"}' WHERE incident = 'inc-a' AND seq = 2`},
			"Entry 2 was changed, added or moved.",
		},
		"a removed entry": {
			[]string{`DELETE FROM journal WHERE incident = 'inc-a' AND seq = 3`}, "Entry 3 is missing.",
		},
		"the end removed": {
			[]string{`DELETE FROM journal WHERE incident = 'inc-a' AND seq > 3`},
			"Entries 4 to 5 are missing at the end.",
		},
		"an added entry": {
			[]string{`INSERT INTO journal (incident, seq, body) VALUES ('inc-a', 6, '{}')`}, "Entry 6 has no hash",
		},
		"two entries in another order": {
			[]string{
				`UPDATE journal SET seq = 20 WHERE incident = 'inc-a' AND seq = 2`,
				`UPDATE journal SET seq = 2 WHERE incident = 'inc-a' AND seq = 3`,
				`UPDATE journal SET seq = 3 WHERE incident = 'inc-a' AND seq = 20`,
			},
			"Entry 2 was changed, added or moved.",
		},
		"another head": {
			[]string{`UPDATE chains SET head = 'f00' WHERE incident = 'inc-a'`}, "The noted head f00 is not the hash of",
		},
		"the note removed": {
			[]string{`DELETE FROM chains WHERE incident = 'inc-a'`}, "The note of how many entries it has is missing.",
		},
		"all of it removed, as if its time were over": {
			[]string{
				`UPDATE chains SET removed_at = 1, reason = 'retention' WHERE incident = 'inc-a'`,
				`DELETE FROM journal WHERE incident = 'inc-a'`,
			},
			"It is noted as removed, and the store has the incident.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s *store.Store, url string) {
				journaled(t, s, "inc-a")
				journaled(t, s, "inc-b")
				tamper(t, url, tt.do...)
				got := found(t, url, nil)
				if len(got["inc-a"]) == 0 || !strings.HasPrefix(got["inc-a"][0], tt.want) || len(got["inc-b"]) > 0 {
					t.Errorf("found %q, want %q about inc-a and nothing about inc-b", got, tt.want)
				}
			})
		})
	}
}

// The guards stop what is done by mistake, whoever speaks to the database.
func TestTheNoteOfAChainOnlyGrows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		journaled(t, s, "inc-a")
		db := raw(t, url)
		for _, q := range []string{
			`DELETE FROM chains`, `UPDATE chains SET entries = 3`, `UPDATE chains SET head = 'f00'`,
			`UPDATE chains SET incident = 'inc-b'`,
		} {
			if _, err := db.ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "only grow") {
				t.Errorf("%s: %v", q, err)
			}
		}
		if got := found(t, url, nil); len(got) > 0 {
			t.Error(got)
		}
	})
}

// The bot goes on over a journal that somebody has shortened, and does not cover that up.
func TestABreakStaysWhenTheJournalGoesOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		journaled(t, s, "inc-a")
		tamper(t, url, `DELETE FROM journal WHERE incident = 'inc-a' AND seq > 3`)
		inc, err := s.Incident(t.Context(), "inc-a")
		ok(t, err)
		ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 3, Entries: []incident.Entry{{Text: "six"}}}))
		if d := cmp.Diff(map[string][]string{"inc-a": {"Entries 4 to 5 are missing."}}, found(t, url, nil)); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

// What retention takes leaves the note that it did, with the head that the log and Slack have had.
func TestARemovedJournalLeavesANote(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, log *lines) {
		closed(t, s, "inc-old", now.Add(-91*day), now.Add(-91*day))
		inc, err := s.IncidentWithJournal(t.Context(), "inc-old")
		ok(t, err)
		head := audit.Short(inc.Journal[len(inc.Journal)-1].Hash)
		got, err := s.Prune(t.Context(), now, store.DefaultKeep)
		ok(t, err)
		if got.Incidents != 1 {
			t.Fatalf("removed %+v", got)
		}
		if log.count("removed from the store after its time\" incident=inc-old entries=1 head="+head) != 1 {
			t.Errorf("the log does not name the head %s once", head)
		}
		for given, want := range map[string][]string{
			head: nil, "0123456789ab": {
				"The head 0123456789ab cannot be checked: the journal was removed at " +
					now.Format("2006-01-02 15:04 UTC") + " (retention), and its last head was " + head + ".",
			},
		} {
			if d := cmp.Diff(want, found(t, url, map[string][]string{"inc-old": {given}})["inc-old"]); d != "" {
				t.Errorf("the head %s: -want +got:\n%s", given, d)
			}
		}
	})
}

// A head goes into the log with each state, once, and what is not committed is not said.
func TestTheLogHasTheHeadOfEachState(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, _ string, log *lines) {
		journaled(t, s, "inc-a")
		inc, err := s.IncidentWithJournal(t.Context(), "inc-a")
		ok(t, err)
		if err := s.Commit(t.Context(), incident.Change{
			Incident: fresh("inc-b", "pool-inc-a"), Entries: []incident.Entry{{Text: "no"}},
		}); err == nil {
			t.Fatal("a second open incident of a pool was committed")
		}
		const line = "an incident is in another state\""
		for _, want := range []string{
			" incident=inc-a pool=pool-inc-a state=received entries=2 head=" + audit.Short(inc.Journal[1].Hash) + "\n",
			" incident=inc-a pool=pool-inc-a state=investigating entries=3 head=" + audit.Short(inc.Journal[2].Hash) + "\n",
		} {
			if log.count(line+want) != 1 {
				t.Errorf("the log does not have once %q", want)
			}
		}
		if n := log.count(line); n != 2 {
			t.Errorf("the log has %d heads, want 2", n)
		}
	})
}

// A process that is killed between a commit and its line in the log leaves that line to the next one: the head of every
// incident that is open or closed lately, and of no other.
func TestTheHeadsAreInTheLogAfterAKill(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, _ *lines) { // nobody has this log any more
		journaled(t, s, "inc-open")
		closed(t, s, "inc-closed", time.Now().Add(-time.Hour), time.Now().Add(-time.Hour))
		closed(t, s, "inc-old", time.Now().Add(-25*time.Hour), time.Now().Add(-25*time.Hour))
		want := map[string]int{"inc-open": 1, "inc-closed": 1, "inc-old": 0}
		heads := map[string]string{}
		for id := range want {
			inc, err := s.IncidentWithJournal(t.Context(), id)
			ok(t, err)
			heads[id] = audit.Short(inc.Journal[len(inc.Journal)-1].Hash)
		}
		ok(t, s.Close())
		log := &lines{}
		storetest.Open(t, url, func(o *store.Options) { o.Logger = log.logger() })
		for id, n := range want {
			line := "the journal of an incident continues from here\" incident=" + id + " "
			if got := log.count(line); got != n {
				t.Errorf("%s is in the log %d times, want %d", id, got, n)
			}
			if got := log.count("head=" + heads[id]); got != n {
				t.Errorf("the head %s of %s is in the log %d times, want %d", heads[id], id, got, n)
			}
		}
		if got := found(t, url, map[string][]string{"inc-open": {heads["inc-open"]}}); len(got) > 0 {
			t.Errorf("with the head from the log: %v", got)
		}
	})
}

// Entries from before there were hashes get one head over all of them at the first start, and no change of theirs after
// it goes unseen.
func TestAJournalFromBeforeIsChainedAtTheFirstStart(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Bare(t)
			storetest.FillVersion2(t, url, os.DirFS("migrations/"+e.Name))
			s := storetest.Open(t, url)
			ctx := t.Context()
			if got := found(t, url, nil); len(got) > 0 {
				t.Fatalf("after the first start: %v", got)
			}
			inc, err := s.Incident(ctx, asking)
			ok(t, err)
			ok(t, s.Commit(ctx, incident.Change{
				Incident: inc, Expect: inc.Version, Entries: []incident.Entry{{At: leftAt.Add(time.Hour), Text: "on"}},
			}))
			if got := found(t, url, nil); len(got) > 0 {
				t.Fatalf("after it went on: %v", got)
			}
			ok(t, s.Close())
			s = storetest.Open(t, url) // a second start chains nothing again
			ok(t, s.Close())
			if got := found(t, url, nil); len(got) > 0 {
				t.Fatalf("after the second start: %v", got)
			}
			tamper(t, url, `UPDATE journal SET body = '{}' WHERE seq = 2`)
			if d := cmp.Diff(map[string][]string{
				asking:   {"One of the entries 1 to 5 was changed, added or moved."},
				settling: {"One of the 7 entries from before journals were chained was changed, added or moved."},
				over:     {"One of the 8 entries from before journals were chained was changed, added or moved."},
			}, found(t, url, nil)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
