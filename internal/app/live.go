package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Finding is the result of one check of an external system. Where names what was asked and for what; a finding that is
// not Good says what to do.
type Finding struct {
	Where string
	Good  bool
	Text  string
	// Unasked says that there is nobody to ask: neither good nor bad.
	Unasked bool
	// Fatal says that the bot would not start with this, here.
	Fatal bool
	// Caution says that it works, and that somebody should know more about it. More are the lines that say what.
	Caution bool
	More    []string
	// Rules are the alert rules to tell about.
	Rules []RuleFinding
}

// Live asks everything outside that the configuration names, reads only: Prometheus for each pool's signals and for its
// alert rules, Kubernetes for each pool's workload, for each knob as a dry run, and for the bot's own rights, Slack for
// the app and its channels. What does not answer is a finding, and keeps nobody else from being asked; the error is a
// configuration that cannot be used.
func Live(ctx context.Context, opts Options) ([]Finding, error) {
	rc, away := forReading(opts)
	parts, err := newClients(opts.Config, opts, rc)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, p := range opts.Config.Pools {
		out = append(out, liveSignals(ctx, parts.collector, opts, p, rc != nil)...)
	}
	out = append(out, liveRules(ctx, parts.collector))
	if w := parts.collector.ClockWarning(); w != "" {
		out = append(out, Finding{Where: "prometheus, clock", Good: true, Caution: true, Text: w})
	}
	switch {
	case away != nil:
		out = append(out, Finding{Where: "kubernetes", Text: away.Error(), Fatal: true})
	case rc != nil:
		found, err := liveKubernetes(ctx, opts, rc)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if opts.Config.Slack != nil {
		found, err := liveSlack(ctx, opts)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// liveSignals reads every signal that a playbook may want of the pool, and the workload.
func liveSignals(ctx context.Context, c *evidence.Collector, opts Options, p incident.Pool, cluster bool) []Finding {
	ev := c.Collect(ctx, p, opts.Catalog.AllSignals(), evidence.CollectOptions{})
	out := []Finding{signalFinding(p, ev, ev.Absent == "")}
	if cluster && !p.Workload.IsZero() {
		out = append(out, workloadFinding(p, ev.Cluster))
	}
	return out
}

// signalFinding counts what has data. Signals that cannot carry the pool's labels are read without them, so they alone
// prove nothing; own says that the pool has series.
func signalFinding(p incident.Pool, ev incident.Evidence, own bool) Finding {
	f := Finding{Where: "prometheus, pool " + p.Name}
	have, routes := 0, ""
	var errs []string
	for _, r := range ev.Readings {
		if r.Routes > 1 {
			routes = "; " + evidence.SeveralRoutes + ", else the gateway's count for none"
		}
		switch {
		case r.HasValue():
			have++
		case r.Error != "" && !slices.Contains(errs, r.Error):
			errs = append(errs, r.Error)
		}
	}
	slices.Sort(errs)
	switch {
	case have > 0 && own:
		f.Good, f.Text = true, fmt.Sprintf("%s; %d of %d signals have data%s", ev.Dialect, have, len(ev.Readings), routes)
	case len(errs) > 0:
		f.Text = errs[0]
	default:
		f.Text = "no signal of its own has data: are the pods scraped, and are pools[].matchers right?"
	}
	return f
}

func workloadFinding(p incident.Pool, c incident.Cluster) Finding {
	f := Finding{Where: "kubernetes, pool " + p.Name}
	switch {
	case c.Error != "":
		f.Text = c.Error
	case c.Replicas == nil:
		f.Text = fmt.Sprintf("%s does not say how many replicas it has", p.Workload)
	default:
		ready := c.ReadyText()
		if ready == "" { // no reason to refuse: only a restart needs to know it
			ready = fmt.Sprintf("replicas: %d; how many are ready isn't known", *c.Replicas)
		}
		f.Good, f.Text = true, p.Workload.String()+", "+ready
		if c.Autoscaler != "" {
			f.Text += ", replicas owned by " + c.Autoscaler
		}
		if len(c.Unread) > 0 {
			f.Text += "; not read: " + present.Unread(c.Unread)
		}
	}
	return f
}
