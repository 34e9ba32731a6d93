package app

import (
	"net/http"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/slack"
)

// slackParts are what a slack section adds.
type slackParts struct{ interactions *slack.Interactions }

func (a *App) buildNotify(owner string, outbox notify.Outbox) error {
	cfg, log := a.opts.Config, a.opts.Logger.With("part", "notify")
	notifier, err := a.newNotifier(owner)
	if err != nil {
		return err
	}
	a.dispatcher, err = notify.New(notify.Config{
		Owner: owner, Sweep: cfg.Timing.Sweep, LookAfter: a.opts.LookAfter,
		Panics: a.panics, Now: a.store.Now,
	}, outbox, a.store, notifier, log)
	return err
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
	interactions, err := slack.NewInteractions(slack.InteractionsConfig{
		SigningSecret: cfg.Slack.SigningSecret.Reveal(), AppID: cfg.Slack.AppID, Team: cfg.Slack.Team,
		Enterprise: cfg.Slack.Enterprise, Owner: owner,
	}, slack.InteractionsDeps{
		Client: client, Decider: a.engine, Lookup: a.store, Clicks: a.store, Approvers: a.approvers,
		Logger: log, Panics: a.panics, Now: a.store.Now,
	})
	if err != nil {
		return nil, err
	}
	a.slack = &slackParts{interactions: interactions}
	return slack.NewNotifier(client,
		slack.ViewOptions{BaseURL: cfg.Links.BaseURL, DocsURL: cfg.Links.DocsURL, PrometheusURL: cfg.Links.PrometheusURL},
		log)
}

func slackConfig(opts Options) slack.Config {
	c := slack.Config{Token: opts.Config.Slack.Token.Reveal(), APIURL: opts.Config.Slack.APIURL}
	if opts.Transport != nil {
		c.Transport = opts.Transport("slack", http.DefaultTransport)
	}
	return c
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
