package slack

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// A request calls the approvers by a new message in the thread. Nothing but ids of Slack calls anybody, whatever the
// entry says otherwise.
func TestAReplyThatAsksCallsTheApprovers(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	ts := w.post(t, inc)
	e := incident.Entry{
		Seq: 7, Thread: true, Mention: []string{"S0ONCALL", "U0ALICE", "U0ALICE", "<!channel>", "everyone"},
		Said: incident.Note{
			Kind: incident.NoteApprovalNeeded, Names: "Scale <!here> <@U0BOB> from 2 to 3", At: inc.Plan.ExpiresAt,
		},
	}
	if err := w.notifier.Reply(t.Context(), channel, ts, inc, e); err != nil {
		t.Fatal(err)
	}
	reply := w.Thread(channel, ts)[len(w.Thread(channel, ts))-1]
	if want := "<!subteam^S0ONCALL> <@U0ALICE> Approval needed"; !strings.HasPrefix(reply.Text, want) {
		t.Errorf("text = %q, want %q first", reply.Text, want)
	}
	called := map[string]int{}
	for _, m := range w.LiveMentions() {
		called[m.Text]++
	}
	if len(called) != 2 || called["<!subteam^S0ONCALL>"] == 0 || called["<@U0ALICE>"] == 0 {
		t.Errorf("called %v", called)
	}
}

func TestAReplyThatAsksNothingCallsNobody(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	inc := asked(t, incident.ModeApprove).inc
	ts := w.post(t, inc)
	e := incident.Entry{Seq: 3, Text: "<@U0BOB> <!here> look"}
	if err := w.notifier.Reply(t.Context(), channel, ts, inc, e); err != nil {
		t.Fatal(err)
	}
	if called := w.LiveMentions(); len(called) != 0 {
		t.Errorf("called %v", called)
	}
}

// Where it is configured a request shows in the channel, too: not everybody follows a thread. Nothing else does.
func TestOnlyARequestIsBroadcastAndOnlyWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		w := newWorkspace(t, fakeslack.Options{})
		notifier, err := NewNotifier(w.client, ViewOptions{}, on, w.log)
		if err != nil {
			t.Fatal(err)
		}
		inc := asked(t, incident.ModeApprove).inc
		ts := w.post(t, inc)
		for _, e := range []incident.Entry{
			{Seq: 3, Text: "Applied."},
			{Seq: 4, Mention: []string{"U0ALICE"}, Said: incident.Note{Kind: incident.NoteApprovalNeeded, Names: "Scale"}},
		} {
			if err := notifier.Reply(t.Context(), channel, ts, inc, e); err != nil {
				t.Fatal(err)
			}
		}
		var got []bool
		for _, m := range w.Thread(channel, ts) {
			if m.TS != ts {
				got = append(got, m.Broadcast)
			}
		}
		if want := []bool{false, on}; !slices.Equal(got, want) {
			t.Errorf("configured %t: broadcast %v, want %v", on, got, want)
		}
	}
}
