// Package app wires the parts together and runs them: New, Start, Stop, Run, Addr. It is the only package that knows
// everything.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/drill"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	prom "github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/tracing"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Options are what an App is made of beside its configuration.
type Options struct {
	Config  config.Config
	Catalog *playbooks.Catalog
	Logger  *slog.Logger
	// Transport wraps the HTTP transport of each outside service ("prometheus", "kubernetes", "slack"); nil leaves it
	// alone. Tests cut connections here.
	Transport func(service string, rt http.RoundTripper) http.RoundTripper
	// Store wraps the store; nil leaves it alone. Tests end the process here.
	Store func(Store) Store
	// Now is the clock of diagnose; nil is the machine's own. Tests set a time of their own.
	Now func() time.Time
	// clock is the bot's own, which Prometheus' is compared with; nil is the machine's.
	clock func() time.Time
	// Kubeconfig lists the files that Live and Diagnose take outside of a pod when the configuration names none, as
	// KUBECONFIG does.
	Kubeconfig string
	// Settings is what errors of Prometheus call its settings; the zero value names those of a configuration file.
	Settings prom.Settings
	// ReloadEvery is how often playbooks, certificates and secrets are read again; zero means every ten seconds.
	ReloadEvery time.Duration
	// Reload asks for it at once; nil: nobody does.
	Reload <-chan os.Signal
	// Listen binds the address of a listener; nil binds TCP. Rehearsals in simulated time have no sockets: waiting for one
	// would hold up the time.
	Listen func(ctx context.Context, address string) (net.Listener, error)
	// FreeCuts is how many turns on an incident, or claims on a delivery, may be cut off in a row before it waits; zero
	// takes the defaults of the engine and the store. Rehearsals that end the process at every instruction raise it.
	FreeCuts int
	// Version is that of the program, for people; empty: not known.
	Version string
	// LookAfter is how long after a lost answer the channel is searched; zero takes the default of notify.
	LookAfter time.Duration
}

// App is the bot. Use New, then Run; or Start and Stop.
type App struct {
	opts      Options
	store     Store
	collector *evidence.Collector
	playbooks *playbookSet
	engine    *remediation.Engine
	// dispatchers are one for each sink.
	dispatchers []*notify.Dispatcher
	slack       *slackParts
	gate        *access.Gate
	door        *door
	connections *connections
	overview    *overview
	pasts       *pasts
	// reporting holds one report at a time.
	reporting chan struct{}
	registry  *prometheus.Registry
	outgoing  *outgoing
	ignored   *prometheus.CounterVec
	// tracer is nil when no traces are made.
	tracer   *tracing.Tracer
	panics   *rescue.Log
	liveness *liveness
	servers  []*server
	stop     context.CancelFunc
	wg       sync.WaitGroup
	failed   chan error
}

// New opens the store and binds the listeners, so that Addr is known; nothing runs yet. Whatever it opened is closed
// again on an error.
func New(ctx context.Context, opts Options) (*App, error) {
	if opts.Logger == nil || opts.Catalog == nil {
		return nil, errors.New("app: Logger and Catalog are needed")
	}
	a := &App{
		opts: opts, registry: prometheus.NewRegistry(), failed: make(chan error, 8), reporting: make(chan struct{}, 1),
		outgoing: newOutgoing(), ignored: newIgnored(),
	}
	a.opts.Transport = a.outgoing.around(opts.Transport)
	a.connections = newConnections(a.sparingOf("listener"))
	if a.opts.Config.Files == nil {
		a.opts.Config.Files = &reread.Set{}
	}
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *App) build(ctx context.Context) error {
	cfg, log := a.opts.Config, a.opts.Logger
	a.panics = rescue.NewLog(log, remediation.PartInbox, remediation.PartIncidents, notify.Part, slack.Part, store.Part,
		partPlaybooks, partFiles, partPrune, partMetrics)
	owner, err := ownerName()
	if err != nil {
		return err
	}
	a.liveness = newLiveness(max(cmp.Or(cfg.Timing.Lease, incident.DefaultLease), time.Minute), time.Now)
	opened, err := store.Open(ctx, cfg.StoreURL.Reveal(), store.Options{
		ChannelFor: a.channelFor, Sinks: a.sinkNames(), Storm: a.storm(), Logger: log.With("part", "store"),
		Beat: func() { a.liveness.beat(loopCommits) }, Panics: a.panics,
		FreeCuts: a.opts.FreeCuts, URL: currentURL(cfg),
	})
	if err != nil {
		return err
	}
	a.store = opened
	if a.opts.Store != nil {
		a.store = a.opts.Store(opened)
	}
	if err := a.buildTracing(ctx); err != nil {
		return err
	}
	looped := watchedStore{a.store, a.liveness}
	rc, err := a.kubernetes()
	if err != nil {
		return err
	}
	opts := a.opts
	if opts.clock = a.store.Now; opts.Now == nil {
		opts.Now = opts.clock
	}
	parts, err := newClients(cfg, opts, rc)
	if err != nil {
		return err
	}
	a.collector = parts.collector
	a.overview = newOverview(parts, cfg, a.store.Now)
	a.pasts = newPasts(parts, log.With("part", "web"))
	a.playbooks = newPlaybookSet(cfg.Playbooks, a.opts.Catalog, log.With("part", "playbooks"))
	a.playbooks.panics = a.panics
	a.overview.playbooks = a.playbooks.inForce
	recordings := &drill.Recordings{}
	a.engine, err = remediation.New(remediation.Config{
		Owner: owner, Pools: cfg.Pools, Mode: cfg.Mode, Policy: cfg.Policy,
		Timing: cfg.Timing, FreeCuts: a.opts.FreeCuts,
	}, remediation.Deps{
		Incidents: looped, Inbox: looped, Ledger: a.store,
		Collector: collector{Collector: a.collector, recordings: recordings}, Scenarios: recordings,
		Playbooks: a.playbooks,
		Live:      parts.live, DryRun: parts.dryRun, LastWrites: parts.lastWrites, Logger: log.With("part", "engine"),
		Panics: a.panics, Now: a.store.Now,
		Within: a.tracer.Within,
		Ignored: func(why incident.Ignored, words int) {
			a.ignored.WithLabelValues(string(why)).Add(float64(words))
		},
	})
	if err != nil {
		return err
	}
	if a.gate, err = newGate(rc, cfg.Access); err != nil {
		return err
	}
	a.door = newDoor(a.gate, a.sparingOf("access"))
	if err := a.buildNotify(owner, looped); err != nil {
		return err
	}
	return a.listen(ctx)
}

func newGate(rc *rest.Config, cfg config.Access) (*access.Gate, error) {
	return access.New(rc, access.Settings{
		Audience: cfg.Audience, ViewerToken: cfg.ViewerToken.Reveal, ClusterTokens: cfg.ClusterTokens,
		ClientCertificates: cfg.ClientCertificates, ClientCAFile: cfg.ClientCAFile,
	})
}

// ownerName is different for every process: claims of a process that ended must not look like one's own.
func ownerName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the host's name: %w", err)
	}
	return fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano()), nil
}

func (a *App) storm() incident.Storm {
	if a.opts.Config.Slack == nil {
		return incident.Storm{} // a log has room for all
	}
	return a.opts.Config.Slack.Storm
}

func (a *App) channelFor(pool string) string {
	for _, p := range a.opts.Config.Pools {
		if p.Name == pool && p.Channel != "" {
			return p.Channel
		}
	}
	if a.opts.Config.Slack == nil {
		return "log"
	}
	return a.opts.Config.Slack.Channel
}

// Start runs everything in the background. Call Stop once afterwards.
func (a *App) Start(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = stop
	background := func(name string, fn func(context.Context) error) {
		a.wg.Go(func() {
			if err := a.panics.Keep(run, name, fn); err != nil && run.Err() == nil {
				a.failed <- fmt.Errorf("%s: %w", name, err)
			}
		})
	}
	a.liveness.begin(a.sinkNames()...)
	background("engine", a.engine.Run)
	for _, d := range a.dispatchers {
		background("notify", d.Run)
	}
	background("prune", func(ctx context.Context) error {
		return prune(ctx, rescued{a.store, a.panics}, a.opts.Logger.With("part", "store"), a.store.Now)
	})
	background(partFiles, func(ctx context.Context) error {
		return a.reread(ctx, cmp.Or(a.opts.ReloadEvery, reloadEvery))
	})
	background("overview", a.overview.run)
	if drills := a.opts.Config.Drills; len(drills) > 0 {
		background("drills", (&planned{
			drills: drills, start: a.engine.StartDrill, now: a.store.Now, logger: a.opts.Logger.With("part", "drills"),
		}).run)
	}
	if a.slack != nil {
		background("slack interactions", a.slack.interactions.Run)
	}
	if a.slack != nil && a.slack.socket != nil {
		background("slack socket", a.slack.socket.Run)
	}
	for _, s := range a.servers {
		background("listener "+s.name, s.serve)
	}
	for _, s := range a.servers {
		a.opts.Logger.InfoContext(ctx, "listening", "listener", s.name, "address", a.Addr(s.name))
	}
}

// Stop ends everything in order: no new requests, then the engine and the messages under way, then the store.
func (a *App) Stop(ctx context.Context) error {
	var errs []error
	for _, s := range a.servers {
		errs = append(errs, s.shutdown(ctx))
	}
	a.stop()
	done := make(chan struct{})
	go func() { a.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs,
			fmt.Errorf("the work under way did not end in time; it goes on from the store at the next start: %w",
				context.Cause(ctx)))
	}
	a.tracer.Close(ctx)
	return errors.Join(append(errs, a.close())...)
}

// stopWithin bounds the orderly end after the context has ended. A pod gets thirty seconds by default.
const stopWithin = 25 * time.Second

// Run runs the bot until the context ends or a part of it fails.
func (a *App) Run(ctx context.Context) error {
	a.Start(ctx)
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-a.failed:
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return errors.Join(failure, a.Stop(stopCtx))
}

// Addr is the address of a listener: "api", "ops" or "slack"; "" when it is not there.
func (a *App) Addr(name string) string {
	for _, s := range a.servers {
		if s.name == name {
			return s.addr()
		}
	}
	return ""
}

func (a *App) close() error {
	var errs []error
	for _, s := range a.servers {
		if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	return errors.Join(errs...)
}
