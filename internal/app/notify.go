package app

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/cloudevents"
	"github.com/vllm-medic/vllm-medic/notify/teams"
)

// buildNotify makes a dispatcher for each sink, so that none waits for another.
func (a *App) buildNotify(owner string, outbox notify.Outbox) error {
	notifier, err := a.newNotifier(owner)
	if err != nil {
		return err
	}
	if err := a.deliverTo("", owner, outbox, notifier); err != nil {
		return err
	}
	for _, s := range a.opts.Config.Sinks {
		notifier, err := a.newSink(s)
		if err != nil {
			return fmt.Errorf("notify %s: %w", s.Name, err)
		}
		if err := a.deliverTo(s.Name, owner, outbox, notifier); err != nil {
			return err
		}
	}
	return nil
}

// deliverTo adds the dispatcher of a sink; no name is the one that people decide in.
func (a *App) deliverTo(sink, owner string, outbox notify.Outbox, to notify.Notifier) error {
	log := a.opts.Logger.With("part", "notify")
	if sink != "" {
		log = log.With("sink", sink)
	}
	d, err := notify.New(notify.Config{
		Sink: sink, Owner: owner, Sweep: a.opts.Config.Timing.Sweep, LookAfter: a.opts.LookAfter,
		Panics: a.panics, Now: a.store.Now,
	}, outbox, a.store, to, log)
	a.dispatchers = append(a.dispatchers, d)
	return err
}

// newSink is a sink that only shows.
func (a *App) newSink(s config.Sink) (notify.Notifier, error) {
	base := a.opts.Config.Links.BaseURL
	var transport http.RoundTripper
	if a.opts.Transport != nil {
		transport = a.opts.Transport(s.Name, http.DefaultTransport)
	}
	switch s.Kind {
	case config.SinkCloudEvents:
		return cloudevents.New(cloudevents.Config{
			URL: s.URL.Reveal, Key: func() []byte { return []byte(s.Key.Reveal()) }, BaseURL: base, Transport: transport,
			Now: a.store.Now,
		})
	case config.SinkTeams:
		return teams.New(teams.Config{URL: s.URL.Reveal, BaseURL: base, Transport: transport})
	}
	return nil, fmt.Errorf("the kind %q is not known", s.Kind)
}

// The metrics of the messages. docs/operations.md says what to do about each.
var (
	descLeftOut = desc("notify_left_out_total",
		"Journal entries and versions of incidents that a receiver refused for their content, and did not get.", "sink")
	descNotified = desc("notifications_total",
		"Turns on messages that brought them up to date, or failed.", "sink", "result")
)

// notifications counts what became of the messages of each sink.
type notifications []*notify.Dispatcher

// Describe sends every description.
func (notifications) Describe(out chan<- *prometheus.Desc) {
	out <- descLeftOut
	out <- descNotified
}

// Collect counts anew.
func (l notifications) Collect(out chan<- prometheus.Metric) {
	for _, d := range l {
		c := d.Counts()
		for result, n := range map[string]int64{"delivered": c.Delivered, "failed": c.Failed} {
			out <- prometheus.MustNewConstMetric(descNotified, prometheus.CounterValue, float64(n), d.Sink(), result)
		}
		out <- prometheus.MustNewConstMetric(descLeftOut, prometheus.CounterValue, float64(c.LeftOut), d.Sink())
	}
}

// sinkNames are those besides Slack or the log.
func (a *App) sinkNames() []string {
	var out []string
	for _, s := range a.opts.Config.Sinks {
		out = append(out, s.Name)
	}
	return out
}
