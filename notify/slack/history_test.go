package slack

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

func TestFindPostedSeesOnlyItsOwnMessage(t *testing.T) {
	t.Parallel()
	for _, dropped := range []bool{false, true} {
		t.Run(fmt.Sprintf("metadata dropped %t", dropped), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, fakeslack.Options{DropMetadata: dropped})
			s := asked(t, incident.ModeApprove)
			other := tell(t, incident.ModeApprove, "mistral").inc
			other.ID = "inc-other"
			oldest := time.Now().Add(-time.Minute)
			w.PostAs("U0BOB", channel, "I copied it: "+reference(s.inc.ID, 0), "")
			w.post(t, other)
			if _, found, err := w.notifier.FindPosted(t.Context(), channel, "", s.inc.ID, 0, oldest); found || err != nil {
				t.Fatalf("found %t, %v before it was posted", found, err)
			}
			ts := w.post(t, s.inc)
			if got, found,
				err := w.notifier.FindPosted(t.Context(), channel, "", s.inc.ID, 0, oldest); !found || err != nil || got != ts {
				t.Errorf("FindPosted = %q, %t, %v; want %q", got, found, err, ts)
			}
			if _, found, err := w.notifier.FindPosted(t.Context(), channel, "", s.inc.ID, 0, time.Now().Add(time.Hour)); found ||
				err != nil {
				t.Errorf("found %t, %v although it is older", found, err)
			}
			e := incident.Entry{Seq: 4, Text: "An entry."}
			if _, found, err := w.notifier.FindPosted(t.Context(), channel, ts, s.inc.ID, 4, oldest); found || err != nil {
				t.Errorf("the entry was found %t, %v before it was posted", found, err)
			}
			if err := w.notifier.Reply(t.Context(), channel, ts, s.inc, e); err != nil {
				t.Fatal(err)
			}
			if got, found,
				err := w.notifier.FindPosted(t.Context(), channel, ts, s.inc.ID, 4, oldest); !found || err != nil ||
				got != w.Thread(channel, ts)[0].TS {
				t.Errorf("FindPosted of the entry = %q, %t, %v", got, found, err)
			}
			if _, found, _ := w.notifier.FindPosted(t.Context(), channel, ts, s.inc.ID, 14, oldest); found {
				t.Error("another entry was found")
			}
		})
	}
}

func TestFindPostedReadsEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	oldest := time.Now().Add(-time.Minute)
	inc := tell(t, incident.ModeApprove, "llama").inc
	for range pageSize {
		w.PostAs("U0BOB", channel, "chatter", "")
	}
	ts := w.post(t, inc)
	for range pageSize + 10 {
		w.PostAs("U0BOB", channel, "chatter", "")
	}
	if got, found,
		err := w.notifier.FindPosted(t.Context(), channel, "", inc.ID, 0, oldest); !found || err != nil || got != ts {
		t.Errorf("FindPosted = %q, %t, %v", got, found, err)
	}
}

func TestFindPostedDoesNotSayNoWhenItCannotLook(t *testing.T) {
	t.Parallel()
	t.Run("without the right", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{Scopes: []string{"chat:write"}})
		w.ExpectError("conversations.history", "missing_scope", 1)
		if _, _, err := w.notifier.FindPosted(t.Context(), channel, "", "inc-1", 0, time.Now()); kind(err) != "permanent" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
	t.Run("in an outage", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{})
		if _, err := w.client.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Outage(503)
		if _, _, err := w.notifier.FindPosted(t.Context(), channel, "", "inc-1", 0, time.Now()); kind(err) != "transient" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
	t.Run("too many messages", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t, fakeslack.Options{})
		for range pageSize*maxPages + 1 {
			w.PostAs("U0BOB", channel, "chatter", "")
		}
		if _, _, err := w.notifier.FindPosted(t.Context(), channel, "", "inc-1", 0,
			time.Now().Add(-time.Minute)); kind(err) != "transient" {
			t.Errorf("%v is %s", err, kind(err))
		}
	})
}
