package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify/slack"
)

// liveSlack asks who the tokens belong to and what they may do, reads each channel as the bot must after a lost answer,
// and looks up everybody who is to approve. Everything but the bot token is asked only when that is good.
func liveSlack(ctx context.Context, opts Options) ([]Finding, error) {
	cfg := opts.Config.Slack
	client, err := slack.NewClient(slackConfig(opts))
	if err != nil {
		return nil, err
	}
	notifier, err := slack.NewNotifier(client, slack.ViewOptions{}, false, opts.Logger)
	if err != nil {
		return nil, err
	}
	app := Finding{Where: "slack"}
	me, err := client.Check(ctx)
	switch {
	case err != nil:
		app.Text = whatToDo(err)
	case cfg.Team != "" && cfg.Team != me.Team:
		app.Text = fmt.Sprintf("the token is of workspace %s (%s), and slack.team says %s", me.Team, me.TeamName, cfg.Team)
	default:
		app.Good, app.Text = true, fmt.Sprintf("workspace %s as %s", me.TeamName, me.User)
	}
	out := []Finding{app}
	if cfg.Socket {
		out = append(out, liveAppToken(ctx, client))
	}
	if !app.Good {
		return out, nil
	}
	users, groups := approversOf(opts.Config.Pools)
	out = append(out, scopesFinding(me.Scopes, len(groups) > 0))
	for _, channel := range channelsOf(cfg.Channel, opts.Config.Pools) {
		_, _, err := notifier.FindPosted(ctx, channel, "", "none", 0, time.Now())
		out = append(out, channelFinding(channel, err))
	}
	for _, id := range groups {
		out = append(out, groupFinding(ctx, client, id))
	}
	for _, id := range users {
		out = append(out, userFinding(ctx, client, id))
	}
	return out, nil
}

// channelFinding says whether a channel can be read. The bot posts without the scope for that, so its lack is no
// failure.
func channelFinding(channel string, err error) Finding {
	f := Finding{Where: "slack, channel " + channel, Good: true, Text: "can be read"}
	switch scope, lacks := slack.MissingScope(err); {
	case err == nil:
	case lacks:
		f.Caution = true
		f.Text = "not checked whether the app is in the channel: the token lacks " + scope +
			"; invite the app if it isn't: /invite in the channel"
	default:
		f.Good, f.Text = false, whatToDo(err)
	}
	return f
}

// whatToDo is an error with its next step.
func whatToDo(err error) string {
	if next := slack.NextStep(err); next != "" {
		return err.Error() + ": " + next
	}
	return err.Error()
}

// liveAppToken asks for the address of a connection, and opens none: Slack could send it a click.
func liveAppToken(ctx context.Context, client *slack.Client) Finding {
	f := Finding{Where: "slack, app token", Good: true, Text: "can open connections"}
	if err := client.CheckAppToken(ctx); err != nil {
		f.Good, f.Text = false, whatToDo(err)
	}
	return f
}

// scopesFinding compares the scopes that Slack names with those that the bot's calls need.
func scopesFinding(have []string, groups bool) Finding {
	f := Finding{Where: "slack, scopes"}
	if len(have) == 0 {
		f.Unasked, f.Text = true, "Slack didn't say which scopes the token has"
		return f
	}
	needed, useful := slack.MissingScopes(have, groups)
	const add = "add them under OAuth & Permissions at api.slack.com/apps, and install the app again"
	switch {
	case len(needed) > 0:
		f.Text = "missing: " + strings.Join(needed, ", ") + "; " + add
	case len(useful) > 0:
		f.Good, f.Caution = true, true
		f.Text = "all that are required; without " + strings.Join(useful, ", ") +
			" some messages may be posted twice, or some approvers not be found; " + add
	default:
		f.Good, f.Text = true, "all that are used"
	}
	return f
}

func groupFinding(ctx context.Context, client *slack.Client, id string) Finding {
	f := Finding{Where: "slack, user group " + id}
	switch n, err := client.CheckGroup(ctx, id); {
	case err != nil:
		f.Text = whatToDo(err)
	case n == 0:
		f.Text = "has no members, so nobody in it can approve: add some in Slack, under People & user groups"
	case n == 1:
		f.Good, f.Text = true, "1 member"
	default:
		f.Good, f.Text = true, fmt.Sprintf("%d members", n)
	}
	return f
}

func userFinding(ctx context.Context, client *slack.Client, id string) Finding {
	f := Finding{Where: "slack, user " + id}
	switch why, err := client.CheckUser(ctx, id); {
	case err != nil:
		f.Text = whatToDo(err)
	case why != "":
		f.Text = why + ", who can't approve: remove the ID from approvers"
	default:
		f.Good, f.Text = true, "can approve"
	}
	return f
}

// channelsOf lists the channels that messages go to, each once.
func channelsOf(first string, pools []incident.Pool) []string {
	out := []string{first}
	for _, p := range pools {
		if p.Channel != "" && !slices.Contains(out, p.Channel) {
			out = append(out, p.Channel)
		}
	}
	return out
}

// approversOf lists everybody who may approve anything, now or when nobody else has, each once.
func approversOf(pools []incident.Pool) (users, groups []string) {
	us, gs := map[string]bool{}, map[string]bool{}
	for _, p := range pools {
		for _, a := range p.Approvers {
			all := []incident.Escalation{{Users: a.Users, Groups: a.Groups}}
			for _, e := range append(all, a.Escalate...) {
				for _, id := range e.Users {
					us[id] = true
				}
				for _, id := range e.Groups {
					gs[id] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(us)), slices.Sorted(maps.Keys(gs))
}
