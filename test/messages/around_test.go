package messages

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// around are the scenes around the message.
func around(t *testing.T, f found) []scene {
	t.Helper()
	oncall := incident.Approvers{Users: []string{alice.ID}, Groups: []string{"S0ONCALL"}}
	careful := oncall
	careful.Reason, careful.Narrow = true, true
	begun := func() *story { return begin(t, f, incident.ModeApprove).investigated() }
	approve := func(s *story) string { return "approve:" + s.step(incident.StepThrottle) }

	told := begun().do(15*time.Minute, incident.Escalated{After: 15 * time.Minute, Groups: []string{"S0NIGHT"}}).
		do(10*time.Minute, incident.Reminded{}).applied(incident.StepReplicas).settled().verified(1, incident.True, true)
	escalation := enter(t, told, oncall)
	escalation.PutUsergroup(fakeslack.Usergroup{ID: "S0NIGHT", Handle: "night-managers", Users: []string{bob.ID}})
	offered := begun().applied(incident.StepThrottle).settled().verified(-0.3, incident.False, true)
	back := offered.undo().do(time.Second, incident.WriteClaimed{}).
		do(time.Second, incident.Written{Result: incident.ResultApplied}).do(time.Second, incident.RolledOut{})

	s := begun()
	forms := enter(t, s, careful).click(alice.ID, approve(s), 0)
	deny := enter(t, s, oncall).click(alice.ID, "deny_all", 0)
	stranger := enter(t, s, oncall).click("U0CAROL", approve(s), 0)
	trusting := oncall
	trusting.Users = append(slices.Clone(oncall.Users), "U0GUEST")
	guest := enter(t, s, trusting).click("U0GUEST", approve(s), 0)

	late := begun()
	first := approve(late)
	answers := enter(t, late, oncall)
	answers.goOn(late.by(bob, incident.Deny, "")).click(alice.ID, first, 1)
	answers.goOn(begun().do(patience+time.Minute, incident.Expired{})).click(alice.ID, first, 1)
	once := begin(t, strict(f), incident.ModeApprove).investigated()
	answers.goOn(once).click(alice.ID, approve(once), 0).
		click(alice.ID, approve(once), 0)
	return []scene{
		{"thread", escalation.thread().Server, alice.ID, theThread},
		{"thread-rollback", enter(t, back, oncall).thread().Server, alice.ID, theThread},
		{"form-approve", forms.Server, alice.ID, theForm},
		{"form-deny", deny.Server, alice.ID, theForm},
		{"answer-not-an-approver", stranger.Server, "U0CAROL", theAnswers},
		{"answer-guest", guest.Server, "U0GUEST", theAnswers},
		{"answers", answers.Server, alice.ID, theAnswers},
	}
}
