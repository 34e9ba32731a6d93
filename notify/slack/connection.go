package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/notify"
)

const (
	// handshake bounds the way to Slack's greeting.
	handshake = 10 * time.Second
	// socketWrite bounds one write to a connection.
	socketWrite = 5 * time.Second
)

// methodOpen is the Web API method that returns the address of a connection.
const methodOpen = "apps.connections.open"

// connection is one connection.
type connection struct {
	conn  *websocket.Conn
	since time.Time
	// over is closed when another connection has to take its place: Slack announced its end, or it has ended.
	over     chan struct{}
	overOnce sync.Once
	// writes orders what is written.
	writes sync.Mutex
	// mu guards the deadline for reading: once stopped, it is not put off any more.
	mu      sync.Mutex
	stopped bool
}

// envelope is one message of Slack.
type envelope struct {
	ID     string          `json:"envelope_id"`
	Type   string          `json:"type"`
	Reason string          `json:"reason"`
	Data   json.RawMessage `json:"payload"`
	App    struct {
		ID string `json:"app_id"`
	} `json:"connection_info"`
}

// connect opens a connection and returns it when Slack has greeted.
func (s *Socket) connect(ctx context.Context) (*connection, error) {
	address, err := s.client.openSocket(ctx)
	if err != nil {
		return nil, err
	}
	dialer := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshake}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if err != nil {
		return nil, s.client.hidden(fmt.Errorf("dial: %w", cause(err)), address)
	}
	_ = resp.Body.Close() // of a handshake, which has none
	l := &connection{conn: conn, since: time.Now(), over: make(chan struct{})}
	if err := s.greet(l); err != nil {
		return nil, errors.Join(s.client.hidden(err, address), conn.Close())
	}
	return l, nil
}

// greet reads what Slack says first: that the connection is good, or why not.
func (s *Socket) greet(l *connection) error {
	l.conn.SetReadLimit(maxBody)
	if err := l.conn.SetReadDeadline(time.Now().Add(handshake)); err != nil {
		return err
	}
	var e envelope
	if err := l.conn.ReadJSON(&e); err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	switch {
	case e.Type == "disconnect":
		return disconnectError(e.Reason)
	case e.Type != "hello":
		return fmt.Errorf("the first message is %.40q, not hello", e.Type)
	case s.cfg.AppID != "" && e.App.ID != "" && e.App.ID != s.cfg.AppID:
		return &notify.PermanentError{
			Err:  errors.New("the app token belongs to another app than the configuration names"),
			Next: "Set the app token of the app in slack.app_id: api.slack.com/apps, Basic Information, App-Level Tokens.",
		}
	}
	l.conn.SetPingHandler(func(data string) error {
		l.heard(s.cfg.Silence)
		return l.conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(socketWrite))
	})
	l.heard(s.cfg.Silence)
	return nil
}

// disconnectError is a connection that Slack sends away at once.
func disconnectError(reason string) error {
	err := fmt.Errorf("slack ended the connection: %.60s", redact.Clean(reason))
	switch reason {
	case "link_disabled":
		return &notify.PermanentError{
			Err: err, Next: "Turn on Socket Mode for the app: api.slack.com/apps, Socket Mode. Or set slack.mode: http.",
		}
	case "too_many_websockets":
		return &notify.PermanentError{
			Err:  err,
			Next: "The app has its ten connections already: run fewer replicas, and give each installation its own app.",
		}
	}
	return err
}

// serve reads a connection until it ends or ctx does, and waits for the payloads under way. Another connection takes
// its place before that: a slow store must not keep the bot from Slack.
func (s *Socket) serve(ctx context.Context, l *connection) {
	defer l.end()
	var under sync.WaitGroup
	defer under.Wait()
	defer func() {
		s.disconnected()
		l.replace()
	}()
	stop := context.AfterFunc(ctx, l.stop)
	defer stop()
	for ctx.Err() == nil {
		_, raw, err := l.conn.ReadMessage()
		if err != nil {
			if ctx.Err() == nil {
				s.logger.DebugContext(ctx, "a connection to Slack has ended", "err", err)
			}
			return
		}
		l.heard(s.cfg.Silence)
		var e envelope
		if err := json.Unmarshal(raw, &e); err != nil {
			s.logger.WarnContext(ctx, "a message of Slack was not understood", "reason", "it is not JSON of the expected shape")
			continue
		}
		if e.Type == "disconnect" {
			s.logger.DebugContext(ctx, "Slack will end a connection", "reason", e.Reason)
			l.replace()
			time.AfterFunc(s.cfg.Overlap, l.stop)
			continue
		}
		s.begin(ctx, l, e, &under)
	}
}

// begin hands an envelope to a goroutine, so that a slow store does not keep the connection from being read.
func (s *Socket) begin(ctx context.Context, l *connection, e envelope, under *sync.WaitGroup) {
	if e.ID == "" {
		return // nothing that wants an answer
	}
	s.mu.Lock()
	s.state.LastEnvelope = time.Now()
	s.mu.Unlock()
	select {
	case s.room <- struct{}{}:
	default:
		s.logger.ErrorContext(ctx, "a click was not taken; Slack shows the person an error", "reason",
			"too many others are being kept")
		return
	}
	work := context.WithoutCancel(ctx) // what has come is kept and acknowledged, also at the end of the process
	under.Go(func() {
		defer func() { <-s.room }()
		_ = s.panics.Do(work, Part, func() error { // it is logged there, and not acknowledged
			s.accept(work, l, e)
			return nil
		})
	})
}

// accept keeps a payload and acknowledges it. What cannot be kept is not acknowledged: Slack shows the person an error.
func (s *Socket) accept(ctx context.Context, l *connection, e envelope) {
	payload, err := e.payload()
	switch {
	case err != nil:
		s.logger.WarnContext(ctx, "an envelope was not understood", "err", err)
	default:
		if err := s.take(ctx, payload); err != nil {
			s.logger.ErrorContext(ctx, "a click was not taken; Slack shows the person an error", "err", err)
			return
		}
	}
	if err := l.acknowledge(e.ID); err != nil {
		// It is kept, so it is done; the person may click again, which changes nothing.
		s.logger.WarnContext(ctx, "a click was kept and could not be acknowledged; Slack shows the person an error", "err",
			err)
		l.stop()
	}
}

// payload is what is kept of an envelope.
func (e envelope) payload() ([]byte, error) {
	switch e.Type {
	case "interactive":
		return e.Data, nil
	case "slash_commands":
		return commandPayload(e.Data)
	}
	return nil, fmt.Errorf("%w: envelope %.40q", errNotForUs, e.Type)
}

func (l *connection) acknowledge(id string) error {
	text, err := json.Marshal(map[string]string{"envelope_id": id})
	if err != nil {
		return err
	}
	l.writes.Lock()
	defer l.writes.Unlock()
	if err := l.conn.SetWriteDeadline(time.Now().Add(socketWrite)); err != nil {
		return err
	}
	return l.conn.WriteMessage(websocket.TextMessage, text)
}

// heard puts off the time at which a silent connection counts as dead.
func (l *connection) heard(silence time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped {
		_ = l.conn.SetReadDeadline(time.Now().Add(silence)) // it fails only on a closed connection, as the next read does
	}
}

// stop ends reading. What was read before is still acknowledged.
func (l *connection) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	_ = l.conn.SetReadDeadline(time.Now()) // it fails only on a closed connection
}

// replace says that another connection has to take its place. It may be called twice.
func (l *connection) replace() { l.overOnce.Do(func() { close(l.over) }) }

// end closes the connection.
func (l *connection) end() {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = l.conn.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second)) // a courtesy
	_ = l.conn.Close()                                                                // nothing is lost with it
}

// openSocket returns the address of a new connection. The address is a secret: it lets its bearer connect, once.
func (c *Client) openSocket(ctx context.Context) (string, error) {
	var address string
	err := c.repeat(ctx, methodOpen, func(ctx context.Context) error {
		var err error
		_, address, err = c.api().StartSocketModeContext(ctx)
		return ofAppToken(notifyError(err, false))
	})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return "", errors.New("slack " + methodOpen + ": the address of the connection is not valid")
	}
	host := strings.ToLower(u.Hostname())
	slacks := strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com")
	if (u.Scheme == "wss" && (slacks || u.Host == c.host)) || (u.Scheme == "ws" && c.plain && u.Host == c.host) {
		return address, nil
	}
	return "", errors.New("slack " + methodOpen + ": the address of the connection does not belong to Slack")
}

// ofAppToken names the next step for the app token, which is another one than for the bot token.
func ofAppToken(err error) error {
	var permanent *notify.PermanentError
	var refused *answerError
	if errors.As(err, &permanent) && errors.As(err, &refused) && ofTheApp(refused.code) {
		permanent.Next = "Create an app-level token with the scope connections:write (api.slack.com/apps, Basic " +
			"Information, App-Level Tokens) and set it in slack.app_token_file, or in slack.app_token_env and restart the bot."
	}
	return err
}

// hidden leaves the address of a connection, and the tokens, out of an error.
func (c *Client) hidden(err error, address string) error {
	secrets := append([]string{address}, c.tokens.known()...)
	if u, parsed := url.Parse(address); parsed == nil {
		secrets = append(secrets, u.RawQuery)
	}
	return &clientError{method: "socket", text: redact.Without(err.Error(), secrets...), err: err}
}

// spread makes a wait up to a fifth longer, so that replicas do not come back at once.
func spread(d time.Duration) time.Duration { return d + rand.N(d/5+1) } //nolint:gosec // no secret
