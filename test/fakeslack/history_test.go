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
	tests := []struct {
		name   string
		params slack.GetConversationHistoryParameters
		want   []string
	}{
		{"everything, newest first", slack.GetConversationHistoryParameters{}, []string{"4", "3", "2", "1", "0"}},
		{"oldest is exclusive", slack.GetConversationHistoryParameters{Oldest: ts[2]}, []string{"4", "3"}},
		{
			"oldest, inclusive",
			slack.GetConversationHistoryParameters{Oldest: ts[2], Inclusive: true},
			[]string{"4", "3", "2"},
		},
		{"the latest page", slack.GetConversationHistoryParameters{Limit: 2}, []string{"4", "3"}},
		{
			"with oldest, the page nearest to it",
			slack.GetConversationHistoryParameters{Oldest: ts[0], Limit: 2},
			[]string{"2", "1"},
		},
		{"a time after everything", slack.GetConversationHistoryParameters{Oldest: "9999999999"}, []string{}},
	}
	for _, tt := range tests {
		tt.params.ChannelID = room
		got, err := client.GetConversationHistoryContext(t.Context(), &tt.params)
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

func TestRefusalsOfHistory(t *testing.T) {
	t.Parallel()
	o := Options{
		Channels: []Channel{{ID: room}, {ID: "C0OUT", BotAbsent: true}, {ID: "G0PRIV", Private: true}},
		Scopes:   []string{"channels:history"},
	}
	tests := []struct {
		name, method, code string
		args               map[string]string
	}{
		{"unknown channel", "conversations.history", "channel_not_found", map[string]string{"channel": "C9"}},
		{"not a member", "conversations.history", "not_in_channel", map[string]string{"channel": "C0OUT"}},
		{"private without its scope", "conversations.history", "missing_scope", map[string]string{"channel": "G0PRIV"}},
		{"limit 0", "conversations.history", "invalid_limit", map[string]string{"channel": room, "limit": "0"}},
		{"limit 1000", "conversations.history", "invalid_limit", map[string]string{"channel": room, "limit": "1000"}},
		{
			"limit that is no number", "conversations.history", "invalid_limit",
			map[string]string{"channel": room, "limit": "all"},
		},
		{
			"made-up cursor", "conversations.history", "invalid_cursor",
			map[string]string{"channel": room, "cursor": "bmV4dA=="},
		},
		{
			"oldest that is no time", "conversations.history", "invalid_ts_oldest",
			map[string]string{"channel": room, "oldest": "yesterday"},
		},
		{"no thread", "conversations.replies", "thread_not_found", map[string]string{"channel": room, "ts": "1.000001"}},
		{"outside the scopes", "users.info", "missing_scope", map[string]string{"user": "U0BOB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, o)
			s.ExpectError(tt.method, tt.code, 1)
			out := call(t, s, tt.method, tt.args)
			if out["error"] != tt.code {
				t.Fatalf("answer = %v, want %s", out, tt.code)
			}
			if tt.code == "missing_scope" && (out["needed"] == nil || out["provided"] != "channels:history") {
				t.Errorf("answer = %v, want needed and provided", out)
			}
		})
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
