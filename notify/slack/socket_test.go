package slack

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// quick are the waits of a Socket in a test.
func quick() SocketConfig {
	return SocketConfig{
		AppID: fakeslack.AppID, Silence: 20 * time.Second, Overlap: 2 * time.Second, Retry: 5 * time.Millisecond,
		RetryMax: 20 * time.Millisecond, RetryRefused: 20 * time.Millisecond, Settled: time.Millisecond,
	}
}

// plug runs a Socket that hands what it gets to the bot, and returns it when it is connected.
func (f *office) plug(cfg SocketConfig, bot *Interactions) *Socket {
	f.t.Helper()
	before := f.SocketsAccepted()
	s, err := NewSocket(cfg, SocketDeps{Client: f.client, Take: bot.Enqueue, Logger: f.log})
	if err != nil {
		f.t.Fatal(err)
	}
	background(f.t, s.Run)
	until(f.t, "a connection", func() bool { return s.State().Open == 1 && f.SocketsAccepted() > before })
	return s
}

// newSocketOffice is an office whose bot gets clicks in Socket Mode.
func newSocketOffice(t *testing.T, cfg InteractionsConfig, inc incident.Incident) (*office, *Socket) {
	t.Helper()
	f := newOfficeIn(t, fakeslack.Options{SocketMode: true}, cfg, inc)
	f.SetInteractivityURL("http://127.0.0.1:1/") // nothing may be sent there
	return f, f.plug(quick(), f.bot)
}

func TestAConnectionIsReplacedBeforeSlackEndsIt(t *testing.T) {
	t.Parallel()
	f, s := newSocketOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.desk.approvers = incident.Approvers{}
	for round := range 2 {
		f.Disconnect("warning", 1500*time.Millisecond)
		until(t, "the next connection", func() bool { return f.SocketsAccepted() == round+2 })
		if n := f.Sockets(); n != 2 {
			t.Errorf("round %d: %d connections while one is about to end", round, n)
		}
		for range 4 { // some over the old connection, some over the new one
			f.click(f.request("U0ALICE", "approve:p1-s3"))
		}
		until(t, "the old connection has ended", func() bool { return f.Sockets() == 1 && s.State().Open == 1 })
	}
	if st := s.State(); st.Opened != 3 || st.LastEnvelope.IsZero() || !st.Lost.IsZero() || st.Err != nil {
		t.Errorf("state = %+v", st)
	}
}

func TestALostConnectionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	f, s := newSocketOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for n, lose := range []func(){f.CutSockets, func() { f.Disconnect("refresh_requested", 0) }} {
		lose()
		until(t, "another connection", func() bool { return s.State().Opened >= int64(n+2) && s.State().Open == 1 })
	}
	until(t, "a good connection", func() bool { return f.Sockets() == 1 && s.State().Open == 1 })
	if got := f.click(f.request("U0ALICE", "approve:p1-s3")); !strings.Contains(got, "Approved") {
		t.Errorf("answer = %q", got)
	}
}

// A connection that nobody closed and that carries nothing is noticed by its silence, and only by that.
func TestASilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	f := newOfficeIn(t, fakeslack.Options{SocketMode: true, PingEvery: 200 * time.Millisecond}, InteractionsConfig{},
		asked(t, incident.ModeApprove).inc)
	cfg := quick()
	cfg.Silence = 2 * time.Second
	s := f.plug(cfg, f.bot)
	begin := time.Now()
	f.HalfOpen()
	until(t, "another connection", func() bool { return s.State().Opened > 1 && s.State().Open == 1 })
	if took := time.Since(begin); took < cfg.Silence/2 {
		t.Errorf("replaced after %s: something else than the silence told", took)
	}
}

// Each failure is visible, says what to do, is logged once, and ends when its cause does.
func TestWhyThereIsNoConnectionIsSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		begin      func(f *office)
		heal       func(f *office)
		want, next string
		appTrouble bool
	}{
		{
			name: "Socket Mode is off", begin: func(f *office) { f.SetSocketMode(false) },
			heal: func(f *office) { f.SetSocketMode(true) }, want: "link_disabled", next: "Turn on Socket Mode",
		},
		{
			name: "the app token is revoked", begin: func(f *office) { f.RevokeAppToken(); f.CutSockets() },
			want: "token_revoked", next: "Create an app-level token",
		},
		{
			name: "the Web API is down", begin: func(f *office) { f.Outage(503); f.CutSockets() },
			heal: func(f *office) { f.Outage(0) }, want: "503",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, s := newSocketOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
			tt.begin(f)
			until(t, "the failure is known", func() bool { return s.State().Err != nil })
			calls := len(f.CallsTo("apps.connections.open"))
			until(t, "it is tried again", func() bool { return len(f.CallsTo("apps.connections.open")) > calls+2 })
			st := s.State()
			if st.Open != 0 || st.Lost.IsZero() || st.Err == nil || !strings.Contains(st.Err.Error(), tt.want) ||
				!strings.Contains(nextStepOf(st.Err), tt.next) {
				t.Errorf("state = %+v, next step %q", st, nextStepOf(st.Err))
			}
			if n := strings.Count(f.logs.String(), "no connection to Slack"); n != 1 {
				t.Errorf("logged %d times:\n%s", n, f.logs)
			}
			if got, lost := s.Trouble(); !lost || !strings.Contains(got.Next, tt.next) ||
				(tt.next != "" && !strings.Contains(got.Text, tt.want)) {
				t.Errorf("trouble = %+v, %t", got, lost)
			}
			if tt.heal == nil {
				return
			}
			tt.heal(f)
			until(t, "a connection", func() bool { return s.State().Open == 1 && s.State().Err == nil })
			if !strings.Contains(f.logs.String(), "connected to Slack again") {
				t.Errorf("log:\n%s", f.logs)
			}
			if got, lost := s.Trouble(); lost {
				t.Errorf("trouble = %+v", got)
			}
		})
	}
}

func TestTheTokenOfAnotherAppIsRefused(t *testing.T) {
	t.Parallel()
	f := newOfficeIn(t, fakeslack.Options{SocketMode: true}, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	cfg := quick()
	cfg.AppID = "A0OTHER"
	s, err := NewSocket(cfg, SocketDeps{Client: f.client, Take: f.bot.Enqueue, Logger: f.log})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	until(t, "it is refused", func() bool { return s.State().Err != nil })
	if st := s.State(); !strings.Contains(st.Err.Error(), "another app") || nextStepOf(st.Err) == "" || st.Open != 0 {
		t.Errorf("state = %+v", st)
	}
}

// A click that is being kept when the process is told to end is kept and acknowledged.
func TestTheEndOfTheProcessDoesNotCutOffAClick(t *testing.T) {
	t.Parallel()
	f := newOfficeIn(t, fakeslack.Options{SocketMode: true}, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	begun, free := make(chan struct{}), make(chan struct{})
	take := func(ctx context.Context, p []byte) error {
		close(begun)
		<-free
		return f.bot.Enqueue(ctx, p)
	}
	s, err := NewSocket(quick(), SocketDeps{Client: f.client, Logger: f.log, Take: take})
	if err != nil {
		t.Fatal(err)
	}
	stop := background(t, s.Run)
	until(t, "a connection", func() bool { return s.State().Open == 1 })
	clicked := make(chan error, 1)
	go func() {
		_, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		clicked <- err
	}()
	<-begun
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
		t.Error("Run did not wait for the click")
	case <-time.After(50 * time.Millisecond):
	}
	close(free)
	<-ended
	if err := <-clicked; err != nil {
		t.Errorf("the click was not acknowledged: %v", err)
	}
}

// slowStore is an office whose store hangs on Alice's clicks and has one of them. What became of it comes from clicked.
func slowStore(t *testing.T) (f *office, s *Socket, release func(), clicked <-chan error) {
	t.Helper()
	f = newOfficeIn(t, fakeslack.Options{SocketMode: true}, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	take := func(_ context.Context, p []byte) error {
		if strings.Contains(string(p), "U0ALICE") {
			held <- struct{}{}
			<-hold
		}
		return nil
	}
	s, err := NewSocket(quick(), SocketDeps{Client: f.client, Logger: f.log, Take: take})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	until(t, "a connection", func() bool { return s.State().Open == 1 })
	first := make(chan error, 1)
	go func() {
		_, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		first <- err
	}()
	<-held
	return f, s, func() { close(hold) }, first
}

// A store that does not answer holds up neither the reading of the connection nor the other clicks.
func TestASlowStoreDoesNotKeepTheConnectionFromBeingRead(t *testing.T) {
	t.Parallel()
	f, s, release, clicked := slowStore(t)
	begin := time.Now()
	if _, err := f.Click(t.Context(), f.request("U0BOB", "approve:p1-s3")); err != nil || time.Since(begin) > time.Second {
		t.Errorf("another click while the store is slow: %v after %s", err, time.Since(begin))
	}
	if err := <-clicked; !errors.Is(err, fakeslack.ErrNoAnswer) {
		t.Errorf("the slow one: %v", err)
	}
	release()
	if st := s.State(); st.Open != 1 || st.Opened != 1 {
		t.Errorf("the connection did not last: %+v", st)
	}
}

// A connection that has ended is replaced although the store still works on what came through it.
func TestASlowStoreDoesNotHoldUpTheNextConnection(t *testing.T) {
	t.Parallel()
	f, s, release, clicked := slowStore(t)
	defer func() {
		release()
		if err := <-clicked; err == nil {
			t.Error("a click was answered over a connection that had ended")
		}
	}()
	f.CutSockets()
	until(t, "the next connection", func() bool { return s.State().Opened == 2 && s.State().Open == 1 })
}

func TestTheAddressOfAConnectionMustBeSlacks(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"wss://wss-primary.slack.com/link/?ticket=t": true, "wss://x.slack-gov.com/link/": true,
		"ws://wss-primary.slack.com/link/": false, "wss://slack.com.evil.test/": false, "https://wss.slack.com/": false,
		"wss://user@wss.slack.com/": false, "wss://notslack.com/": false, "": false,
	} {
		w := newWorkspace(t, fakeslack.Options{})
		w.Fail("apps.connections.open", 1, fakeslack.Fault{Body: fmt.Sprintf(`{"ok":true,"url":%q}`, address)})
		got, err := w.client.openSocket(t.Context())
		if (err == nil) != good || (good && got != address) {
			t.Errorf("%q: %q, %v", address, got, err)
		}
	}
}

func TestASocketHidesItsSecrets(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(nil)
	defer srv.Close()
	c, err := NewClient(Config{Token: always("xoxb-secret"), AppToken: always("xapp-secret"), APIURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	address := "wss://wss.slack.com/link/?ticket=secretticket&app_id=A1"
	for _, text := range []string{address, "ticket=secretticket&app_id=A1", "xapp-secret", "xoxb-secret"} {
		mustHide(t, c.hidden(errors.New("cannot reach "+text), address).Error(), "secretticket", "xapp-secret", "xoxb-secret")
	}
	cfg := Config{Token: always("xoxb-secret"), AppToken: always("xapp-secret")}
	mustHide(t, fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg), "xapp-secret", "xoxb-secret")
	l, log := newLogs(t, "xapp-secret")
	log.Info("configuration", "slack", cfg)
	if l.String() == "" {
		t.Error("nothing was logged")
	}
	if _, err := NewSocket(SocketConfig{Retry: -1}, SocketDeps{}); err == nil ||
		strings.Count(err.Error(), "slack socket:") != 4 {
		t.Errorf("missing parts: %v", err)
	}
}

// Slack says how long to wait before the next attempt, and the bot waits as long.
func TestTheRateLimitOfConnectionsIsKept(t *testing.T) {
	t.Parallel()
	f, s := newSocketOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.Fail("apps.connections.open", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Second})
	begin := time.Now()
	f.CutSockets()
	until(t, "the next connection", func() bool { return s.State().Opened == 2 && s.State().Open == 1 })
	if took := time.Since(begin); took < time.Second {
		t.Errorf("opened after %s", took)
	}
}

func TestWhatSlackSaysInsteadOfAGreetingHasANextStep(t *testing.T) {
	t.Parallel()
	for reason, next := range map[string]string{
		"link_disabled": "Turn on Socket Mode", "too_many_websockets": "ten connections", "warning": "", "<!channel>": "",
	} {
		err := disconnectError(reason)
		if got := nextStepOf(err); !strings.Contains(got, next) || (next == "") != (got == "") {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
