package fakeslack

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

func TestPostedMessageIsKeptAndReturned(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	channel, ts, got, err := client.PostMessageWithResponseContext(t.Context(), room,
		slack.MsgOptionText("llama-70b is slow", false), slack.MsgOptionDisableLinkUnfurl(),
		slack.MsgOptionDisableMediaUnfurl(),
		slack.MsgOptionBlocks(slack.NewHeaderBlock(slack.NewTextBlockObject("plain_text", "Slow & sad", true, false))),
		slack.MsgOptionMetadata(slack.SlackMetadata{
			EventType:    "incident",
			EventPayload: map[string]any{"incident_id": "inc1", "n": 2.0},
		}))
	if err != nil {
		t.Fatal(err)
	}
	if channel != room || got.Timestamp != ts || got.Metadata.EventType != "incident" || len(got.Blocks.BlockSet) != 1 {
		t.Errorf("answer = %s %s %+v", channel, ts, got)
	}
	m, ok := s.Message(room, ts)
	if !ok || !m.FromBot || m.User != BotUserID || m.Text != "llama-70b is slow" || m.Edited || len(m.Versions) != 1 {
		t.Errorf("message = %+v", m)
	}
	if m.UnfurlLinks == nil || *m.UnfurlLinks || m.UnfurlMedia == nil || *m.UnfurlMedia {
		t.Errorf("unfurling = %v %v, want both refused", m.UnfurlLinks, m.UnfurlMedia)
	}
	if want := (map[string]any{"incident_id": "inc1", "n": 2.0}); !cmp.Equal(m.Metadata.EventPayload, want) {
		t.Error(cmp.Diff(want, m.Metadata.EventPayload))
	}
	if got := m.VisibleText(); got != "Slow & sad" {
		t.Errorf("visible text = %q", got)
	}
}

func TestTimestampsAreUniqueAndGrow(t *testing.T) {
	t.Parallel()
	_, client := start(t, Options{})
	last := ""
	for range 50 {
		_, ts, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("x", false))
		if err != nil {
			t.Fatal(err)
		}
		if sortable(ts) <= last || !timestamp.MatchString(ts) {
			t.Fatalf("timestamp %s after %s", ts, last)
		}
		last = sortable(ts)
	}
}

func TestJSONBodiesAndBearerTokensAreUnderstood(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	out := send(t, s.APIURL()+"chat.postMessage", "application/json; charset=utf-8",
		`{"token":"`+s.Token()+
			`","channel":"#incidents","text":"hi","blocks":[{"type":"divider"}],"unfurl_links":false,"thread_ts":null}`)
	if out["ok"] != true {
		t.Fatalf("answer = %v", out)
	}
	m := s.Messages(room)[0]
	if m.Text != "hi" || !strings.Contains(string(m.Blocks), "divider") || m.UnfurlLinks == nil {
		t.Errorf("message = %+v", m)
	}
	if all := fmt.Sprint(s.Calls()); strings.Contains(all, s.Token()) {
		t.Errorf("the record shows the token: %s", all)
	}
}

func TestUpdateReplacesEverythingAndKeepsEveryVersion(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	ts := postBlocks(t, s, oneButton)
	_, _, _, err := client.UpdateMessageContext(t.Context(), room, ts, slack.MsgOptionText("approved", false),
		slack.MsgOptionBlocks(slack.NewDividerBlock()))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(room, ts)
	if !m.Edited || len(m.Versions) != 2 || len(m.Buttons()) != 0 || m.Text != "approved" {
		t.Errorf("message = %+v", m)
	}
	if old := m.Versions[0].Buttons(); len(old) != 1 || old[0].Value != "inc|step|digest" || old[0].Style != "primary" {
		t.Errorf("buttons of the first version = %+v", old)
	}
	text := a(4000) // the most that an update may have
	if _, _, _, err := client.UpdateMessageContext(t.Context(), room, ts, slack.MsgOptionText(text, false)); err != nil {
		t.Fatal(err)
	}
	if m, _ := s.Message(room, ts); m.Blocks != nil || m.VisibleText() != text {
		t.Errorf("message = %+v, want text alone to remove the blocks", m)
	}
}

func TestUpdateAndMetadata(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	metadata := func(id string) string { return `{"event_type":"incident","event_payload":{"id":"` + id + `"}}` }
	args := map[string]string{"channel": room, "text": "x", "metadata": metadata("1")}
	ts, _ := call(t, s, "chat.postMessage", args)["ts"].(string)
	args["ts"] = ts
	for _, tt := range []struct{ name, metadata, want string }{
		{"absent keeps it", "", "1"}, {"new replaces it", metadata("2"), "2"}, {"an empty object removes it", `{}`, ""},
	} {
		if args["metadata"] = tt.metadata; tt.metadata == "" {
			delete(args, "metadata")
		}
		if out := call(t, s, "chat.update", args); out["ok"] != true {
			t.Fatal(out)
		}
		m, _ := s.Message(room, ts)
		got := ""
		if m.Metadata != nil {
			got, _ = m.Metadata.EventPayload["id"].(string)
		}
		if got != tt.want {
			t.Errorf("%s: metadata = %+v, want id %q", tt.name, m.Metadata, tt.want)
		}
	}
}

func TestMetadataFormat(t *testing.T) {
	t.Parallel()
	for raw, code := range map[string]string{
		`{"event_type":"a_1","event_payload":{"s":"x","n":1,"b":true}}`:                          "",
		`{"event_type":"a","event_payload":{"s":"` + strings.Repeat("x", maxMetadata-44) + `"}}`: "",
		`{"event_type":"a","event_payload":{"s":"` + strings.Repeat("x", maxMetadata) + `"}}`:    "metadata_too_large",
		`{"event_type":"a","event_payload":{"o":{"k":1}}}`:                                       "invalid_metadata_format",
		`{"event_type":"a","event_payload":{"l":[1]}}`:                                           "invalid_metadata_format",
		`{"event_type":"a","event_payload":{"s":null}}`:                                          "invalid_metadata_format",
		`{"event_type":"a","event_payload":{"a-b":1}}`:                                           "invalid_metadata_format",
		`{"event_type":"a","event_payload":[]}`:                                                  "invalid_metadata_format",
		`{"event_type":"a","event_payload":{},"entities":[]}`:                                    "invalid_metadata_format",
		`{"event_type":"Incident","event_payload":{}}`:                                           "invalid_metadata_format",
		`{"event_type":"a"}`:   "invalid_metadata_format",
		`{"event_payload":{}}`: "invalid_metadata_format",
		`{`:                    "invalid_metadata_format",
	} {
		if _, e := parseMetadata(raw); codeOf(e) != code {
			t.Errorf("%.60s: %+v, want %q", raw, e, code)
		}
	}
}

func FuzzMetadataNeverPanics(f *testing.F) {
	f.Add(`{"event_type":"a","event_payload":{"o":{"k":"v"}}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, raw string) {
		md, e := parseMetadata(raw)
		if e == nil && (md == nil || md.EventType == "" || md.EventPayload == nil) {
			t.Fatalf("accepted %q as %+v", raw, md)
		}
	})
}

func codeOf(e *slackError) string {
	if e == nil {
		return ""
	}
	return e.code
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	o := Options{Scopes: []string{"chat:write", "channels:history"}, Channels: []Channel{
		{ID: room, Name: "incidents"},
		{ID: "OLD", Archived: true},
		{ID: "OUT", BotAbsent: true},
		{ID: "PRIVATE", Private: true},
	}}
	s, client := start(t, o)
	_, mine, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("mine", false))
	if err != nil {
		t.Fatal(err)
	}
	theirs := s.PostAs("U0BOB", room, "theirs", "")
	reply := s.PostAs("U0BOB", room, "reply", mine)
	names := strings.NewReplacer("ROOM", "channel="+room, "MINE", mine, "THEIRS", theirs, "REPLY", reply)
	tests := []struct{ method, args, code string }{
		{"chat.postMessage", "channel=C9&text=x", "channel_not_found"},
		{"chat.postMessage", "channel=OLD&text=x", "is_archived"},
		{"chat.postMessage", "channel=OUT&text=x", "not_in_channel"},
		{"chat.postMessage", "ROOM", "no_text"},
		{"chat.postMessage", "ROOM&blocks=[]", "no_text"},
		{"chat.postMessage", "ROOM&text=x&thread_ts=1.000001", "thread_not_found"},
		{"chat.postMessage", "ROOM&text=x&thread_ts=REPLY", "cannot_reply_to_message"},
		{"chat.postMessage", "ROOM&text=x&metadata=[]", "invalid_metadata_format"},
		{"chat.update", "ROOM&ts=1.000001&text=x", "message_not_found"},
		{"chat.update", "channel=%23incidents&ts=MINE&text=x", "channel_not_found"},
		{"chat.update", "ROOM&ts=THEIRS&text=x", "cant_update_message"},
		{"chat.update", "channel=OLD&ts=MINE&text=x", "is_inactive"},
		{"chat.update", "ROOM&ts=MINE&text=" + a(maxUpdateText+1), "msg_too_long"},
		{"chat.update", "ROOM&ts=MINE", "no_text"},
		{"chat.update", `ROOM&ts=MINE&text=x&blocks=[{"type":"alert"}]`, "invalid_blocks"},
		{"chat.postEphemeral", "ROOM&user=U9&text=x", "user_not_in_channel"},
		{"chat.postEphemeral", "ROOM&user=U0LEFT&text=x", "user_not_in_channel"},
		{"chat.postEphemeral", "channel=OLD&user=U0BOB&text=x", "is_archived"},
		{"chat.postEphemeral", "channel=OUT&user=U0BOB&text=x", "not_in_channel"},
		{"chat.postEphemeral", "ROOM&user=U0BOB", "no_text"},
		{"conversations.history", "channel=C9", "channel_not_found"},
		{"conversations.history", "channel=OUT", "not_in_channel"},
		{"conversations.history", "channel=PRIVATE", "missing_scope"},
		{"conversations.history", "ROOM&limit=0", "invalid_limit"},
		{"conversations.history", "ROOM&limit=1000", "invalid_limit"},
		{"conversations.history", "ROOM&limit=all", "invalid_limit"},
		{"conversations.history", "ROOM&cursor=bmV4dA", "invalid_cursor"},
		{"conversations.history", "ROOM&oldest=yesterday", "invalid_ts_oldest"},
		{"conversations.replies", "ROOM&ts=1.000001", "thread_not_found"},
		{"users.info", "user=U0BOB", "missing_scope"},
	}
	for _, tt := range tests {
		args, err := url.ParseQuery(names.Replace(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		s.ExpectError(tt.method, tt.code, 1)
		args.Set("token", s.Token())
		out := send(t, s.APIURL()+tt.method, "application/x-www-form-urlencoded", args.Encode())
		if out["ok"] != false || out["error"] != tt.code {
			t.Errorf("%s %s = %v, want %s", tt.method, tt.args, out, tt.code)
		}
		if tt.code == "missing_scope" && (out["needed"] == nil || out["provided"] != "chat:write,channels:history") {
			t.Errorf("answer = %v, want needed and provided", out)
		}
	}
	if m, _ := s.Message(room, mine); m.Edited || len(s.Messages(room)) != 2 {
		t.Error("a refused call changed the channel")
	}
}

func TestTextThatSlackWouldCutIsNoted(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{AllowUnexpected: true})
	for _, n := range []int{maxPostText, maxPostText + 1} {
		if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText(a(n), false)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Unexpected(); len(got) != 1 || !strings.Contains(got[0], "40001") {
		t.Errorf("unexpected = %q, want one line about the second", got)
	}
}

func TestRepliesAreInTheThread(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	_, ts, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("incident", false))
	if err != nil {
		t.Fatal(err)
	}
	_, reply, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("step 1", false),
		slack.MsgOptionTS(ts), slack.MsgOptionBroadcast())
	if err != nil {
		t.Fatal(err)
	}
	if thread := s.Thread(room, ts); len(thread) != 1 || thread[0].TS != reply || !thread[0].Broadcast {
		t.Errorf("thread = %+v", thread)
	}
	if n := len(s.Messages(room)); n != 1 {
		t.Errorf("%d top-level messages, want 1", n)
	}
}

func TestABroadcastReplyIsInTheThreadAndInTheChannel(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{AllowUnexpected: true})
	_, root, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("incident", false))
	if err != nil {
		t.Fatal(err)
	}
	reply := func(text string, more ...slack.MsgOption) string {
		_, ts, err := client.PostMessageContext(t.Context(), room, append(more, slack.MsgOptionText(text, false),
			slack.MsgOptionTS(root))...)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	asked, quiet := reply("approve?", slack.MsgOptionBroadcast()), reply("done")
	history := func() (out []string) {
		in := slack.GetConversationHistoryParameters{ChannelID: room}
		got, err := client.GetConversationHistoryContext(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Messages {
			shown := m.Text + " " + m.SubType
			if m.Root != nil {
				shown += " of " + m.Root.Text
			}
			out = append(out, shown)
		}
		return out
	}
	want := []string{"approve? thread_broadcast of incident", "incident "}
	if diff := cmp.Diff(want, history()); diff != "" {
		t.Errorf("the channel: %s", diff)
	}
	if thread := s.Thread(room, root); len(thread) != 2 || thread[0].TS != asked || !thread[0].Broadcast ||
		thread[1].Broadcast {
		t.Errorf("thread = %+v, want both replies, the first one broadcast", thread)
	}
	_, page := fetch(t, s, "/")
	if strings.Count(page, "replied to a thread") != 1 || strings.Count(page, "also sent to the channel") != 1 {
		t.Error("the page does not show the reply in both places")
	}
	call(t, s, "chat.update", map[string]string{"channel": room, "ts": quiet, "text": "done", "reply_broadcast": "true"})
	if got := history(); len(got) != 3 || got[0] != "done thread_broadcast of incident" {
		t.Errorf("the channel = %q, want the reply broadcast by its edit", got)
	}
	if got := s.Unexpected(); len(got) != 0 {
		t.Errorf("unexpected = %q", got)
	}
	call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "reply_broadcast": "true"})
	if got := s.Unexpected(); len(got) != 1 || !strings.Contains(got[0], "reply_broadcast on a message that is no reply") {
		t.Errorf("unexpected = %q, want a broadcast of no reply to be noted", got)
	}
}

func TestEphemeralIsForOnePersonAndNotInTheHistory(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	ts, err := client.PostEphemeralContext(t.Context(), room, "U0BOB", slack.MsgOptionText("only you", false))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Ephemerals(); len(got) != 1 || got[0].User != "U0BOB" || got[0].TS != ts ||
		got[0].VisibleText() != "only you" {
		t.Errorf("ephemerals = %+v", got)
	}
	if n := len(s.Messages(room)); n != 0 {
		t.Errorf("%d messages in the channel, want 0", n)
	}
	_, _, _, err = client.UpdateMessageContext(t.Context(), room, ts, slack.MsgOptionText("x", false))
	wantSlackError(t, err, "message_not_found")
}

func TestDeletedMessagesAreGone(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	ts := postBlocks(t, s, oneButton)
	if !s.DeleteMessage(room, ts) || s.DeleteMessage(room, ts) {
		t.Error("DeleteMessage should report the first deletion only")
	}
	_, _, _, err := client.UpdateMessageContext(t.Context(), room, ts, slack.MsgOptionText("x", false))
	wantSlackError(t, err, "message_not_found")
}
