package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// maxBody bounds an interaction request. Slack sends the whole message along, which stays far below.
const maxBody = 1 << 20

// Decider takes decisions in.
type Decider interface {
	// Decide records a decision and returns the incident as it is then. *incident.RefusedError carries the text for the person. It may be
	// called twice: the second time is refused or changes nothing.
	Decide(ctx context.Context, incidentID string, d incident.Decision) (incident.Incident, error)
}

// Lookup reads what a click refers to.
type Lookup interface {
	// Incident returns an incident, or incident.ErrNotFound.
	Incident(ctx context.Context, id string) (incident.Incident, error)
	// Message returns the incident's message; false when there is none.
	Message(ctx context.Context, incidentID string) (incident.Message, bool, error)
}

// Approvers says who may decide on a kind of step in a pool. The zero value allows nobody.
type Approvers func(pool string, kind incident.StepKind) incident.Approvers

// InteractionsConfig says which clicks are taken. Zero numbers get the defaults named beside them.
type InteractionsConfig struct {
	// SigningSecret proves requests; OldSigningSecret is taken too while the secret is being changed.
	SigningSecret, OldSigningSecret string
	// AppID, Team and Enterprise are compared with the click's. An empty AppID is not compared, because the signature is the app's own. When
	// Team and Enterprise are both empty, the workspace of the bot token is the only one.
	AppID, Team, Enterprise string
	// GroupsFor is how long the members of a usergroup are remembered (2 m).
	GroupsFor time.Duration
	// Timeout bounds the work on one click, its answer included not (20 s).
	Timeout time.Duration
	// Workers handle clicks after Slack got its answer (4), Queue of them may wait (256).
	Workers, Queue int
	// Drain is how long clicks that wait may still take when Run is told to stop (10 s).
	Drain time.Duration
}

// LogValue shows the configuration without its secrets.
func (c InteractionsConfig) LogValue() slog.Value {
	return slog.GroupValue(slog.String("app", c.AppID), slog.String("team", c.Team), slog.String("enterprise", c.Enterprise))
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
	c.Workers = cmp.Or(c.Workers, 4)
	c.Queue = cmp.Or(c.Queue, 256)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	return c
}

// InteractionsDeps are the parts that Interactions works with.
type InteractionsDeps struct {
	Client    *Client
	Decider   Decider
	Lookup    Lookup
	Approvers Approvers
	Logger    *slog.Logger
}

// Interactions takes the clicks on our buttons. It is the http.Handler for Slack's interactivity URL; Run does the work. Handle is what
// other transports call. It is safe for concurrent use.
type Interactions struct {
	cfg       InteractionsConfig
	client    *Client
	decider   Decider
	lookup    Lookup
	approvers Approvers
	logger    *slog.Logger
	groups    groups
	queue     chan []byte
}

// NewInteractions returns Interactions, or an error that names everything that is missing. Without a signing secret ServeHTTP takes
// nothing, which is right for Socket Mode.
func NewInteractions(cfg InteractionsConfig, deps InteractionsDeps) (*Interactions, error) {
	var errs []error
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"client", deps.Client == nil},
		{"decider", deps.Decider == nil},
		{"lookup", deps.Lookup == nil},
		{"approvers function", deps.Approvers == nil},
		{"logger", deps.Logger == nil},
	} {
		if need.missing {
			errs = append(errs, fmt.Errorf("slack interactions: the %s is nil", need.name))
		}
	}
	cfg = cfg.withDefaults()
	if cfg.GroupsFor < 0 || cfg.Timeout < 0 || cfg.Workers < 0 || cfg.Queue < 0 || cfg.Drain < 0 {
		errs = append(errs, errors.New("slack interactions: no number may be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Interactions{
		cfg: cfg, client: deps.Client, decider: deps.Decider, lookup: deps.Lookup, approvers: deps.Approvers, logger: deps.Logger,
		groups: groups{client: deps.Client, ttl: cfg.GroupsFor}, queue: make(chan []byte, cfg.Queue),
	}, nil
}

// ServeHTTP answers 200 to every request that Slack signed, at once: the work is done by Run, because Slack waits three seconds only. It
// answers 401 to a bad or old signature, 413 to a body that is too large, 405 to other methods.
func (i *Interactions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	if err := i.verify(r.Header, body); err != nil {
		i.logger.WarnContext(r.Context(), "a request to the Slack endpoint was not signed by Slack", "reason", err.Error())
		http.Error(w, "the signature is not valid", http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusOK)
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("payload") == "" {
		i.logger.WarnContext(r.Context(), "an interaction was not understood", "reason", "no payload in the form")
		return
	}
	i.Enqueue(r.Context(), []byte(form.Get("payload")))
}

// errSignature is deliberately silent about what was wrong with a signature.
var errSignature = errors.New("bad, missing or old signature")

// verify checks the signature over the raw body; NewSecretsVerifier holds the window of five minutes and compares in constant time.
func (i *Interactions) verify(header http.Header, body []byte) error {
	for _, secret := range []string{i.cfg.SigningSecret, i.cfg.OldSigningSecret} {
		if secret == "" {
			continue
		}
		v, err := slackgo.NewSecretsVerifier(header, secret)
		if err != nil {
			continue
		}
		if _, err := v.Write(body); err != nil {
			continue
		}
		if v.Ensure() == nil {
			return nil
		}
	}
	return errSignature
}

// Enqueue hands a payload whose origin has been proven to Run. When too many wait it is thrown away with a log line, and the person
// clicks again.
func (i *Interactions) Enqueue(ctx context.Context, payload []byte) {
	select {
	case i.queue <- payload:
	default:
		i.logger.ErrorContext(ctx, "a click was thrown away, because too many wait", "reason", fmt.Sprintf("%d clicks wait", cap(i.queue)))
	}
}

// Run handles clicks until ctx ends, then those that still wait (InteractionsConfig.Drain), and returns nil. It is called once.
func (i *Interactions) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var wg sync.WaitGroup
	for range i.cfg.Workers {
		wg.Go(func() { i.work(ctx, work) })
	}
	<-ctx.Done()
	drain := time.AfterFunc(i.cfg.Drain, func() { stop(errors.New("the process ends")) })
	defer drain.Stop()
	wg.Wait()
	return nil
}

// work handles clicks until ctx ends, then what is left in the queue until work ends.
func (i *Interactions) work(ctx, work context.Context) {
	for {
		select {
		case payload := <-i.queue:
			i.Process(work, payload)
			continue
		default:
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case payload := <-i.queue:
			i.Process(work, payload)
		case <-ctx.Done():
		}
	}
}

// Process handles one payload and tells the person privately what came of it.
func (i *Interactions) Process(ctx context.Context, payload []byte) Answer {
	a := i.Handle(ctx, payload)
	if a.Text == "" || a.ResponseURL == "" {
		return a
	}
	if err := i.client.respond(ctx, a.ResponseURL, a.Text); err != nil {
		i.logger.WarnContext(ctx, "a private answer could not be delivered", "incident", a.Incident, "step", a.Step, "err", err)
	}
	return a
}
