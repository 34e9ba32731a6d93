package app

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

const (
	// healthEvery is how old what a page shows of a pool may be.
	healthEvery = 30 * time.Second
	// rightsEvery is how old what a page shows of permissions may be: a question for each of them.
	rightsEvery = 5 * time.Minute
	// firstWait is how long a page waits for the very first reading. The next page has what did not come.
	firstWait = 2 * time.Second
	// poolsAtOnce leaves most of Prometheus' attention to incidents.
	poolsAtOnce = 2
)

// overviewSignals are what pages show of a pool that may have no incident.
func overviewSignals() []string {
	return []string{
		"ttft_p95", "tpot_p95", "queue_time_p95", "e2e_p95", "waiting", "running", "kv_usage", "finished_rate",
	}
}

// overview is how the pools are doing and what the bot may do, for pages. Nobody is asked while nobody looks: a page
// asks for what is too old, and one loop reads it, so that many viewers cost no more than one.
type overview struct {
	collector interface {
		Collect(context.Context, incident.Pool, []incident.Signal, evidence.CollectOptions) incident.Evidence
		ClockWarning() string
	}
	registry *actions.Registry // nil without Kubernetes
	// file is the configuration.
	file  string
	pools []incident.Pool
	// playbooks are those in force.
	playbooks func() *playbooks.Catalog
	now       func() time.Time
	wanted    chan struct{}

	mu       sync.Mutex
	health   map[string]web.Health
	rights   []Finding
	rightsAt time.Time
	// wantRights says that a page asked for permissions; round ends with the reading under way.
	wantRights bool
	round      chan struct{}
}

func newOverview(parts clients, cfg config.Config, now func() time.Time) *overview {
	return &overview{
		collector: parts.collector, registry: parts.registry, file: cfg.File, pools: cfg.Pools, now: now,
		wanted: make(chan struct{}, 1),
		health: map[string]web.Health{}, round: make(chan struct{}),
	}
}

// run reads what pages ask for until the context ends.
func (o *overview) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wanted:
		}
		o.read(ctx)
		o.mu.Lock()
		close(o.round)
		o.round = make(chan struct{})
		o.mu.Unlock()
	}
}

// read reads what is too old.
func (o *overview) read(ctx context.Context) {
	var wg rescue.Group
	slots := make(chan struct{}, poolsAtOnce)
	for _, p := range o.old() {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			got := o.look(ctx, p)
			if ctx.Err() != nil {
				return
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			o.health[p.Name] = got
		})
	}
	o.mu.Lock()
	due := o.wantRights && o.registry != nil && o.now().Sub(o.rightsAt) > rightsEvery
	o.wantRights = false
	o.mu.Unlock()
	if due {
		wg.Go(func() {
			got := o.ask(ctx)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.rights, o.rightsAt = got, o.now()
		})
	}
	wg.Wait()
}

// old are the pools whose reading is too old.
func (o *overview) old() []incident.Pool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.pools), func(p incident.Pool) bool {
		return o.now().Sub(o.health[p.Name].At) < healthEvery
	})
}

// look reads one pool.
func (o *overview) look(ctx context.Context, p incident.Pool) web.Health {
	names, books := overviewSignals(), o.playbooks()
	signals := slices.DeleteFunc(books.AllSignals(), func(s incident.Signal) bool {
		return !slices.Contains(names, s.Name)
	})
	ev := o.collector.Collect(ctx, p, signals, evidence.CollectOptions{History: true, NoCluster: true})
	targets, excess := books.AgainstTargets(ev, p.SLO)
	return web.Health{
		At: ev.At, Readings: books.Targeted(ev.Readings, p.SLO), Dialect: ev.Dialect,
		Assessment: incident.Assess(incident.Measured{
			Readings: ev.Readings, Absent: ev.Absent, Targets: targets, Excess: excess,
		}),
	}
}

// ask asks Kubernetes what the bot may do, as check --live does.
func (o *overview) ask(ctx context.Context) []Finding {
	if f, silent := noAnswer(ctx, o.registry); silent {
		return []Finding{f}
	}
	var out []Finding
	for _, p := range o.pools {
		if !p.Workload.IsZero() || len(p.Knobs.Kinds()) > 0 {
			out = append(out, poolRights(ctx, o.registry, o.file, p, p))
		}
	}
	return append(out, peopleRights(ctx, o.registry, o.file))
}

// Health implements web.Deps: what is known of the pools, after a moment when nothing is known yet.
func (o *overview) Health(ctx context.Context) map[string]web.Health {
	o.demand(ctx, func() bool { return len(o.health) > 0 || len(o.pools) == 0 })
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.health)
}

// permissions are those that were found last, and when.
func (o *overview) permissions(ctx context.Context) ([]Finding, time.Time) {
	o.mu.Lock()
	o.wantRights = true
	o.mu.Unlock()
	o.demand(ctx, func() bool { return !o.rightsAt.IsZero() || o.registry == nil })
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.rights), o.rightsAt
}

// demand has the loop look at what is too old, and waits a moment where there is nothing to show.
func (o *overview) demand(ctx context.Context, known func() bool) {
	o.mu.Lock()
	round, enough := o.round, known()
	o.mu.Unlock()
	select {
	case o.wanted <- struct{}{}:
	default:
	}
	if enough {
		return
	}
	wait := time.NewTimer(firstWait)
	defer wait.Stop()
	select {
	case <-round:
	case <-wait.C:
	case <-ctx.Done():
	}
}
