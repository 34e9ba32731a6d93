package messages

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// form is what a person fills in to approve or deny: a reason, a value, a time, and a box.
const form = `{"type":"modal","callback_id":"approve","title":{"type":"plain_text","text":"Throttle"},
	"submit":{"type":"plain_text","text":"Approve"},"blocks":[
	{"type":"input","block_id":"reason","label":{"type":"plain_text","text":"Reason"},
		"element":{"type":"plain_text_input","action_id":"value","multiline":true}},
	{"type":"input","block_id":"limit","label":{"type":"plain_text","text":"Limit"},
		"element":{"type":"number_input","action_id":"value","is_decimal_allowed":false,"initial_value":"112"}},
	{"type":"input","block_id":"quiet","label":{"type":"plain_text","text":"Snooze"},
		"element":{"type":"static_select","action_id":"value","options":[
			{"text":{"type":"plain_text","text":"1 h"},"value":"1h"},{"text":{"type":"plain_text","text":"8 h"},"value":"8h"}]}},
	{"type":"input","block_id":"more","optional":true,"label":{"type":"plain_text","text":"More"},
		"element":{"type":"checkboxes","action_id":"value","options":[
			{"text":{"type":"plain_text","text":"Tell others"},"value":"tell"}]}}]}`

// fill clicks the button, and fills the form in and submits it once it is there.
const fill = `<script>
new MutationObserver(() => {
  const form = document.querySelector(".modal");
  if (!form || form.dataset.filled) return;
  form.dataset.filled = "yes";
  const at = (block) => form.querySelector('[data-block="' + block + '"]');
  at("reason").value = "load test";
  at("limit").value = "96";
  at("quiet").value = "8h";
  at("more").querySelector("input").click();
  form.querySelector('button[type="submit"]').click();
}).observe(document.getElementById("feed"), { childList: true });
addEventListener("load", () => document.querySelector('button[data-element="ask"]').click());
</script>`

// The page's buttons and forms work in a real browser, with the page's own script.
func TestAFormIsFilledInOnThePage(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	s := fakeslack.Start(t, fakeslack.Options{})
	client := slackgo.New(s.Token(), slackgo.OptionAPIURL(s.APIURL()))
	submitted := make(chan slackgo.InteractionCallback, 1)
	bot := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var in slackgo.InteractionCallback
		if err := json.Unmarshal([]byte(r.FormValue("payload")), &in); err != nil {
			t.Error(err)
		}
		if in.Type == slackgo.InteractionTypeViewSubmission {
			submitted <- in
			return
		}
		var view slackgo.ModalViewRequest
		if err := json.Unmarshal([]byte(form), &view); err != nil {
			t.Error(err)
		}
		if _, err := client.OpenViewContext(r.Context(), in.TriggerID, view); err != nil {
			t.Error(err)
		}
	}))
	defer bot.Close()
	s.SetInteractivityURL(bot.URL)
	_, _, err := client.PostMessageContext(t.Context(), channel, slackgo.MsgOptionText("x", false),
		slackgo.MsgOptionBlocks(slackgo.NewActionBlock("", slackgo.NewButtonBlockElement("ask", "v",
			slackgo.NewTextBlockObject("plain_text", "Ask", false, false)))))
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(filledIn(t, s.URL()))
	defer site.Close()

	// The browser goes on until it is ended, because the page waits for news.
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	var failed error
	ended, home := make(chan struct{}), t.TempDir()
	go func() {
		defer close(ended)
		_, failed = browse(ctx, home, "--remote-debugging-port=0", site.URL+"/")
	}()
	defer func() { cancel(); <-ended }()
	select {
	case in := <-submitted:
		got := in.View.State.Values
		if got["reason"]["value"].Value != "load test" || got["limit"]["value"].Value != "96" ||
			got["quiet"]["value"].SelectedOption.Value != "8h" || len(got["more"]["value"].SelectedOptions) != 1 {
			t.Errorf("submitted: %+v", got)
		}
	case <-ended:
		t.Fatalf("the browser ended without a submission: %v", failed)
	}
	if err := s.Wait(ctx, func(s *fakeslack.Server) bool { return !s.Views()[0].Open }); err != nil {
		t.Error(err)
	}
}

// filledIn is the page of a workspace, with somebody on it who clicks.
func filledIn(t *testing.T, workspace string) http.Handler {
	t.Helper()
	to, err := url.Parse(workspace)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/" {
			return nil
		}
		page, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		r.Header.Del("Content-Security-Policy")
		r.Header.Del("Content-Length")
		r.ContentLength = -1
		r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(page), "</body>", fill+"</body>", 1)))
		return nil
	}
	return proxy
}
