package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/notify"
)

// defaultAPI is the address of Slack's Web API.
const defaultAPI = "https://slack.com/api/"

// Config says how to reach Slack.
type Config struct {
	// Token is the bot token (xoxb-...), asked for with each call because it may be replaced.
	Token func() string
	// AppToken is the app-level token (xapp-...) that opens connections in Socket Mode, asked for with each connection;
	// nil without it.
	AppToken func() string
	// APIURL is the address of the Web API; empty means Slack's own.
	APIURL string
	// Timeout bounds one call (10 s).
	Timeout time.Duration
	// Transport carries the calls; nil means a clone of the default one.
	Transport http.RoundTripper
}

// LogValue shows the configuration without its secrets.
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("api_url", c.APIURL), slog.Duration("timeout", c.Timeout))
}

// String shows the configuration without its secrets.
func (c Config) String() string { return fmt.Sprintf("{APIURL:%s Timeout:%s}", c.APIURL, c.Timeout) }

// GoString shows the configuration without its secrets.
func (c Config) GoString() string { return c.String() }

// Client calls the Web API. It obeys rate limits as Slack counts them, bounds every call, follows no redirect, and its
// errors hold no secret and are those that notify.Notifier documents. It is safe for concurrent use.
type Client struct {
	tokens tokens
	http   *http.Client
	host   string // of the Web API, where response URLs may lead to beside Slack's own
	plain  bool   // the Web API is reached without TLS
	limits rateLimits
	health health

	mu sync.Mutex
	me *Identity
	// of is the token that me was asked with.
	of string
}

// NewClient returns a Client without calling Slack.
func NewClient(cfg Config) (*Client, error) {
	if cfg.Token == nil || cfg.Token() == "" {
		return nil, errors.New("slack: the bot token is empty")
	}
	if cfg.APIURL == "" {
		cfg.APIURL = defaultAPI
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	u, err := url.Parse(cfg.APIURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("slack: the API URL is not an http or https address")
	}
	hc := &http.Client{
		Timeout: cfg.Timeout, Transport: cfg.Transport,
		// A redirect would carry the token to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{tokens: newTokens(cfg, hc), http: hc, host: u.Host, plain: u.Scheme == "http"}, nil
}

// api calls Slack with the tokens of now.
func (c *Client) api() *slackgo.Client {
	api, _ := c.tokens.api()
	return api
}

// Identity is who the bot is in which workspace.
type Identity struct {
	Team, TeamName, Enterprise string
	// User is the bot's user id; its messages carry it or the BotID.
	User, BotID string
	// URL is the address of the workspace.
	URL string
	// Scopes are the rights of the token, as far as Slack named them.
	Scopes []string
}

// Check asks Slack who the token belongs to. It is always asked anew, and safe to call any number of times.
func (c *Client) Check(ctx context.Context) (Identity, error) {
	var me Identity
	var with string
	err := c.repeat(ctx, "auth.test", func(ctx context.Context) error {
		api, token := c.tokens.api()
		with = token
		a, err := api.AuthTestContext(ctx)
		if err != nil {
			return err
		}
		me = Identity{
			Team: a.TeamID, TeamName: a.Team, Enterprise: a.EnterpriseID, User: a.UserID, BotID: a.BotID, URL: a.URL,
		}
		for s := range strings.SplitSeq(a.Header.Get("X-Oauth-Scopes"), ",") {
			if s = strings.TrimSpace(s); s != "" {
				me.Scopes = append(me.Scopes, s)
			}
		}
		return nil
	})
	if err != nil {
		return Identity{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me, c.of = &me, with
	return me, nil
}

// identity is Check, asked once for each token.
func (c *Client) identity(ctx context.Context) (Identity, error) {
	_, token := c.tokens.api()
	c.mu.Lock()
	me, of := c.me, c.of
	c.mu.Unlock()
	if me != nil && of == token {
		return *me, nil
	}
	return c.Check(ctx)
}

// Permalink is the address of a message in the workspace, as Slack itself makes it. It asks Slack for the workspace
// once; ts is that of the message.
func (c *Client) Permalink(ctx context.Context, channel, ts string) (string, error) {
	me, err := c.identity(ctx)
	if err != nil {
		return "", err
	}
	if me.URL == "" || channel == "" || ts == "" {
		return "", errors.New("the workspace or the message has no address")
	}
	return url.JoinPath(me.URL, "archives", channel, "p"+strings.ReplaceAll(ts, ".", ""))
}

// Name is how the workspace calls a user. It is always asked anew.
func (c *Client) Name(ctx context.Context, id string) (string, error) {
	var name string
	err := c.repeat(ctx, "users.info", func(ctx context.Context) error {
		u, err := c.api().GetUserInfoContext(ctx, id)
		if err != nil {
			return err
		}
		name = cmp.Or(u.Profile.DisplayName, u.RealName, u.Name)
		return nil
	})
	return name, err
}

// allowance is what Slack counts calls for: a method in the workspace or, where it has a channel, a method in that
// channel (docs.slack.dev/apis/web-api/rate-limits).
type allowance struct{ method, channel string }

// everywhere is the allowance of a method that Slack limits for the whole workspace.
func everywhere(method string) allowance { return allowance{method: method} }

// posting is the allowance for new messages in a channel: about one a second. There is one for the workspace, too,
// which no answer tells from it; then each channel learns of it by an answer of its own, and none waits for another.
func posting(channel string) allowance { return allowance{"chat.postMessage", channel} }

// rateLimits are the times until which calls are not allowed.
type rateLimits struct {
	mu    sync.Mutex
	until map[allowance]time.Time
}

// remaining is how long the calls are still not allowed; not positive when they are.
func (l *rateLimits) remaining(of allowance) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until[of])
}

// extend notes a rate limit that Slack has answered with. A shorter one than is known changes nothing.
func (l *rateLimits) extend(of allowance, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[allowance]time.Time{}
	}
	if until := time.Now().Add(after); until.After(l.until[of]) {
		l.until[of] = until
	}
}

// once calls a method that must not be repeated by itself, because it posts.
func (c *Client) once(ctx context.Context, of allowance, call func(context.Context) error) error {
	if wait := c.limits.remaining(of); wait > 0 {
		return fmt.Errorf("slack %s: %w", of.method, &notify.RateLimitedError{After: wait})
	}
	err := notifyError(call(ctx), true)
	return c.wrap(of, err)
}

// wrap names the method, and notes how the call went. It is the last line of defense: no error leaves with a token in
// it.
func (c *Client) wrap(of allowance, err error) error {
	c.health.note(of.method, err)
	c.health.channels.note(of.channel, err)
	if err == nil {
		return nil
	}
	if limited, ok := errors.AsType[*notify.RateLimitedError](err); ok {
		c.limits.extend(of, limited.After)
	}
	return &clientError{method: of.method, text: redact.Without(err.Error(), c.tokens.known()...), err: err}
}

// clientError names the method and hides secrets, and still can be told apart by its cause.
type clientError struct {
	method, text string
	err          error
}

func (e *clientError) Error() string { return "slack " + e.method + ": " + e.text }

func (e *clientError) Unwrap() error { return e.err }
