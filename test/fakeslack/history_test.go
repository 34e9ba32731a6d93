package fakeslack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

// posted fills the channel with n messages and returns their timestamps.
func posted(t *testing.T, s *Server, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		ts, ok := call(t, s, "chat.postMessage", map[string]string{
			"channel": room, "text": fmt.Sprint(i),
			"metadata": fmt.Sprintf(`{"event_type":"incident","event_payload":{"n":%d}}`, i),
		})["ts"].(string)
		if !ok {
			t.Fatal("not posted")
		}
		out[i] = ts
	}
	return out
}

func texts(messages []slack.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = m.Text
	}
	return out
}

func TestHistoryWindow(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	ts := posted(t, s, 5)
	for _, tt := range []struct {
		name, oldest string
		inclusive    bool
		limit        int
		want         []string
	}{
		{"everything, newest first", "", false, 0, []string{"4", "3", "2", "1", "0"}},
		{"oldest is exclusive", ts[2], false, 0, []string{"4", "3"}},
		{"oldest, inclusive", ts[2], true, 0, []string{"4", "3", "2"}},
		{"the latest page", "", false, 2, []string{"4", "3"}},
		{"with oldest, the page nearest to it", ts[0], false, 2, []string{"2", "1"}},
		{"a time after everything", "9999999999", false, 0, []string{}},
	} {
		got, err := client.GetConversationHistoryContext(t.Context(), &slack.GetConversationHistoryParameters{
			ChannelID: room, Oldest: tt.oldest, Inclusive: tt.inclusive, Limit: tt.limit,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, texts(got.Messages)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestHistoryPagesHaveEveryMessageOnce(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	ts := posted(t, s, 7)
	for name, oldest := range map[string]string{"backward": "", "forward": sortable(ts[0])[2:]} {
		var got []string
		params := slack.GetConversationHistoryParameters{ChannelID: room, Limit: 3, Oldest: oldest, Inclusive: true}
		for pages := 1; ; pages++ {
			page, err := client.GetConversationHistoryContext(t.Context(), &params)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, texts(page.Messages)...)
			if page.HasMore != (page.ResponseMetaData.NextCursor != "") {
				t.Errorf("%s: has_more %v with cursor %q", name, page.HasMore, page.ResponseMetaData.NextCursor)
			}
			if !page.HasMore {
				if pages != 3 {
					t.Errorf("%s: %d pages, want 3", name, pages)
				}
				break
			}
			params.Cursor = page.ResponseMetaData.NextCursor
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "6"}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestHistoryShowsMetadataOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		ask, drop bool
		want      string
	}{{"asked", true, false, "incident"}, {"not asked", false, false, ""}, {"lost", true, true, ""}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, client := start(t, Options{DropMetadata: tt.drop})
			ts := posted(t, s, 1)[0]
			got, err := client.GetConversationHistoryContext(t.Context(),
				&slack.GetConversationHistoryParameters{ChannelID: room, IncludeAllMetadata: tt.ask})
			if err != nil {
				t.Fatal(err)
			}
			if m := got.Messages[0]; m.Metadata.EventType != tt.want || m.BotID == "" || m.User != BotUserID {
				t.Errorf("message = %+v", m)
			}
			replies, _, _,
				err := client.GetConversationRepliesContext(t.Context(),
				&slack.GetConversationRepliesParameters{ChannelID: room, Timestamp: ts, IncludeAllMetadata: tt.ask})
			if err != nil || replies[0].Metadata.EventType != tt.want {
				t.Errorf("replies = %+v, %v", replies, err)
			}
		})
	}
}

func TestRepliesStandInTheThreadAndNotInTheHistory(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	root := posted(t, s, 1)[0]
	for i := range 3 {
		if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText(fmt.Sprint("r", i), false),
			slack.MsgOptionTS(root)); err != nil {
			t.Fatal(err)
		}
	}
	history, err := client.GetConversationHistoryContext(t.Context(),
		&slack.GetConversationHistoryParameters{ChannelID: room})
	if err != nil || len(history.Messages) != 1 || history.Messages[0].ReplyCount != 3 {
		t.Errorf("history = %+v, %v, want the parent with its reply count", history, err)
	}
	var got []string
	params := slack.GetConversationRepliesParameters{ChannelID: room, Timestamp: root, Limit: 2}
	for more := true; more; {
		var page []slack.Message
		page, more, params.Cursor, err = client.GetConversationRepliesContext(t.Context(), &params)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, texts(page)...)
	}
	if diff := cmp.Diff([]string{"0", "r0", "r1", "r2"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzHistoryWindowNeverPanics(f *testing.F) {
	f.Add("1700000000.000100", "bmV4dF90czoxNzAwMDAwMDAwLjAwMDEwMA==", "3")
	f.Add("0", "", "")
	f.Fuzz(func(t *testing.T, oldest, cursor, limit string) {
		s := New(Options{})
		s.PostAs("U0BOB", room, "x", "")
		args := map[string]string{"channel": room, "oldest": oldest, "cursor": cursor, "limit": limit}
		if out, e := s.history(request{args: args}); e == nil && out["messages"] == nil {
			t.Fatal("neither messages nor an error")
		}
	})
}
