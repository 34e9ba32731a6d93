package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// snapshotOf is one with something in every part of it.
func snapshotOf(diagnosis string) *incident.Snapshot {
	value, threshold := 7.2, 2.0
	return &incident.Snapshot{
		Of: incident.KindInvestigated, Step: "p1-s1", Alerts: []string{"HighTTFT"}, PlannedFor: "queueing",
		Asked: map[string]string{"ttft_p95": "a1b2"}, SLO: incident.SLO{TTFT: 2},
		Knobs: []incident.StepKind{incident.StepReplicas},
		Guards: &incident.GuardInputs{
			At: now, Mode: incident.ModeApprove, Locks: map[string]string{"Deployment/llm/x": "inc-2"},
			Writes: []incident.Write{{ID: "w", Pool: "llama", StartedAt: now}},
			Pauses: []incident.Pause{{Pool: "llama", Reason: "maintenance", At: now}},
		},
		Evidence: incident.Evidence{
			At: now, Absent: "no series", Dialect: "vllm",
			Readings: map[string]incident.Reading{
				"ttft_p95": {Signal: "ttft_p95", Value: &value, Threshold: &threshold, Unit: incident.UnitSeconds, At: now},
				"kv_usage": {Signal: "kv_usage", Error: "timeout", At: now},
			},
			Cluster: incident.Cluster{
				Replicas: new(int64(2)),
				Unread:   []incident.Unread{{Part: incident.PartCrashes, Why: "not allowed"}},
			},
		},
		Diagnosis: &incident.Diagnosis{Name: diagnosis, Evidence: []incident.Condition{{Text: "x", Truth: incident.True}}},
		Others:    []incident.Other{{Name: "other", Verdict: incident.Undecided, Missing: []string{"kv_usage"}}},
		Healthy:   incident.False, Requests: []incident.StepRequest{{Kind: incident.StepReplicas, Add: 1}},
		Chosen: map[incident.StepKind]int64{incident.StepReplicas: 3},
		Steps: []incident.Step{{
			Kind: incident.StepReplicas, From: incident.Set("2"), To: incident.Set("3"),
			Worked: &incident.Worked{From: 2, Up: true, Max: 8, MaxWhy: "HPA"},
		}},
	}
}

func TestSnapshotsComeBackAsTheyWereKept(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		ctx := t.Context()
		inc := create(t, s, "inc-1", "llama")
		create(t, s, "inc-2", "other")
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 1, Snapshot: snapshotOf("queueing")}))
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 2})) // most commits have none
		ok(t, s.Commit(ctx, incident.Change{Incident: inc, Expect: 3, Snapshot: snapshotOf("kv-cache-full")}))
		first, second := snapshotOf("queueing"), snapshotOf("kv-cache-full")
		first.Seq, second.Seq = 1, 2
		want := []incident.Snapshot{*first, *second}
		r, err := store.OpenReadOnly(ctx, url)
		ok(t, err)
		t.Cleanup(func() { ok(t, r.Close()) })
		for name, read := range map[string]func(context.Context, string) ([]incident.Snapshot, error){
			"the bot": s.Snapshots, "a reader": r.Snapshots,
		} {
			got, err := read(ctx, "inc-1")
			ok(t, err)
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: -want +got:\n%s", name, d)
			}
		}
		none, err := s.Snapshots(ctx, "inc-2")
		if err != nil || len(none) != 0 {
			t.Errorf("of another incident: %v, %v", none, err)
		}
		if _, err := s.Snapshots(ctx, "nope"); !errors.Is(err, incident.ErrNotFound) {
			t.Errorf("of an unknown incident: %v", err)
		}
	})
}

// A commit that is refused keeps nothing: the snapshot would be of something that did not happen.
func TestARefusedCommitKeepsNoSnapshot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		inc := create(t, s, "inc-1", "llama")
		err := s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 7, Snapshot: snapshotOf("queueing")})
		if !errors.Is(err, incident.ErrStale) {
			t.Fatal(err)
		}
		if got, err := s.Snapshots(t.Context(), "inc-1"); err != nil || len(got) != 0 {
			t.Errorf("%d snapshots, %v", len(got), err)
		}
	})
}

func TestAnIncidentKeepsTheFirstSnapshotAndTheNewest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, _ string) {
		inc := create(t, s, "inc-1", "llama")
		for n := range int64(40) {
			ok(t, s.Commit(t.Context(),
				incident.Change{Incident: inc, Expect: n + 1, Snapshot: snapshotOf(fmt.Sprint("cause-", n+1))}))
		}
		got, err := s.Snapshots(t.Context(), "inc-1")
		ok(t, err)
		var seqs, want []int64
		for _, one := range got {
			seqs = append(seqs, one.Seq)
			if name := fmt.Sprint("cause-", one.Seq); one.Diagnosis.Name != name {
				t.Errorf("number %d is %s", one.Seq, one.Diagnosis.Name)
			}
		}
		want = append(want, 1)
		for n := int64(18); n <= 40; n++ {
			want = append(want, n)
		}
		if d := cmp.Diff(want, seqs); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestSnapshotsGoWithTheirIncident(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		for id, at := range map[string]time.Time{"inc-old": now.Add(-91 * day), "inc-young": now.Add(-day)} {
			inc := create(t, s, id, id)
			inc.State, inc.ClosedAt = incident.StateClosed, at
			ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Snapshot: snapshotOf("queueing")}))
		}
		_, err := s.Prune(t.Context(), now, store.DefaultKeep)
		ok(t, err)
		if n := rowsOf(t, raw(t, url), "snapshots"); n != 1 {
			t.Errorf("%d snapshots are left, want that of the incident that stays", n)
		}
	})
}

// A bot of the version before left incidents and no snapshots; from now on they are kept for them, too.
func TestAStoreOfVersion2TakesSnapshots(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.Bare(t)
			storetest.FillVersion2(t, url, os.DirFS("migrations/"+e.Name))
			s := storetest.Open(t, url)
			if got, err := s.Snapshots(t.Context(), asking); err != nil || len(got) != 0 {
				t.Errorf("before: %d, %v", len(got), err)
			}
			inc, err := s.Incident(t.Context(), asking)
			ok(t, err)
			ok(t, s.Commit(t.Context(),
				incident.Change{Incident: inc, Expect: inc.Version, Snapshot: snapshotOf("queueing")}))
			if got, err := s.Snapshots(t.Context(), asking); err != nil || len(got) != 1 || got[0].Seq != 1 {
				t.Errorf("after: %+v, %v", got, err)
			}
		})
	}
}

// What somebody or a disk has damaged is an error, and never an incident without evidence.
func TestADamagedSnapshotIsAnError(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store.Store, url string) {
		inc := create(t, s, "inc-1", "llama")
		ok(t, s.Commit(t.Context(), incident.Change{Incident: inc, Expect: 1, Snapshot: snapshotOf("queueing")}))
		zeros := "x'1f8b0000'"
		if strings.HasPrefix(url, "postgres") {
			zeros = `'\x1f8b0000'`
		}
		_, err := raw(t, url).ExecContext(t.Context(), "UPDATE snapshots SET body = "+zeros)
		ok(t, err)
		if got, err := s.Snapshots(t.Context(), "inc-1"); err == nil {
			t.Errorf("read as %+v", got)
		}
	})
}
