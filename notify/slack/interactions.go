package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
	"golang.org/x/sync/semaphore"

	"github.com/vllm-medic/vllm-medic/internal/connlimit"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// maxBody bounds an interaction request. Slack sends the whole message along, which stays far below.
const maxBody = 1 << 20

// Decider takes decisions in.
type Decider interface {
	// Decide records a decision and returns the incident as it is then. *incident.RefusedError carries the text for the
	// person. It may be called twice: the second time is refused or changes nothing.
	Decide(ctx context.Context, incidentID string, d incident.Decision) (incident.Incident, error)
	// Act records what else a person did: has seen the incident, stopped it, asked again. It answers as Decide does.
	Act(ctx context.Context, incidentID string, ev incident.Event) (incident.Incident, error)
}

// Lookup reads what a click refers to.
type Lookup interface {
	// Incident returns an incident, or incident.ErrNotFound.
	Incident(ctx context.Context, id string) (incident.Incident, error)
	// Message returns the message of an incident or a digest; false when there is none.
	Message(ctx context.Context, incidentID string) (incident.Message, bool, error)
}

// Approvers says who may decide on a kind of step in a pool. The zero value allows nobody.
type Approvers func(pool string, kind incident.StepKind) incident.Approvers

// InteractionsConfig says which clicks are taken. Zero numbers get the defaults named beside them.
type InteractionsConfig struct {
	// SigningSecret proves requests. It is asked for with each, because it may be replaced; nil or empty lets none in.
	SigningSecret func() string
	// AppID, Team and Enterprise are compared with the click's. An empty AppID is not compared, because the signature is
	// the app's own. When Team and Enterprise are both empty, the workspace of the bot token is the only one.
	AppID, Team, Enterprise string
	// GroupsFor is how long the members of a usergroup are remembered (2 m).
	GroupsFor time.Duration
	// Timeout bounds the work on one click, its answer included not (20 s).
	Timeout time.Duration
	// Owner names this process in the claims on clicks. It must differ between replicas.
	Owner string
	// Workers is how many clicks are handled at the same time, after Slack got its answer (32).
	Workers int
	// Window is how long after a click something may still come of it (5 m, which is how old a signature of Slack may be).
	Window time.Duration
	// Lease is how long a claim on a click holds (1 m), Sweep how often is looked for clicks of a process that is gone (2
	// s).
	Lease, Sweep time.Duration
	// BodyWithin is how long the body of a request may take to arrive (3 s, which is how long Slack waits for the answer).
	BodyWithin time.Duration
	// Drain is how long clicks under way may still take when Run is told to stop (10 s).
	Drain time.Duration
}

// LogValue shows the configuration without its secrets.
func (c InteractionsConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("app", c.AppID), slog.String("team", c.Team),
		slog.String("enterprise", c.Enterprise))
}

// String shows the configuration without its secrets.
func (c InteractionsConfig) String() string {
	return fmt.Sprintf("{AppID:%s Team:%s Enterprise:%s}", c.AppID, c.Team, c.Enterprise)
}

// GoString shows the configuration without its secrets.
func (c InteractionsConfig) GoString() string { return c.String() }

func (c InteractionsConfig) withDefaults() InteractionsConfig {
	c.GroupsFor = cmp.Or(c.GroupsFor, 2*time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 20*time.Second)
	c.Workers = cmp.Or(c.Workers, 32)
	c.Window = cmp.Or(c.Window, 5*time.Minute)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Sweep = cmp.Or(c.Sweep, 2*time.Second)
	c.BodyWithin = cmp.Or(c.BodyWithin, 3*time.Second)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	return c
}

// InteractionsDeps are the parts that Interactions works with.
type InteractionsDeps struct {
	Client    *Client
	Decider   Decider
	Lookup    Lookup
	Clicks    Clicks
	Digests   Digests
	Approvers Approvers
	// Rights asks Kubernetes about a person, too; nil: Slack accounts are not mapped to its users.
	Rights Rights
	// View has the addresses for the links in the details.
	View ViewOptions
	// Commands is what slash commands read and do.
	Commands Commands
	Logger   *slog.Logger
	// Panics logs and counts what was caught; nil only catches.
	Panics *rescue.Log
	// Now is the time that clicks and their claims are told in; nil is time.Now. Those who work on one store of clicks
	// must agree about it.
	Now func() time.Time
}

// Interactions takes the clicks on our buttons, and our slash command. It is the http.Handler for both over HTTP, and
// Enqueue takes what Socket gets in Socket Mode; Run does the work of both. It is safe for concurrent use.
type Interactions struct {
	cfg       InteractionsConfig
	client    *Client
	decider   Decider
	lookup    Lookup
	clicks    Clicks
	digests   Digests
	approvers Approvers
	rights    Rights
	view      ViewOptions
	commands  Commands
	logger    *slog.Logger
	panics    *rescue.Log
	now       func() time.Time
	groups    groups
	wake      chan struct{}
	accounts  accounts
	// questions bounds the lookups of rights in Kubernetes.
	questions queue
	// room is for the bodies of requests.
	room *semaphore.Weighted

	mu     sync.Mutex
	broken string    // the store's last error
	warned time.Time // when a request without a valid signature was last logged
}

// NewInteractions returns Interactions, or an error that names everything that is missing. Without a signing secret
// ServeHTTP takes nothing, which is right for Socket Mode.
func NewInteractions(cfg InteractionsConfig, deps InteractionsDeps) (*Interactions, error) {
	var errs []error
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"client", deps.Client == nil},
		{"decider", deps.Decider == nil},
		{"lookup", deps.Lookup == nil},
		{"store of clicks", deps.Clicks == nil},
		{"store of digests", deps.Digests == nil},
		{"approvers function", deps.Approvers == nil},
		{"bot behind the commands", deps.Commands == nil},
		{"logger", deps.Logger == nil},
	} {
		if need.missing {
			errs = append(errs, fmt.Errorf("slack interactions: the %s is nil", need.name))
		}
	}
	cfg = cfg.withDefaults()
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if cfg.GroupsFor < 0 || cfg.Timeout < 0 || cfg.Workers < 0 || cfg.Window < 0 || cfg.Lease < 0 || cfg.Sweep < 0 ||
		cfg.Drain < 0 || cfg.BodyWithin < 0 {
		errs = append(errs, errors.New("slack interactions: no number may be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Interactions{
		cfg: cfg, client: deps.Client, decider: deps.Decider, lookup: deps.Lookup, clicks: deps.Clicks, digests: deps.Digests,
		approvers: deps.Approvers, rights: deps.Rights, commands: deps.Commands, view: deps.View,
		logger: deps.Logger, panics: deps.Panics, now: deps.Now, wake: make(chan struct{}, 1),
		groups:    groups{client: deps.Client, ttl: cfg.GroupsFor, queue: newQueue()},
		accounts:  accounts{client: deps.Client, queue: newQueue(), now: time.Now},
		questions: newQueue(), room: semaphore.NewWeighted(bodyRoom),
	}, nil
}

// ServeHTTP answers 200 to every request that Slack signed, as soon as the click is kept: the work is done by Run,
// because Slack waits three seconds only. It answers 503 when the click cannot be kept, or when too much is being sent
// at once, which Slack shows to the person; 401 to a bad or old signature, 413 to a body that is too large, 405 to
// other methods.
func (i *Interactions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	body, leave, err := i.readBody(w, r)
	defer leave()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errCrowded):
		http.Error(w, "too many requests at once; click again", http.StatusServiceUnavailable)
		return
	case errors.As(err, &tooLarge):
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	if err := i.verify(r.Header, body); err != nil {
		i.unsigned(r.Context(), err)
		http.Error(w, "the signature is not valid", http.StatusUnauthorized)
		return
	}
	connlimit.Proved(r.Context())
	payload, err := formPayload(body)
	if err != nil {
		i.logger.WarnContext(r.Context(), "an interaction was not understood", "reason", err.Error())
		w.WriteHeader(http.StatusOK)
		return
	}
	if err := i.Enqueue(r.Context(), payload); err != nil {
		i.logger.ErrorContext(r.Context(), "a click was not taken; Slack shows the person an error", "err", err)
		http.Error(w, "the click could not be kept; click again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// unsigned logs that a request was refused, once a minute: anybody can send any number of them.
func (i *Interactions) unsigned(ctx context.Context, err error) {
	i.mu.Lock()
	now := i.now()
	due := now.Sub(i.warned) >= time.Minute
	if due {
		i.warned = now
	}
	i.mu.Unlock()
	if due {
		i.logger.WarnContext(ctx, "a request to the Slack endpoint isn't signed by Slack; others this minute aren't logged",
			"reason", err.Error())
	}
}

// formPayload is what is kept of a form: of a click its payload, of a command its fields.
func formPayload(body []byte) ([]byte, error) {
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return nil, errors.New("the body is not a form")
	case form.Get("payload") != "":
		return []byte(form.Get("payload")), nil
	case form.Get("command") != "":
		return commandForm(form)
	}
	return nil, errors.New("no payload in the form")
}

// errSignature is deliberately silent about what was wrong with a signature.
var errSignature = errors.New("bad, missing or old signature")

// verify checks the signature over the raw body; NewSecretsVerifier holds the window of five minutes and compares in
// constant time.
func (i *Interactions) verify(header http.Header, body []byte) error {
	if i.cfg.SigningSecret == nil || i.cfg.SigningSecret() == "" {
		return errSignature
	}
	v, err := slackgo.NewSecretsVerifier(header, i.cfg.SigningSecret())
	if err != nil {
		return errSignature
	}
	if _, err := v.Write(body); err != nil || v.Ensure() != nil {
		return errSignature
	}
	return nil
}

func (i *Interactions) respond(ctx context.Context, a Answer) {
	var err error
	switch {
	case a.Text == "":
	case a.ResponseURL != "":
		err = i.client.respond(ctx, a.ResponseURL, a.Text)
	case a.Channel != "" && a.User != "":
		err = i.client.whisper(ctx, a.Channel, a.User, a.Text)
	}
	if err != nil {
		i.logger.WarnContext(ctx, "a private answer could not be delivered", "incident", a.Incident, "step", a.Step, "err",
			err)
	}
}
