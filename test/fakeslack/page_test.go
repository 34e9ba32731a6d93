package fakeslack

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

// fetched is an answer that was read to its end.
type fetched struct {
	status int
	header http.Header
}

func fetch(t *testing.T, s *Server, path string) (fetched, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fetched{resp.StatusCode, resp.Header}, string(body)
}

func TestPageShowsTheChannel(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	_, empty := fetch(t, s, "/")
	if !strings.Contains(empty, "Nothing has been posted in #incidents yet") {
		t.Error("an empty channel does not say so")
	}
	ts := postBlocks(t, s, everyKind)
	if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("a reply", false),
		slack.MsgOptionTS(ts)); err != nil {
		t.Fatal(err)
	}
	s.PostAs("U0BOB", room, "a person", "")
	resp, page := fetch(t, s, "/")
	for _, want := range []string{
		`<h3 class="header level-2">title a &amp;amp; b</h3>`, ">the runbook</a>", "@bob",
		"field <strong>one</strong>", "<hr>", "small", "<figcaption>chart title</figcaption>",
		`<polyline class="line" points="`, `<ul class="legend">`, "<th>head</th>", `<td class="number">7.5</td>`, "eight",
		`data-element="go"`, `data-confirm="Sure?`, "choose", `<option value="out" selected>outside</option>`, "1 reply",
		"a reply", "Bob Brandt", "a person",
		"<p><strong>*as* it &lt;@U0BOB&gt; is &amp;amp; </strong>", "</span>22:13 UTC</p>",
		"<ul><li>:fire: _one_</li><li><code>pod=*two*</code></li></ul>", "<pre>a: |\n  *b*</pre>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "(edited)") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page says edited, or html/template refused something")
	}
	if policy := resp.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "script-src 'self'") {
		t.Errorf("content policy = %q", policy)
	}
	call(t, s, "chat.update", map[string]string{"channel": room, "ts": ts, "text": "now"})
	if _, feed := fetch(t, s, "/_page/feed?channel="+room); !strings.Contains(feed, "(edited)") ||
		strings.Contains(feed, "<!DOCTYPE") {
		t.Error("the feed is no fragment, or does not say edited")
	}
}

func TestPageEscapesHostileText(t *testing.T) {
	t.Parallel()
	const hostile = `</title><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`javascript:alert(3)`"
	s, client := start(t,
		Options{AllowUnexpected: true, Channels: []Channel{{ID: room, Name: hostile}}})
	s.PutUser(User{ID: "U0BOB", RealName: hostile})
	b, err := client.OpenViewContext(t.Context(), hostile, slack.ModalViewRequest{Type: slack.VTModal})
	if err == nil {
		t.Fatalf("opened %+v", b)
	}
	for _, kind := range []string{plain, mrkdwn} {
		text := string(encode(object{"type": kind, "text": hostile}))
		button := string(encode(object{
			"type": "button", "value": "v", "url": "https://x.test/" + hostile,
			"text": object{"type": plain, "text": hostile[:70]}, "action_id": hostile + kind,
		}))
		postBlocks(t, s,
			`[{"type":"section","text":`+text+`,"fields":[`+text+`]},{"type":"context","elements":[`+text+
				`]},{"type":"actions","elements":[`+button+`]}]`)
	}
	call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": hostile, "blocks": string(encode([]any{
		object{"type": "data_visualization", "title": "<script>", "chart": object{
			"type": "line", "axis_config": object{"categories": []any{"<script>"}, "x_label": "<script>"},
			"series": []any{object{"name": "<script>", "data": []any{object{"label": "<script>", "value": 1}}}},
		}},
		object{"type": "table", "rows": []any{[]any{object{"type": "raw_text", "text": hostile}}}},
		object{"type": "rich_text", "elements": []any{object{"type": "rich_text_section", "elements": []any{
			object{"type": "text", "text": hostile, "style": object{"code": true}},
		}}}},
	}))})
	s.PostAs("U0BOB", room, hostile, "")
	_, page := fetch(t, s, "/?user="+strings.ReplaceAll(hostile, " ", "+"))
	for _, bad := range []string{
		"<script>", "<img", "onerror=alert(2)>", `href="javascript`, "</title><img",
		"</title><script", "ZgotmplZ",
	} {
		if strings.Contains(strings.ReplaceAll(page, `<script src="/_page/page.js" defer></script>`, ""), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 12 {
		t.Errorf("the hostile text is shown %d times, want it everywhere it was sent", n)
	}
}

func TestPageShowsPrivateAnswersOnlyToTheirPerson(t *testing.T) {
	t.Parallel()
	s, _, click := clicked(t, Options{})
	res := press(t, s, click)
	tell(t, res.ResponseURL, `{"text":"you may not approve"}`)
	call(t, s, "chat.postEphemeral", map[string]string{"channel": room, "user": "U0ALICE", "text": "beside everything"})
	out := call(t, s, "views.open", map[string]string{"trigger_id": res.TriggerID, "view": everyInput})
	if out["ok"] != true {
		t.Fatal(out)
	}
	_, alice := fetch(t, s, "/?user=U0ALICE")
	_, bob := fetch(t, s, "/?user=U0BOB")
	for _, text := range []string{
		"you may not approve", "beside everything", "Only visible to you", `class="modal"`, "how many", "(optional)",
		"for the journal", ">because</textarea>", `<option value="1h">an hour</option>`, "it restarts pods",
	} {
		if !strings.Contains(alice, text) {
			t.Errorf("Alice does not see %q", text)
		}
		if strings.Contains(bob, text) {
			t.Errorf("Bob sees %q", text)
		}
	}
}

func TestPageTellsOfRequestsThatSlackWouldNotTake(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{AllowUnexpected: true})
	_ = client.RemoveReactionContext(t.Context(), "x", slack.NewRefToMessage(room, "1")) // the refusal is on the page
	if _, page := fetch(t, s, "/"); !strings.Contains(page, "reactions.remove: unknown_method") {
		t.Error("the page does not tell")
	}
}

func TestPageFiles(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	for path, kind := range map[string]string{"/_page/page.css": "text/css", "/_page/page.js": "text/javascript"} {
		if resp, body := fetch(t, s, path); resp.status != http.StatusOK ||
			!strings.HasPrefix(resp.header.Get("Content-Type"), kind) || body == "" {
			t.Errorf("%s: %d %s", path, resp.status, resp.header.Get("Content-Type"))
		}
	}
	if resp, _ := fetch(t, s, "/favicon.ico"); resp.status != http.StatusNotFound {
		t.Errorf("favicon: %d, want 404", resp.status)
	}
}

func TestEventsArriveWithEachChange(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	req, err := http.NewRequestWithContext(soon(t), http.MethodGet, s.URL()+"/_page/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the stream is endless, so closing it cuts it
	lines := bufio.NewScanner(resp.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return ""
	}
	first := next()
	s.PostAs("U0BOB", room, "x", "")
	if second := next(); second == first {
		t.Errorf("events %s and %s, want another number", first, second)
	}
}
