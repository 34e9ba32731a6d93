package fakeslack

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func control(t *testing.T, s *Server, path, body string) map[string]any {
	t.Helper()
	return send(t, s.URL()+"/_fake/"+path, "application/json", body)
}

func TestControlDrivesTheWorkspaceAsAProgram(t *testing.T) {
	t.Parallel()
	s, b, click := clicked(t, Options{})
	res := control(t, s, "click", `{"user":"U0ALICE","channel":"`+room+`","message_ts":"`+click.MessageTS+`","action_id":"approve"}`)
	result, _ := res["result"].(map[string]any)
	if res["ok"] != true || result["status"] != 200.0 || b.count() != 1 {
		t.Fatalf("click = %v", res)
	}
	if res = control(t, s, "click", `{"user":"U0ALICE","channel":"`+room+`","message_ts":"`+click.MessageTS+`","action_id":"approve","age_ms":400000}`); res["ok"] != false || res["http_status"] != http.StatusConflict {
		t.Errorf("an old click = %v, want it refused", res)
	}
	if res = control(t, s, "say", `{"user":"U0BOB","channel":"`+room+`","text":"hello"}`); res["ok"] != true {
		t.Fatal(res)
	}
	control(t, s, "users", `{"id":"U0NEW","is_bot":true}`)
	control(t, s, "channels", `{"id":"C0NEW","name":"new"}`)
	control(t, s, "usergroups", `{"id":"S0NEW","users":["U0NEW"]}`)
	if out := call(t, s, "usergroups.users.list", map[string]string{"usergroup": "S0NEW"}); out["ok"] != true {
		t.Error(out)
	}
	if out := call(t, s, "users.info", map[string]string{"user": "U0NEW"}); out["ok"] != true {
		t.Error(out)
	}
	_, messages := fetch(t, s, "/_fake/messages?channel="+room)
	var got []struct {
		Text     string
		TS       string
		Buttons  []Button
		Versions []Version
		Metadata *Metadata
	}
	if err := json.Unmarshal([]byte(messages), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].TS != click.MessageTS || len(got[0].Buttons) != 1 || got[0].Metadata.EventPayload["incident_id"] != "inc1" || got[1].Text != "hello" {
		t.Errorf("messages = %s", messages)
	}
	for path, want := range map[string]string{"calls": `"method":"chat.postMessage"`, "ephemerals": "[]", "views": "[]", "mentions": "[]", "unexpected": `{"unexpected":[],"unused":[]}`} {
		if _, body := fetch(t, s, "/_fake/"+path); !strings.Contains(body, want) {
			t.Errorf("%s = %s, want %s in it", path, body, want)
		}
	}
}

func TestControlFaultsOutageAndConfig(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	control(t, s, "fault", `{"method":"auth.test","n":1,"fault":{"http_status":429,"retry_after_ms":1500,"skip":1}}`)
	if out := call(t, s, "auth.test", nil); out["ok"] != true {
		t.Errorf("the skipped call: %v", out)
	}
	if out := call(t, s, "auth.test", nil); out["http_status"] != 429 {
		t.Errorf("the call with the fault: %v", out)
	}
	control(t, s, "outage", `{"status":429}`)
	if out := call(t, s, "auth.test", nil); out["http_status"] != 429 {
		t.Errorf("in the outage: %v", out)
	}
	control(t, s, "outage", `{"status":0}`)
	control(t, s, "config", `{"interactivity_url":"http://127.0.0.1:1/"}`)
	ts := postBlocks(t, s, oneButton)
	if out := control(t, s, "click", `{"user":"U0BOB","channel":"`+room+`","message_ts":"`+ts+`","action_id":"approve"}`); !strings.Contains(out["error"].(string), "did not answer") {
		t.Errorf("click to nobody = %v", out)
	}
	if out := control(t, s, "submit", `{"user":"U0BOB","view_id":"V9"}`); out["ok"] != false {
		t.Errorf("submit of nothing = %v", out)
	}
	if out := control(t, s, "close", `{"user":"U0BOB","view_id":"V9"}`); out["ok"] != false {
		t.Errorf("close of nothing = %v", out)
	}
	if out := control(t, s, "expire", `{}`); out["ok"] != true {
		t.Errorf("expire = %v", out)
	}
}

func TestControlRefusesWhatItDoesNotUnderstand(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	tests := []struct {
		path, contentType, body string
		status                  int
	}{
		{"users", "text/plain", `{"id":"U1"}`, http.StatusUnsupportedMediaType},
		{"users", "", `{"id":"U1"}`, http.StatusUnsupportedMediaType},
		{"users", "application/json", `{"id":"U1","nam":"typo"}`, http.StatusBadRequest},
		{"users", "application/json", `{`, http.StatusBadRequest},
		{"users", "application/json", `{}`, http.StatusConflict},
		{"fault", "application/json", `{"method":"auth.test"}`, http.StatusConflict},
		{"say", "application/json", `{"text":"x"}`, http.StatusConflict},
	}
	for _, tt := range tests {
		if out := send(t, s.URL()+"/_fake/"+tt.path, tt.contentType, tt.body); out["ok"] != false || out["http_status"] != tt.status {
			t.Errorf("%s with %q %s = %v, want %d", tt.path, tt.contentType, tt.body, out, tt.status)
		}
	}
}
