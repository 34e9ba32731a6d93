package report_test

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
)

// lasting is a life in which three looks in a row find another cause than the one that is asked about.
func lasting(l *reporttest.Life, cause string, steps ...incident.Step) *reporttest.Life {
	for range 3 {
		l = l.Wait(20*time.Second).Find(cause, steps...)
	}
	return l
}

func TestRequestsAreCountedByHowTheyEnded(t *testing.T) {
	t.Parallel()
	two := scale()
	two.Needs.Approvals = 2
	for _, tc := range []struct {
		name string
		life func(t *testing.T) *reporttest.Life
		want report.Approvals
	}{
		{
			"approved in Slack", func(t *testing.T) *reporttest.Life { return written(t) },
			report.Approvals{Requests: 1, Approved: 1, By: []report.Surface{{Name: "slack", Approved: 1}}},
		},
		{
			"approved on the command line by the second of two", func(t *testing.T) *reporttest.Life {
				return asked(t, two).Wait(time.Minute).Approve("p1-s1", incident.Actor{Kind: "kubernetes", ID: "cy"}).
					Wait(2*time.Minute).Approve("p1-s1", reporttest.Bob)
			},
			report.Approvals{Requests: 1, Approved: 1, By: []report.Surface{{Name: "kubernetes", Approved: 1}}},
		},
		{
			"denied as a whole", func(t *testing.T) *reporttest.Life { return asked(t).Wait(3*time.Minute).Deny("", alice) },
			report.Approvals{Requests: 1, Denied: 1, By: []report.Surface{{Name: "slack", Denied: 1}}},
		},
		{
			"one of two denied, the other approved", func(t *testing.T) *reporttest.Life {
				return asked(t, throttle(), scale()).Wait(time.Minute).Deny("p1-s1", alice).Wait(2*time.Minute).
					Approve("p1-s2", alice)
			},
			report.Approvals{Requests: 1, Approved: 1, By: []report.Surface{{Name: "slack", Approved: 1, Denied: 1}}},
		},
		{
			"the only one denied", func(t *testing.T) *reporttest.Life {
				return asked(t).Wait(3*time.Minute).Deny("p1-s1", alice).Wait(time.Hour).Healthy().Close()
			},
			report.Approvals{Requests: 1, Denied: 1, By: []report.Surface{{Name: "slack", Denied: 1}}},
		},
		{
			"stopped", func(t *testing.T) *reporttest.Life {
				return asked(t).Wait(3 * time.Minute).Do(incident.Aborted{By: alice, Reason: "we know"})
			},
			report.Approvals{Requests: 1, Denied: 1, By: []report.Surface{}},
		},
		{
			"nobody answered", func(t *testing.T) *reporttest.Life { return asked(t).Wait(time.Hour).Do(incident.Expired{}) },
			report.Approvals{Requests: 1, Unanswered: 1, By: []report.Surface{}},
		},
		{
			"one of two approved, and that was all", func(t *testing.T) *reporttest.Life {
				return asked(t, two).Approve("p1-s1", alice).Wait(time.Hour).Do(incident.Expired{})
			},
			report.Approvals{Requests: 1, Partly: 1, By: []report.Surface{}},
		},
		{
			"it recovered first", func(t *testing.T) *reporttest.Life { return asked(t).Wait(time.Minute).Healthy().Close() },
			report.Approvals{Requests: 1, Withdrawn: 1, By: []report.Surface{}},
		},
		{
			"another plan took its place", func(t *testing.T) *reporttest.Life {
				return lasting(asked(t), "kv_thrash", throttle()).Ask().Wait(3*time.Minute).Approve("p2-s1", alice)
			},
			report.Approvals{
				Requests: 2, Approved: 1, Withdrawn: 1, By: []report.Surface{{Name: "slack", Approved: 1}},
			},
		},
		{
			"another cause left nothing to ask", func(t *testing.T) *reporttest.Life {
				return lasting(asked(t), "engine_dead")
			},
			report.Approvals{Requests: 1, Withdrawn: 1, By: []report.Surface{}},
		},
		{
			"still asked", func(t *testing.T) *reporttest.Life { return asked(t) },
			report.Approvals{Requests: 1, Open: 1, By: []report.Surface{}},
		},
		{
			"policy decided and nobody was asked", func(t *testing.T) *reporttest.Life {
				return open(t).Find("queueing", scale()).Approve("p1-s1", policy)
			},
			report.Approvals{By: []report.Surface{{Name: "policy", Approved: 1}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := of(tc.life(t)).Total.Approvals
			answered := tc.want.Approved + tc.want.Denied
			if tc.want.Requests == 0 {
				answered = 0
			}
			tc.want.Wait = report.Spread{Samples: answered, Of: answered + tc.want.Unanswered + tc.want.Partly}
			if answered > 0 {
				tc.want.Wait.Longest = minutes(3)
			}
			same(t, "approvals", got, tc.want)
		})
	}
}

func TestRollbacksAreCountedByHowTheyEnded(t *testing.T) {
	t.Parallel()
	offered := func(t *testing.T) *reporttest.Life {
		t.Helper()
		return written(t).Wait(5 * time.Minute).Judge(incident.VerdictUnchanged)
	}
	for _, tc := range []struct {
		name   string
		life   func(t *testing.T) *reporttest.Life
		want   report.Rollbacks
		undone int
	}{
		{
			"rolled back", func(t *testing.T) *reporttest.Life { return offered(t).Undo("p1-s1", alice) },
			report.Rollbacks{Requests: 1, RolledBack: 1},
			1,
		},
		{
			"kept", func(t *testing.T) *reporttest.Life {
				return offered(t).Do(incident.Decided{Decision: incident.Decision{Step: "p1-s1", Verb: incident.Keep, By: alice}})
			},
			report.Rollbacks{Requests: 1, Kept: 1},
			0,
		},
		{
			"nobody answered", func(t *testing.T) *reporttest.Life { return offered(t).Wait(time.Hour).Do(incident.Expired{}) },
			report.Rollbacks{Requests: 1, Unanswered: 1},
			0,
		},
		{
			"it recovered", func(t *testing.T) *reporttest.Life { return offered(t).Wait(time.Minute).Healthy() },
			report.Rollbacks{Requests: 1, Other: 1},
			0,
		},
		{
			"never offered, and rolled back all the same", func(t *testing.T) *reporttest.Life {
				return written(t).Judge(incident.VerdictRecovered).Undo("p1-s1", alice)
			},
			report.Rollbacks{},
			1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := of(tc.life(t)).Total
			same(t, "rollbacks", got.Rollbacks, tc.want)
			same(t, "undone", got.Changes.Undone, tc.undone)
			same(t, "requests to approve", got.Approvals.Requests, 1)
		})
	}
}
