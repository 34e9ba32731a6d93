package slack

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

func TestUnsignedOldAndForeignRequestsAreRefused(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for name, tamper := range map[string]func(c *fakeslack.ClickRequest){
		"bad signature": func(c *fakeslack.ClickRequest) { c.BadSignature = true },
		"unsigned":      func(c *fakeslack.ClickRequest) { c.Unsigned = true },
		"too old":       func(c *fakeslack.ClickRequest) { c.Age = 6 * time.Minute },
		"from tomorrow": func(c *fakeslack.ClickRequest) { c.Age = -24 * time.Hour },
	} {
		c := f.request("U0ALICE", "approve:p1-s3")
		tamper(&c)
		res, err := f.Click(t.Context(), c)
		if !errors.Is(err, fakeslack.ErrRefused) || res.Status != http.StatusUnauthorized {
			t.Errorf("%s: status %d, %v", name, res.Status, err)
		}
	}
	if n := f.desk.decisions(); len(n) != 0 || len(f.Ephemerals()) != 0 {
		t.Errorf("decisions %+v, answers %+v", n, f.Ephemerals())
	}
	if got := f.click(fakeslack.ClickRequest{
		User: "U0ALICE", Channel: channel, MessageTS: f.desk.msg.TS,
		ActionID: "approve:p1-s3", Age: 4 * time.Minute,
	}); !strings.Contains(got, "Approved") {
		t.Errorf("a click within the five minutes: %q", got)
	}
}

func TestOnlyTheSigningSecretOpensTheDoor(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for secret, want := range map[string]int{f.SigningSecret(): 200, "other": 401, "": 401} {
		if got := send(t, f.bot, secret, "payload="+url.QueryEscape(`{"type":"view_closed"}`)).Code; got != want {
			t.Errorf("signed with %q: %d, want %d", secret, got, want)
		}
	}
	shut := f.another(InteractionsConfig{})
	shut.cfg.SigningSecret = always("")
	if got := send(t, shut, "", "payload={}").Code; got != 401 {
		t.Errorf("without any secret: %d", got)
	}
}

// send posts a body signed with a secret.
func send(t *testing.T, h http.Handler, secret, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", fakeslack.Sign(secret, stamp, []byte(body)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestSignedRequestsThatAreNoClicksAreAnsweredAndIgnored(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for _, body := range []string{
		"", "payload=", "payload=%zz", "a=b", "payload=null", "payload={}", "payload=[]",
		"payload=" + url.QueryEscape(`{"type":"view_submission"}`),
		"payload=" + url.QueryEscape(
			`{"type":"block_actions","container":{"type":"message"},"actions":[{"type":"button","action_id":"approve:p1-s3"}]}`,
		),
		"payload=" + url.QueryEscape(`{"type":"block_actions","container":{"type":"message"},"actions":[]}`),
	} {
		if got := send(t, f.bot, f.SigningSecret(), body); got.Code != http.StatusOK || got.Body.Len() != 0 {
			t.Errorf("%q: %d %q", body, got.Code, got.Body)
		}
	}
	if got := send(t, f.bot, f.SigningSecret(),
		"payload="+strings.Repeat("x", maxBody)); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d", got.Code)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	if f.bot.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("decisions: %+v", n)
	}
}

func TestSlackGetsItsAnswerAtOnceWhileTheStoreIsSlow(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{Workers: 1}, asked(t, incident.ModeApprove).inc)
	f.desk.slow = make(chan struct{})
	var clicks []fakeslack.ClickResult
	for n := range 5 { // one is worked on, the others wait in the store
		res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil || res.Took > 2*time.Second {
			t.Fatalf("click %d: %v after %s", n, err, res.Took)
		}
		clicks = append(clicks, res)
	}
	close(f.desk.slow)
	for _, c := range clicks {
		if _, err := f.WaitAnswers(t.Context(), c.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("%d decisions", len(n))
	}
}

func TestAnswerThatCannotBeDeliveredIsLoggedWithoutItsAddress(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.Fail("response_url", 1, fakeslack.Fault{DropBefore: true})
	if _, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3")); err != nil {
		t.Fatal(err)
	}
	until(t, "the failure is logged", func() bool { return strings.Contains(f.logs.String(), "could not be delivered") })
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("the decision was lost: %d", len(n))
	}
}

func TestAnswersGoToSlackOnly(t *testing.T) {
	t.Parallel()
	c, err := NewClient(Config{Token: always("xoxb-secret")})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"https://evil.example/actions/T/secretpath", "http://hooks.slack.com/actions/secretpath",
		"https://hooks.slack.com.evil.example/secretpath", "https://u:p@hooks.slack.com/secretpath",
		"http://169.254.169.254/secretpath", "%zz", "file:///etc/passwd", "https://slack.com.evil/secretpath",
		"http://slack.com/secretpath",
	} {
		err := c.respond(t.Context(), bad, "text")
		if err == nil {
			t.Fatalf("%s was taken", bad)
		}
		mustHide(t, err.Error(), "secretpath", "evil")
	}
	for _, good := range []string{
		"https://hooks.slack.com/actions/T/1/x", "https://hooks.slack-gov.com/a",
		"https://slack.com/api/x",
	} {
		if err := c.trusted(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestNewInteractionsNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := NewInteractions(InteractionsConfig{Workers: -1}, InteractionsDeps{})
	if err == nil {
		t.Fatal("nothing at all was taken")
	}
	for _, want := range []string{
		"client", "decider", "lookup", "store of clicks", "approvers", "commands", "logger", "negative",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func FuzzHandle(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`,
		`{"type":"block_actions","actions":[{"type":"button","action_id":"approve:x","block_id":"b",` +
			`"value":"{\"i\":\"inc-1\",\"s\":\"p1-s1\",\"d\":\"x\"}"}],` +
			`"user":{"id":"U1"},"team":{"id":"T1"},"api_app_id":"A1","container":{"type":"message","message_ts":"1.1",` +
			`"channel_id":"C1"},"response_url":"https://evil.example"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		_, log := newLogs(t)
		c, err := NewClient(Config{Token: always("xoxb-secret"), APIURL: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		inc := asked(t, incident.ModeApprove).inc
		d := &desk{inc: inc, msg: incident.Message{Incident: inc.ID, Channel: "C1", TS: "1.1"}}
		i, err := NewInteractions(InteractionsConfig{Team: "T1"}, InteractionsDeps{
			Client: c, Decider: d, Lookup: d, Clicks: &shelf{}, Digests: d, Logger: log, Commands: &booth{},
			Approvers: func(string, incident.StepKind) incident.Approvers { return incident.Approvers{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		a := i.Handle(t.Context(), incident.Click{ID: 1, Payload: payload, Fence: 1})
		if a.Decided || len(d.decisions()) != 0 {
			t.Errorf("decided: %+v", a)
		}
	})
}
