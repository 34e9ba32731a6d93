package slack

import (
	"fmt"
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

// Whoever is asked and not called does not know. What Slack has no room for is counted.
func TestAReplyCallsEverybodyThatSlackHasRoomFor(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	for n, left := range map[int]string{12: "", 60: " and 20 more "} {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprintf("S0ABCDEFGHIJKLMNOP%03d", i))
		}
		blocks, text := renderEntry(inc, incident.Entry{Seq: 4, Mention: ids, Text: strings.Repeat("long ", 400)})
		for where, got := range map[string]string{"text": text, "blocks": shownText(View{Blocks: blocks})} {
			if c := strings.Count(got, "<!subteam^"); c != min(n, maxCalled) || !strings.Contains(got, left) {
				t.Errorf("%s: %d of %d called: %s", where, c, n, got)
			}
			if !strings.HasSuffix(strings.Fields(got)[0], ">") || len([]rune(text)) > maxText {
				t.Errorf("%s: %s", where, got)
			}
		}
	}
	if got := addressed([]string{"U01", "U02", "U03", "U04", "U05", "U06"}); !strings.HasSuffix(got, " and 1 more") {
		t.Errorf("the question names %s", got)
	}
}

// An entry that Slack refuses must not keep the rest of the journal from the thread.
func TestAReplyThatSlackRefusesIsSentSimpler(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults            []string
		blocks, broadcast bool
		refused           bool
	}{
		"nothing":                {nil, true, true, false},
		"blocks":                 {[]string{"invalid_blocks"}, false, true, false},
		"length":                 {[]string{"msg_too_long"}, false, true, false},
		"broadcast":              {[]string{"restricted_action"}, true, false, false},
		"blocks, then broadcast": {[]string{"invalid_blocks", "restricted_action_thread_only_channel"}, false, false, false},
		"text, too":              {[]string{"invalid_blocks", "invalid_blocks"}, false, false, true},
		"the thread, too":        {[]string{"restricted_action", "restricted_action"}, false, false, true},
		"something else":         {[]string{"not_in_channel"}, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, fakeslack.Options{})
			notifier, err := NewNotifier(w.client, ViewOptions{}, true, w.log)
			if err != nil {
				t.Fatal(err)
			}
			inc := asked(t, incident.ModeApprove).inc
			ts := w.post(t, inc)
			for _, code := range tt.faults {
				w.Fail("chat.postMessage", 1, fakeslack.Fault{Error: code})
			}
			e := incident.Entry{
				Seq: 4, Mention: []string{"U0ALICE"}, Said: incident.Note{Kind: incident.NoteApprovalNeeded, Names: "Scale"},
			}
			err = notifier.Reply(t.Context(), channel, ts, inc, e)
			replies := slices.DeleteFunc(w.Thread(channel, ts), func(m fakeslack.Message) bool { return m.TS == ts })
			if tt.refused {
				if err == nil || len(replies) != 0 {
					t.Errorf("err = %v, %d replies", err, len(replies))
				}
				return
			}
			if err != nil || len(replies) != 1 {
				t.Fatalf("err = %v, %d replies", err, len(replies))
			}
			m := replies[0]
			if m.Broadcast != tt.broadcast || (len(m.Blocks) > 0) != tt.blocks ||
				!strings.HasPrefix(m.Text, "<@U0ALICE> Approval needed") {
				t.Errorf("got %+v", m)
			}
		})
	}
}
