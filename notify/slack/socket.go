package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/notify"
)

// SocketConfig says how connections are kept. Zero durations get the defaults named beside them.
type SocketConfig struct {
	// AppID is compared with the one that Slack greets with: the token of another app would get another app's clicks.
	AppID string
	// Silence is how long a connection may say nothing, not even ping, before it counts as dead (30 s).
	Silence time.Duration
	// Overlap is how long a connection that Slack is about to end is still read beside its successor (1 m).
	Overlap time.Duration
	// Retry is the shortest wait between attempts, RetryMax the longest (500 ms, 30 s), RetryRefused the wait after a
	// refusal that somebody has to act on (1 m).
	Retry, RetryMax, RetryRefused time.Duration
	// Settled is how long a connection must have lasted for its end to be nothing special (10 s).
	Settled time.Duration
	// AtOnce is how many connections that lasted less may be followed by the next one without a wait, within a minute
	// (40): one that is cut every two seconds carries clicks in between. Slack says when that is too often for it, which
	// is kept in any case.
	AtOnce int
}

func (c SocketConfig) withDefaults() SocketConfig {
	c.Silence = cmp.Or(c.Silence, 30*time.Second)
	c.Overlap = cmp.Or(c.Overlap, time.Minute)
	c.Retry = cmp.Or(c.Retry, 500*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, 30*time.Second)
	c.RetryRefused = cmp.Or(c.RetryRefused, time.Minute)
	c.Settled = cmp.Or(c.Settled, 10*time.Second)
	c.AtOnce = cmp.Or(c.AtOnce, 40)
	return c
}

// SocketDeps are the parts that a Socket works with.
type SocketDeps struct {
	Client *Client
	// Take keeps a payload; see Interactions.Enqueue. It is called by several goroutines at once.
	Take   func(ctx context.Context, payload []byte) error
	Logger *slog.Logger
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
}

// Socket keeps the app connected in Socket Mode: Slack sends clicks and commands through a connection that the bot
// opens, so that nothing of the bot faces the internet. A payload is acknowledged when Take has kept it, and what it
// asks for is done afterwards. Slack ends each connection about once an hour and says so before: the next one is opened
// first. Slack gives each payload to any one connection of the app, so that replicas share a store.
type Socket struct {
	cfg    SocketConfig
	client *Client
	take   func(ctx context.Context, payload []byte) error
	logger *slog.Logger
	panics *rescue.Log
	// room bounds how many payloads are being kept at once. One that finds no room is not acknowledged, and Slack shows
	// the person an error.
	room chan struct{}

	mu    sync.Mutex
	state SocketState
	said  string // the trouble that was logged last
	pace  pace
	cut   bool // it was logged that connections are cut again and again
}

// SocketState is what is known of the connections.
type SocketState struct {
	// Open is how many connections there are: one, two for a while when Slack is about to end one, none when none could
	// be opened.
	Open int
	// Opened counts all so far.
	Opened int64
	// LastEnvelope is when the last click or command came, of whichever connection; zero before the first.
	LastEnvelope time.Time
	// Lost is when the last connection ended, while none is open; zero else.
	Lost time.Time
	// Err is why none could be opened; nil while one is.
	Err error
}

// atOnce is how many payloads are kept at the same time.
const atOnce = 64

// NewSocket returns a Socket that is not connected yet, or an error that names everything that is missing.
func NewSocket(cfg SocketConfig, deps SocketDeps) (*Socket, error) {
	var errs []error
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"client", deps.Client == nil},
		{"function that keeps payloads", deps.Take == nil},
		{"logger", deps.Logger == nil},
	} {
		if need.missing {
			errs = append(errs, fmt.Errorf("slack socket: the %s is nil", need.name))
		}
	}
	cfg = cfg.withDefaults()
	if min(cfg.Silence, cfg.Overlap, cfg.Retry, cfg.RetryMax, cfg.RetryRefused, cfg.Settled) < 0 {
		errs = append(errs, errors.New("slack socket: no duration may be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Socket{
		cfg: cfg, client: deps.Client, take: deps.Take, logger: deps.Logger, panics: deps.Panics,
		room: make(chan struct{}, atOnce), state: SocketState{Lost: time.Now()},
	}, nil
}

// Run keeps a connection open until ctx ends, waits for the payloads under way, and returns nil. No failure ends it: a
// token can be revoked and Socket Mode be turned off while people still need the bot, and both can be mended. It is
// called once.
func (s *Socket) Run(ctx context.Context) error {
	var links sync.WaitGroup
	defer links.Wait()
	for ctx.Err() == nil {
		l, err := s.connect(ctx)
		if err != nil {
			s.unconnected(ctx, err)
			s.pause(ctx, s.wait(err, s.failed()))
			continue
		}

		s.connected(ctx)
		links.Go(func() { s.serve(ctx, l) })
		select {
		case <-ctx.Done():
			return nil
		case <-l.over:
		}
		if !s.ended(ctx, time.Since(l.since)) {
			s.pause(ctx, s.wait(nil, s.failed()))
		}
	}
	return nil
}

// failed counts one more wait in a row and returns how many there were before.
func (s *Socket) failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace.failures++
	return s.pace.failures - 1
}

// ended notes that a connection has to be replaced and says whether that is done without a wait. That connections are
// cut again and again is logged once, until there was none for a while.
func (s *Socket) ended(ctx context.Context, lived time.Duration) bool {
	s.mu.Lock()
	atOnce := s.pace.ended(time.Now(), lived, s.cfg)
	cuts := s.pace.cuts(time.Now())
	news := cuts > 0 && !s.cut
	s.cut = cuts > 0
	s.mu.Unlock()
	if news {
		s.logger.WarnContext(ctx, "connections to Slack are cut again and again; clicks in between are lost", "count", cuts,
			"reason", cutNext)
	}
	return atOnce
}

// cutNext is what to do about connections that do not last.
const cutNext = "Something between the bot and Slack cuts connections: check proxies, firewalls and the network. " +
	"Or set slack.mode: http."

// State is what is known of the connections now.
func (s *Socket) State() SocketState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// reconnecting is how long a connection may be away before that is worth telling.
const reconnecting = 10 * time.Second

// Trouble says why there is no connection; false when there is one, or when one has only just been lost. It holds no
// secret and no name.
func (s *Socket) Trouble() (Trouble, bool) {
	st := s.State()
	if st.Open > 0 || (st.Err == nil && time.Since(st.Lost) < reconnecting) {
		return s.cutTrouble()
	}
	t := Trouble{Text: "no connection for clicks and commands", Since: st.Lost}
	if permanent, ok := errors.AsType[*notify.PermanentError](st.Err); ok {
		t.Text, t.Next = t.Text+": "+permanent.Error(), permanent.Next
	}
	return t, true
}

// cutTrouble says that connections do not last; false when they do.
func (s *Socket) cutTrouble() (Trouble, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cuts := s.pace.cuts(time.Now())
	if cuts == 0 {
		return Trouble{}, false
	}
	return Trouble{
		Text:  fmt.Sprintf("the connection for clicks and commands was cut %d times in a minute", cuts),
		Next:  cutNext,
		Since: s.pace.since(),
	}, true
}

// wait is how long to wait before the next attempt. The time that Slack demands is kept.
func (s *Socket) wait(err error, failures int) time.Duration {
	if limited, ok := errors.AsType[*notify.RateLimitedError](err); ok {
		return limited.After
	}
	if _, ok := errors.AsType[*notify.PermanentError](err); ok {
		return s.cfg.RetryRefused
	}
	return spread(min(s.cfg.Retry<<min(failures, 16), s.cfg.RetryMax))
}

func (s *Socket) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (s *Socket) connected(ctx context.Context) {
	s.mu.Lock()
	s.state.Open++
	s.state.Opened++
	s.state.Lost, s.state.Err = time.Time{}, nil
	again := s.said != ""
	s.said = ""
	s.mu.Unlock()
	if again {
		s.logger.InfoContext(ctx, "connected to Slack again")
		return
	}
	s.logger.DebugContext(ctx, "connected to Slack")
}

// disconnected notes that a connection ended.
func (s *Socket) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Open--; s.state.Open == 0 {
		s.state.Lost = time.Now()
	}
}

// unconnected notes that no connection could be opened, and logs it when the reason is new. A connection that Slack is
// about to end may still be there.
func (s *Socket) unconnected(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	s.state.Err = err
	news := s.said != err.Error()
	s.said = err.Error()
	s.mu.Unlock()
	if !news {
		return
	}
	s.logger.WarnContext(ctx, "no connection to Slack, so clicks and commands do not arrive; it is tried again", "err",
		err, "reason", nextStepOf(err))
}

// nextStepOf is what somebody has to do about an error; empty when it passes without help.
func nextStepOf(err error) string {
	if permanent, ok := errors.AsType[*notify.PermanentError](err); ok {
		return permanent.Next
	}
	return ""
}
