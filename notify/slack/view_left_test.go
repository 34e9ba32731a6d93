package slack

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// "Nothing was changed" while a change is in place sends everybody back to bed.
func TestANoSaysWhatStaysInPlace(t *testing.T) {
	t.Parallel()
	all := stories(t)
	for name, want := range map[string]string{
		"30-denied":                     "Nothing was changed.",
		"31-expired":                    "*No one responded in time*, so nothing was changed.",
		"35-stopped-in-a-rollout":       "*Stopped by <@U0ALICE> (wrong pool).* Scale 2 → 3 stays in place;",
		"36-denied-after-an-improved":   " Scale 2 → 3 stays in place; nothing else was changed.",
		"37-expired-after-an-improved":  "*No one responded in time.* Scale 2 → 3 stays in place; nothing else",
		"38-stopped-a-write-with-doubt": "It's unknown whether scale 2 → 3 took effect. No further",
	} {
		text := shownText(Render(all[name], links))
		mustFollow(t, text, want)
		stays := name > "32"
		if stays && (strings.Contains(text, "Nothing was changed") || strings.Contains(text, "so nothing")) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A stop is not a denial, and a no to an earlier question says nothing about this one.
func TestAStopIsNotShownAsTheDenialOfBefore(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove).decide(incident.Deny, "p1-s1").decide(incident.Approve, "p1-s3").
		do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).
		do(time.Second, incident.Written{Result: incident.ResultApplied}).
		do(time.Second, incident.Aborted{By: incident.Actor{Kind: "slack", ID: "U0BOB"}})
	text := shownText(Render(s.inc, links))
	mustFollow(t, text, "*Stopped by <@U0BOB>.* Scale 2 → 3 stays in place")
	if strings.Contains(text, "*Denied") {
		t.Errorf("got\n%s", text)
	}

	other := asked(t, incident.ModeApprove, scaleStep()).decide(incident.Deny, "p1-s1").inc
	other.Plan.Digest = "of-a-later-question"
	if text := shownText(Render(other, links)); strings.Contains(text, "Denied by") {
		t.Errorf("a denial of an earlier question is named:\n%s", text)
	}
}

func TestANoAfterARollbackSaysThatNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove).ran("p1-s1", verification(incident.VerdictWorse, troubled()), true)
	s.do(time.Second, incident.WriteClaimed{WriteID: "w-2"}).
		do(time.Second, incident.Written{Result: incident.ResultApplied}).
		do(time.Second, incident.Aborted{By: alice()})
	mustFollow(t, shownText(Render(s.inc, links)), "*Stopped by <@U0ALICE>.* No change is left in place.")
}
