package fakeslack

import (
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
	for _, c := range s.Calls() {
		if strings.Contains(strings.Join(keysAndValues(c.Args), " "), s.Token()) {
			t.Errorf("the record of %s shows the token: %v", c.Method, c.Args)
		}
	}
}

func keysAndValues(m map[string]string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k, v)
	}
	return out
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
	const first = `{"event_type":"incident","event_payload":{"id":"1"}}`
	tests := []struct {
		name     string
		metadata string // "" is absent
		want     string // event_payload.id; "" is no metadata
	}{
		{"absent keeps it", "", "1"},
		{"new replaces it", `{"event_type":"incident","event_payload":{"id":"2"}}`, "2"},
		{"an empty object removes it", `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, Options{})
			ts, _ := call(t, s, "chat.postMessage",
				map[string]string{"channel": room, "text": "x", "metadata": first})["ts"].(string)
			args := map[string]string{"channel": room, "ts": ts, "text": "y"}
			if tt.metadata != "" {
				args["metadata"] = tt.metadata
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
				t.Errorf("metadata = %+v, want id %q", m.Metadata, tt.want)
			}
		})
	}
}

func TestMetadataFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, code string }{
		{"flat", `{"event_type":"a","event_payload":{"s":"x","n":1,"b":true}}`, ""},
		{"an object inside", `{"event_type":"a","event_payload":{"o":{"k":1}}}`, "invalid_metadata_format"},
		{"a list inside", `{"event_type":"a","event_payload":{"l":[1]}}`, "invalid_metadata_format"},
		{"a payload that is none", `{"event_type":"a","event_payload":[]}`, "invalid_metadata_format"},
		{"null", `{"event_type":"a","event_payload":{"s":null}}`, "invalid_metadata_format"},
		{"no payload", `{"event_type":"a"}`, "invalid_metadata_format"},
		{"no type", `{"event_payload":{}}`, "invalid_metadata_format"},
		{"a type with capitals", `{"event_type":"Incident","event_payload":{}}`, "invalid_metadata_format"},
		{"a name with a dash", `{"event_type":"a","event_payload":{"a-b":1}}`, "invalid_metadata_format"},
		{"a third field", `{"event_type":"a","event_payload":{},"entities":[]}`, "invalid_metadata_format"},
		{"not JSON", `{`, "invalid_metadata_format"},
		{"at the size limit", `{"event_type":"a","event_payload":{"s":"` + strings.Repeat("x", maxMetadata-44) + `"}}`, ""},
		{
			"over the size limit", `{"event_type":"a","event_payload":{"s":"` + strings.Repeat("x", maxMetadata) + `"}}`,
			"metadata_too_large",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, e := parseMetadata(tt.raw)
			if got := codeOf(e); got != tt.code {
				t.Errorf("error = %q, want %q", got, tt.code)
			}
		})
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

func TestRefusalsOfPostAndUpdate(t *testing.T) {
	t.Parallel()
	o := Options{Channels: []Channel{
		{ID: room, Name: "incidents"},
		{ID: "C0OLD", Name: "old", Archived: true},
		{ID: "C0OUT", Name: "out", BotAbsent: true},
		{ID: "G0PRIV", Name: "priv", Private: true},
	}}
	tests := []struct {
		name, method, code string
		args               map[string]string
	}{
		{"unknown channel", "chat.postMessage", "channel_not_found", map[string]string{"channel": "C9", "text": "x"}},
		{"archived channel", "chat.postMessage", "is_archived", map[string]string{"channel": "C0OLD", "text": "x"}},
		{"not invited", "chat.postMessage", "not_in_channel", map[string]string{"channel": "C0OUT", "text": "x"}},
		{"nothing to say", "chat.postMessage", "no_text", map[string]string{"channel": room}},
		{"only empty blocks", "chat.postMessage", "no_text", map[string]string{"channel": room, "blocks": "[]"}},
		{
			"a thread that is not there", "chat.postMessage", "thread_not_found",
			map[string]string{"channel": room, "text": "x", "thread_ts": "1.000001"},
		},
		{
			"a reply as parent", "chat.postMessage", "cannot_reply_to_message",
			map[string]string{"channel": room, "text": "x", "thread_ts": "REPLY"},
		},
		{
			"bad metadata", "chat.postMessage", "invalid_metadata_format",
			map[string]string{"channel": room, "text": "x", "metadata": "[]"},
		},
		{
			"update of nothing", "chat.update", "message_not_found",
			map[string]string{"channel": room, "ts": "1.000001", "text": "x"},
		},
		{
			"update by channel name", "chat.update", "channel_not_found",
			map[string]string{"channel": "#incidents", "ts": "MINE", "text": "x"},
		},
		{
			"update of another's message", "chat.update", "cant_update_message",
			map[string]string{"channel": room, "ts": "THEIRS", "text": "x"},
		},
		{
			"update in an archived channel", "chat.update", "is_inactive",
			map[string]string{"channel": "C0OLD", "ts": "MINE", "text": "x"},
		},
		{
			"update with 4001 characters", "chat.update", "msg_too_long",
			map[string]string{"channel": room, "ts": "MINE", "text": a(4001)},
		},
		{"update to nothing", "chat.update", "no_text", map[string]string{"channel": room, "ts": "MINE"}},
		{
			"update with bad blocks", "chat.update", "invalid_blocks",
			map[string]string{"channel": room, "ts": "MINE", "text": "x", "blocks": `[{"type":"alert"}]`},
		},
		{
			"private word to a stranger", "chat.postEphemeral", "user_not_in_channel",
			map[string]string{"channel": room, "user": "U9", "text": "x"},
		},
		{
			"private word in an archived channel", "chat.postEphemeral", "is_archived",
			map[string]string{"channel": "C0OLD", "user": "U0BOB", "text": "x"},
		},
		{
			"private word where the bot is not", "chat.postEphemeral", "not_in_channel",
			map[string]string{"channel": "C0OUT", "user": "U0BOB", "text": "x"},
		},
		{"private word of nothing", "chat.postEphemeral", "no_text", map[string]string{"channel": room, "user": "U0BOB"}},
		{
			"private word to one who left", "chat.postEphemeral", "user_not_in_channel",
			map[string]string{"channel": room, "user": "U0LEFT", "text": "x"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, client := start(t, o)
			_, mine, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("mine", false))
			if err != nil {
				t.Fatal(err)
			}
			theirs := s.PostAs("U0BOB", room, "theirs", "")
			reply := s.PostAs("U0BOB", room, "reply", mine)
			names := strings.NewReplacer("MINE", mine, "THEIRS", theirs, "REPLY", reply)
			for k, v := range tt.args {
				tt.args[k] = names.Replace(v)
			}
			s.ExpectError(tt.method, tt.code, 1)
			before := len(s.Messages(room))
			if out := call(t, s, tt.method, tt.args); out["ok"] != false || out["error"] != tt.code {
				t.Fatalf("answer = %v, want %s", out, tt.code)
			}
			if m, _ := s.Message(room, mine); m.Edited || len(s.Messages(room)) != before {
				t.Error("a refused call changed the channel")
			}
		})
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
