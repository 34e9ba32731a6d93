package slacksdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/size"
)

const room = "C0INCIDENTS"

// Every message that the bot's golden files hold goes through Slack's own client, as a new message and as an edit.
func TestTheSDKPostsAndEditsWhatTheBotPosts(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{})
	client := run(t, s, "webapi.cjs")
	files, err := filepath.Glob("../messages/testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages []map[string]any
	for _, file := range files {
		messages = append(messages, golden(t, file)...)
	}
	if len(messages) < 50 {
		t.Fatalf("%d golden messages", len(messages))
	}
	first := ""
	for _, message := range messages {
		what := message["text"]
		posted := client.call(t, "chat.postMessage", message)
		ts, _ := posted.Data["ts"].(string)
		if ts == "" || posted.Data["ok"] != true {
			t.Fatalf("%s: %+v", what, posted)
		}
		stored, _ := s.Message(room, ts)
		first = cmp.Or(first, ts)
		message["ts"] = first
		if edited := client.call(t, "chat.update", message); edited.Data["ts"] != first {
			t.Fatalf("%s as an edit: %+v", what, edited)
		}
		now, _ := s.Message(room, first)
		if stored.Text == "" || now.Text != stored.Text || now.VisibleText() != stored.VisibleText() {
			t.Errorf("%s: the message and the edit differ", what)
		}
	}
	page := client.call(t, "conversations.history", map[string]any{"channel": room, "limit": 10})
	listed, _ := page.Data["messages"].([]any)
	more, _ := page.Data["response_metadata"].(map[string]any)
	if len(listed) != 10 || page.Data["has_more"] != true || more["next_cursor"] == "" {
		t.Errorf("history = %d messages, metadata %v, want the first page of several", len(listed), more)
	}
}

// golden are the messages of a file, as arguments. Forms, which have a title, are no messages.
func golden(t *testing.T, file string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	out := []map[string]any{}
	for _, payload := range all {
		if payload["title"] != nil {
			continue
		}
		message := map[string]any{"channel": room}
		for _, name := range []string{"text", "blocks", "metadata"} {
			if v, has := payload[name]; has {
				message[name] = v
			}
		}
		out = append(out, message)
	}
	return out
}

func TestTheSDKReadsEveryAnswerThatTheBotReads(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{})
	client := run(t, s, "webapi.cjs")
	root := client.call(t, "chat.postMessage", map[string]any{"channel": room, "text": "incident"}).Data["ts"]
	tests := []struct {
		method string
		args   map[string]any
		want   string // in the answer as JSON
	}{
		{"auth.test", map[string]any{}, `"user_id":"U0MEDIC"`},
		{
			"chat.postMessage",
			map[string]any{"channel": room, "text": "x", "thread_ts": root, "reply_broadcast": true},
			`"subtype":"thread_broadcast"`,
		},
		{"conversations.replies", map[string]any{"channel": room, "ts": root}, `"thread_ts":"` + fmt.Sprint(root) + `"`},
		{"chat.postEphemeral", map[string]any{"channel": room, "user": "U0BOB", "text": "only you"}, `"message_ts":"`},
		{"users.info", map[string]any{"user": "U0ALICE"}, `"team_id":"T0FAKE"`},
		{"usergroups.users.list", map[string]any{"usergroup": "S0ONCALL"}, `"users":["U0ALICE","U0BOB"]`},
	}
	for _, tt := range tests {
		got := client.call(t, tt.method, tt.args)
		raw, err := json.Marshal(got.Data)
		if err != nil || got.Code != "" || !strings.Contains(string(raw), tt.want) {
			t.Errorf("%s: %+v, want %s in %s", tt.method, got, tt.want, raw)
		}
	}
}

func TestTheSDKUnderstandsEveryRefusal(t *testing.T) {
	t.Parallel()
	s := fakeslack.Start(t, fakeslack.Options{Scopes: []string{"chat:write", "channels:history"}})
	client := run(t, s, "webapi.cjs")
	s.ExpectError("chat.postMessage", "invalid_blocks", 1)
	blocks := []any{map[string]any{"type": "hologram"}}
	tests := []struct {
		method string
		args   map[string]any
		error  string
		detail string
	}{
		{"chat.postMessage", map[string]any{"channel": "C9", "text": "x"}, "channel_not_found", ""},
		{
			"chat.postMessage",
			map[string]any{"channel": room, "text": "x", "blocks": blocks},
			"invalid_blocks",
			"unsupported type: hologram [json-pointer:/blocks/0]",
		},
		{"chat.update", map[string]any{"channel": room, "ts": "1.2", "text": "x"}, "message_not_found", ""},
		{"users.info", map[string]any{"user": "U0BOB"}, "missing_scope", "users:read"},
		{"views.open", map[string]any{"trigger_id": "1.2.x", "view": map[string]any{}}, "invalid_trigger_id", ""},
	}
	for _, tt := range tests {
		got := client.call(t, tt.method, tt.args)
		raw, err := json.Marshal(got.Data)
		if err != nil || got.Code != "slack_webapi_platform_error" || got.Error != tt.error ||
			!strings.Contains(string(raw), tt.detail) {
			t.Errorf("%s: %+v, want %s with %q", tt.method, got, tt.error, tt.detail)
		}
	}
	s.Fail("chat.postMessage", 1, fakeslack.Fault{HTTPStatus: http.StatusBadGateway})
	got := client.call(t, "chat.postMessage", map[string]any{"channel": room, "text": "x"})
	if !slices.Contains([]string{"slack_webapi_http_error", "slack_webapi_request_error"}, got.Code) {
		t.Errorf("502: %+v", got)
	}
	if n := len(s.Messages(room)); n != 0 {
		t.Errorf("%d messages in the channel, want none", n)
	}
}

func TestTheSDKKeepsTheRateLimit(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	s := fakeslack.Start(t, fakeslack.Options{})
	limit := fakeslack.Fault{HTTPStatus: http.StatusTooManyRequests, RetryAfter: time.Second}
	hello := map[string]any{"channel": room, "text": "x"}
	s.Fail("chat.postMessage", 1, limit)
	got := run(t, s, "webapi.cjs").call(t, "chat.postMessage", hello)
	if got.Code != "slack_webapi_rate_limited_error" || got.RetryAfter != 1 || len(s.Messages(room)) != 0 {
		t.Errorf("rate limit: %+v", got)
	}
	s.Fail("chat.postMessage", 1, limit)
	start := time.Now()
	got = run(t, s, "webapi.cjs", "SLACK_WAITS=yes").call(t, "chat.postMessage", hello)
	if got.Code != "" || time.Since(start) < time.Second || len(s.Messages(room)) != 1 {
		t.Errorf("a client that waits: %+v after %s, want it posted once the second is over", got, time.Since(start))
	}
}
