// Package alertmanager is an Alertmanager inside the process: one route, one webhook. It groups alerts, waits,
// delivers, tries again, repeats, and tells what is resolved.
//
// It promises the deliveries of the real one for the same route: the same bodies at the same times. Of Alertmanager it
// uses the alerts with their merging, their store and the payload; dispatch and notify, which do what this package
// does, bring three hundred more packages. It has no silences, inhibitions or time intervals, and remembers nothing
// over an end of the process.
package alertmanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/store"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// Config is a route with its receiver, and what Alertmanager itself is told. All fields are needed, but for Token and
// Delivered.
type Config struct {
	// Receiver is the receiver's name, which every delivery carries.
	Receiver string
	// URL is where deliveries are posted, with Token as the bearer token.
	URL, Token string
	// GroupBy are the labels whose values make a group.
	GroupBy []model.LabelName
	// GroupWait is how long a new group waits for more alerts; GroupInterval how long one with news waits after a
	// delivery; RepeatInterval how long one without news.
	GroupWait, GroupInterval, RepeatInterval time.Duration
	// ExternalURL is where deliveries say that they come from.
	ExternalURL string
	Client      *http.Client
	Logger      *slog.Logger
	// Delivered is told of each delivery that was accepted.
	Delivered func(Delivery)
}

// Delivery is what was told about a group.
type Delivery struct {
	// Group is the group's key.
	Group string
	// Reason is why it was delivered, as Alertmanager words it.
	Reason           string
	Firing, Resolved int
}

// Alertmanager groups and delivers. It is safe for concurrent use.
type Alertmanager struct {
	cfg      Config
	template *template.Template

	mu     sync.Mutex
	alerts *store.Alerts
	groups map[model.Fingerprint]*group
	told   map[string]*entry // by the group's key; outlives the group
	run    context.Context   //nolint:containedctx // the life of the groups, which Put starts
	wg     sync.WaitGroup
}

// New returns an Alertmanager that delivers nothing until Run.
func New(cfg Config) (*Alertmanager, error) {
	if cfg.Receiver == "" || cfg.Client == nil || cfg.Logger == nil || cfg.GroupWait <= 0 || cfg.GroupInterval <= 0 ||
		cfg.RepeatInterval <= 0 {
		return nil, errors.New("alertmanager: a receiver, a client, a logger and the three times of a route are needed")
	}
	if _, err := url.ParseRequestURI(cfg.URL); err != nil {
		return nil, fmt.Errorf("alertmanager: the webhook's URL: %w", err)
	}
	external, err := url.Parse(cfg.ExternalURL)
	if err != nil {
		return nil, fmt.Errorf("alertmanager: the external URL: %w", err)
	}
	if cfg.Delivered == nil {
		cfg.Delivered = func(Delivery) {}
	}
	return &Alertmanager{
		cfg: cfg, template: &template.Template{ExternalURL: external}, alerts: store.NewAlerts(),
		groups: map[model.Fingerprint]*group{}, told: map[string]*entry{},
	}, nil
}

// Run delivers until the context ends. Alerts that came before it are delivered as well. Call it once.
func (a *Alertmanager) Run(ctx context.Context) {
	a.mu.Lock()
	a.run = ctx
	for _, g := range a.groups {
		a.wg.Go(func() { g.run(ctx) })
	}
	a.mu.Unlock()
	<-ctx.Done()
	a.mu.Lock()
	a.run = nil // from now on Put starts no group
	a.mu.Unlock()
	a.wg.Wait()
}

// Put takes alerts as Prometheus sends them: those that fire with the time until which they do if nothing more is
// heard, and those that are resolved with an end in the past. The error joins what is wrong with each alert that is not
// valid; the others are taken.
func (a *Alertmanager) Put(alerts ...model.Alert) error {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, in := range alerts {
		one := &alert.Alert{Alert: in, UpdatedAt: now}
		if one.StartsAt.IsZero() {
			one.StartsAt = now
		}
		if one.EndsAt.IsZero() {
			errs = append(errs, fmt.Errorf("%s: an end is needed", one.Name()))
			continue
		}
		if err := one.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.Name(), err))
			continue
		}
		if err := a.put(one); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.Name(), err))
		}
	}
	return errors.Join(errs...)
}

func (a *Alertmanager) put(one *alert.Alert) error {
	if old, err := a.alerts.Get(one.Fingerprint()); err == nil && overlap(old, one) {
		one = old.Merge(one)
	}
	if err := a.alerts.Set(one); err != nil {
		return err
	}
	by := model.LabelSet{}
	for _, name := range a.cfg.GroupBy {
		if v, ok := one.Labels[name]; ok {
			by[name] = v
		}
	}
	if g := a.groups[by.Fingerprint()]; g != nil && g.alerts.Set(one) == nil {
		return nil
	}
	g := &group{am: a, labels: by, alerts: store.NewAlerts(), wait: a.cfg.GroupWait}
	if err := g.alerts.Set(one); err != nil {
		return err
	}
	if one.StartsAt.Add(a.cfg.GroupWait).Before(time.Now()) {
		g.wait = 0 // it has waited long enough elsewhere
	}
	a.groups[by.Fingerprint()] = g
	if a.run != nil {
		ctx := a.run
		a.wg.Go(func() { g.run(ctx) })
	}
	return nil
}

// overlap says that both are about the same time of firing.
func overlap(old, one *alert.Alert) bool {
	return one.EndsAt.After(old.StartsAt) && one.EndsAt.Before(old.EndsAt) ||
		one.StartsAt.After(old.StartsAt) && one.StartsAt.Before(old.EndsAt)
}

// forget drops alerts that are resolved and were told, as the real one's garbage collection does.
func (a *Alertmanager) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alerts.GC()
	for id, g := range a.groups {
		if g.alerts.Destroyed() {
			delete(a.groups, id)
		}
	}
}
