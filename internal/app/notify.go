package app

import (
	"net/http"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/slack"
)

// slackParts are what a slack section adds.
type slackParts struct{ interactions *slack.Interactions }

func (a *App) buildNotify(owner string) error {
	cfg, log := a.opts.Config, a.opts.Logger.With("part", "notify")
	sink, err := a.sink()
	if err != nil {
		return err
	}
	a.notifier, err = notify.New(notify.Config{Owner: owner, Sweep: cfg.Timing.Sweep, LookAfter: a.opts.LookAfter}, a.store, a.store, sink, log)
	return err
}

// sink is Slack, or the log when no slack section is there.
func (a *App) sink() (notify.Sink, error) {
	cfg, log := a.opts.Config, a.opts.Logger.With("part", "slack")
	if cfg.Slack == nil {
		return notify.NewLogSink(a.opts.Logger)
	}
	sc := slack.Config{Token: cfg.Slack.Token.Reveal(), APIURL: cfg.Slack.APIURL}
	if a.opts.Transport != nil {
		sc.Transport = a.opts.Transport("slack", http.DefaultTransport)
	}
	client, err := slack.NewClient(sc)
	if err != nil {
		return nil, err
	}
	interactions, err := slack.NewInteractions(slack.InteractionsConfig{
		SigningSecret: cfg.Slack.SigningSecret.Reveal(), AppID: cfg.Slack.AppID, Team: cfg.Slack.Team, Enterprise: cfg.Slack.Enterprise,
	}, slack.InteractionsDeps{Client: client, Decider: a.engine, Lookup: a.store, Approvers: a.approvers, Logger: log})
	if err != nil {
		return nil, err
	}
	a.slack = &slackParts{interactions: interactions}
	return slack.NewSink(client, slack.ViewOptions{BaseURL: cfg.Links.BaseURL, DocsURL: cfg.Links.DocsURL, PrometheusURL: cfg.Links.PrometheusURL}, log)
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
