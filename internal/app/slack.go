package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/slack"
)

// slackParts are what a slack section adds. socket is nil over HTTP.
type slackParts struct {
	client       *slack.Client
	interactions *slack.Interactions
	socket       *slack.Socket
	names        *names
}

// newNotifier is Slack, or the log when no slack section is there.
func (a *App) newNotifier(owner string) (notify.Notifier, error) {
	cfg, log := a.opts.Config, a.opts.Logger.With("part", "slack")
	if cfg.Slack == nil {
		return notify.NewLogNotifier(a.opts.Logger)
	}
	client, err := slack.NewClient(slackConfig(a.opts))
	if err != nil {
		return nil, err
	}
	view := slack.ViewOptions{BaseURL: cfg.Links.BaseURL, PrometheusURL: cfg.Links.PrometheusURL, Elsewhere: a.elsewhere()}
	view.DocsURL, view.RunbooksURL = cfg.Links.Runbooks()
	interactions, err := slack.NewInteractions(slack.InteractionsConfig{
		SigningSecret: cfg.Slack.SigningSecret.Reveal, AppID: cfg.Slack.AppID, Team: cfg.Slack.Team,
		Enterprise: cfg.Slack.Enterprise, Owner: owner,
	}, slack.InteractionsDeps{
		Client: client, Decider: a.engine, Lookup: a.store, Clicks: a.store, Digests: a.store, Approvers: a.approvers,
		Rights:   a.slackRights(),
		Commands: commands{Store: a.store, app: a}, View: view,
		Logger: log, Panics: a.panics, Now: a.store.Now,
	})
	if err != nil {
		return nil, err
	}
	a.slack = &slackParts{
		client: client, interactions: interactions, names: &names{ask: client.Name, now: a.store.Now},
	}
	if cfg.Slack.Socket {
		a.slack.socket, err = slack.NewSocket(slack.SocketConfig{AppID: cfg.Slack.AppID},
			slack.SocketDeps{Client: client, Take: interactions.Enqueue, Logger: log, Panics: a.panics})
		if err != nil {
			return nil, err
		}
	}
	return slack.NewNotifier(client, view, cfg.Slack.Broadcast, log)
}

func slackConfig(opts Options) slack.Config {
	s := opts.Config.Slack
	c := slack.Config{Token: s.Token.Reveal, AppToken: s.AppToken.Reveal, APIURL: s.APIURL}
	if opts.Transport != nil {
		c.Transport = opts.Transport("slack", http.DefaultTransport)
	}
	return c
}

// slackRights asks Kubernetes about the users of people in Slack; nil when none is configured. With any, whoever
// has none may do nothing.
func (a *App) slackRights() slack.Rights {
	users := a.opts.Config.Access.SlackUsers
	if len(users) == 0 {
		return nil
	}
	return func(ctx context.Context, id string, pause bool) error {
		user, mapped := users[id]
		if !mapped {
			return slack.ErrUnmapped
		}
		right := access.Decide
		if pause {
			right = access.Pause
		}
		err := a.gate.May(ctx, user.Name, user.Groups, right)
		if errors.Is(err, access.ErrForbidden) {
			return fmt.Errorf("%w: %w", slack.ErrNoRight, err)
		}
		return err
	}
}

// approvers finds who may decide; an unknown pool has nobody.
func (a *App) approvers(pool string, kind incident.StepKind) incident.Approvers {
	for _, p := range a.opts.Config.Pools {
		if p.Name == pool {
			return p.ApproversFor(kind)
		}
	}
	return incident.Approvers{}
}

// commands is what slash commands read and do: the store's and the engine's, as the API does it.
type commands struct {
	Store

	app *App
}

// Act implements slack.Commands.
func (c commands) Act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error) {
	return c.app.engine.Act(ctx, id, ev)
}

// Pools implements slack.Commands.
func (c commands) Pools() []string { return c.app.poolNames() }

// Acting implements slack.Commands.
func (c commands) Acting(pool string) []incident.Approvers {
	var out []incident.Approvers
	for _, p := range c.app.opts.Config.Pools {
		if p.Name != pool {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(p.Approvers)) {
			out = append(out, p.Approvers[kind])
		}
	}
	return out
}

// Notice implements slack.Commands.
func (c commands) Notice() string { return c.app.notice() }

// troubles is what keeps Slack from working; empty when it works or is not configured. A bot without Slack still takes
// alerts in and does what policy allows, so this takes it out of no service.
func (p *slackParts) troubles() []slack.Trouble {
	if p == nil {
		return nil
	}
	out := p.client.Troubles()
	if p.socket == nil {
		return out
	}
	if t, lost := p.socket.Trouble(); lost {
		out = append(out, t)
	}
	return out
}

// notice is a line for each trouble, with what to do; empty when there is none. It holds no names.
func (p *slackParts) notice() string {
	var lines []string
	for _, t := range p.troubles() {
		line := fmt.Sprintf("Slack doesn't work since %s: %s.", t.Since.UTC().Format("15:04 UTC"), t.Text)
		if t.Next != "" {
			line += " " + t.Next
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// notice is what everybody who looks should know about the bot itself; empty when there is nothing.
func (a *App) notice() string {
	return strings.Trim(a.playbooks.notice()+"\n"+a.slack.notice(), "\n")
}

// The metrics of Slack. docs/operations.md says what to do about each.
var (
	descSlackUp = desc("slack_up",
		"1 if Slack answers, takes messages in every channel, limits no calls for more than a minute, refuses nothing that "+
			"someone has to fix and, in Socket Mode, keeps a connection open, else 0.")
	descSlackCalls       = desc("slack_calls_total", "Calls to Slack's Web API by how they ended.", "result")
	descSlackConnections = desc("slack_connections", "Open Socket Mode connections; 2 for a while when Slack renews one.")
	descSlackOpened      = desc("slack_connections_opened_total", "Socket Mode connections that were opened.")
	descSlackEnvelope    = desc("slack_last_envelope_timestamp_seconds",
		"When the last click or command came through a connection; missing before the first.")
)

// Describe sends every description.
func (p *slackParts) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descSlackUp, descSlackCalls, descSlackConnections, descSlackOpened, descSlackEnvelope,
	} {
		out <- d
	}
}

// Collect counts anew.
func (p *slackParts) Collect(out chan<- prometheus.Metric) {
	up := 1.0
	if len(p.troubles()) > 0 {
		up = 0
	}
	out <- prometheus.MustNewConstMetric(descSlackUp, prometheus.GaugeValue, up)
	calls := p.client.Calls()
	for _, result := range slack.CallResults() {
		out <- prometheus.MustNewConstMetric(descSlackCalls, prometheus.CounterValue, float64(calls[result]), result)
	}
	if p.socket == nil {
		return
	}
	st := p.socket.State()
	out <- prometheus.MustNewConstMetric(descSlackConnections, prometheus.GaugeValue, float64(st.Open))
	out <- prometheus.MustNewConstMetric(descSlackOpened, prometheus.CounterValue, float64(st.Opened))
	if !st.LastEnvelope.IsZero() {
		out <- prometheus.MustNewConstMetric(descSlackEnvelope, prometheus.GaugeValue, float64(st.LastEnvelope.Unix()))
	}
}
