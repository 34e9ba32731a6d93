package slack

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Whoever is called when nobody else has decided may decide from then on, and not before.
func TestFurtherApproversAreRefusedBeforeTheirTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		waited  time.Duration
		request bool
		want    string
	}{
		"before":           {5 * time.Minute, true, "You can't decide on this"},
		"after":            {15 * time.Minute, true, "Approved"},
		"nobody was asked": {15 * time.Minute, false, "You can't decide on this"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc := asked(t, incident.ModeApprove).inc
			inc.Request = nil
			if tc.request {
				inc.Request = &incident.Request{At: time.Now().Add(-tc.waited)}
			}
			f := newOffice(t, InteractionsConfig{}, inc)
			f.desk.approvers = incident.Approvers{
				Users:    []string{"U0ALICE"},
				Escalate: []incident.Escalation{{After: 10 * time.Minute, Groups: []string{"S0ONCALL"}}},
			}
			if got := f.click(f.request("U0BOB", "approve:p1-s3")); !strings.Contains(got, tc.want) {
				t.Errorf("answer = %q, want %q in it", got, tc.want)
			}
			if n := len(f.desk.decisions()); (n == 1) != (tc.want == "Approved") {
				t.Errorf("%d decisions", n)
			}
		})
	}
}

// Whoever was called may still stop what they approved, and ask again, when the request that called them has ended.
func TestFurtherApproversStayCalled(t *testing.T) {
	t.Parallel()
	for action, of := range map[string]func(*testing.T) incident.Incident{
		"ask_again": deniedIncident, "stop": approvedIncident,
	} {
		for askedFor, want := range map[time.Duration]int{10*time.Minute - 1: 0, 10 * time.Minute: 1} {
			t.Run(action+" after "+askedFor.String(), func(t *testing.T) {
				t.Parallel()
				inc := of(t)
				inc.AskedFor = askedFor
				f := newOffice(t, InteractionsConfig{}, inc)
				f.desk.approvers = incident.Approvers{
					Users:    []string{"U0ALICE"},
					Escalate: []incident.Escalation{{After: 10 * time.Minute, Groups: []string{"S0ONCALL"}}},
				}
				got := f.click(f.request("U0BOB", action))
				if len(f.desk.done()) != want || want == 0 && !strings.Contains(got, "You can't decide on this") {
					t.Errorf("answer = %q, done %v", got, f.desk.done())
				}
			})
		}
	}
}
