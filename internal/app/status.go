package app

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

// statusTimeout bounds how long the page of the bot waits for the store.
const statusTimeout = 2 * time.Second

// status is what the bot knows of itself and of what it talks to. It asks the store, and else says what was found when
// something was last asked.
func (a *App) status(ctx context.Context) web.Status {
	health := a.overview.Health(ctx)
	found, at := a.overview.permissions(ctx)
	out := web.Status{
		Connections: []web.Connection{a.prometheusStatus(health), a.kubernetesStatus(found, at)},
		Versions:    a.versions(),
	}
	out.Connections = append(out.Connections, a.storeStatus(ctx)...)
	out.Connections = append(out.Connections, a.slackStatus())
	if len(found) > 0 && found[0].Where != silentKubernetes {
		out.PermissionsAt = at
		for _, f := range found {
			out.Permissions = append(out.Permissions, permissionStatus(f))
		}
	}
	out.PlaybooksAt = a.playbooks.loadedAt()
	return out
}

// prometheusStatus is what the newest readings of the pools say.
func (a *App) prometheusStatus(health map[string]web.Health) web.Connection {
	c := web.Connection{Name: "Prometheus", State: web.ConnectionUnknown, Text: "not asked yet"}
	answered, failed := 0, ""
	for _, h := range health {
		if h.At.After(c.At) {
			c.At = h.At
		}
		bad := ""
		for _, r := range h.Readings {
			if r.Error != "" {
				bad = r.Error
			}
		}
		if bad == "" {
			answered++
		} else {
			failed = max(failed, bad) // always the same one of several
		}
	}
	switch {
	case len(health) == 0:
	case failed != "":
		c.State, c.Text = web.ConnectionFailing, fmt.Sprintf("answers for %d of %s: %s", answered,
			present.Counted(len(a.opts.Config.Pools), "pool"), present.Line(failed))
	default:
		c.State, c.Text = web.ConnectionOK, "answers for "+present.Counted(answered, "pool")
	}
	if w := a.overview.collector.ClockWarning(); w != "" {
		c.More = append(c.More, w)
	}
	return c
}

func (a *App) kubernetesStatus(found []Finding, at time.Time) web.Connection {
	c := web.Connection{Name: "Kubernetes", State: web.ConnectionOff, Text: "not configured; nothing can be changed"}
	switch {
	case a.overview.registry == nil:
	case len(found) == 0:
		c.State, c.Text = web.ConnectionUnknown, "not asked yet"
	case found[0].Where == silentKubernetes:
		c.State, c.Text, c.At = web.ConnectionFailing, found[0].Text, at
	default:
		c.State, c.Text, c.At = web.ConnectionOK, "answers", at
	}
	return c
}

// storeStatus is the store, and what waits in it: deliveries of Alertmanager, and messages.
func (a *App) storeStatus(ctx context.Context) []web.Connection {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	kind, _, _ := strings.Cut(a.opts.Config.StoreURL.Reveal(), ":")
	st := web.Connection{Name: "Store", State: web.ConnectionOK, Text: kind + ", takes commits"}
	alerts := web.Connection{
		Name: "Alertmanager", State: web.ConnectionUnknown, Text: "has sent nothing that the store still keeps",
	}
	messages := web.Connection{Name: "Messages", State: web.ConnectionOK, Text: "all sent"}
	if err := a.store.Ready(ctx); err != nil {
		st.State, st.Text = web.ConnectionFailing, err.Error()
	}
	stats, err := a.store.Stats(ctx)
	if err != nil {
		st.State, st.Text = web.ConnectionFailing, "can't be counted: "+err.Error()
		return []web.Connection{st}
	}
	if !stats.LastDelivery.IsZero() {
		alerts.State, alerts.Text, alerts.At = web.ConnectionOK, "last delivery", stats.LastDelivery
	}
	if n := stats.DeliveriesDead; n > 0 {
		alerts.State = web.ConnectionFailing
		alerts.More = append(alerts.More, fmt.Sprintf("deliveries that failed permanently: %d", n))
	}
	switch {
	case stats.MessagesGivenUp > 0:
		messages.State, messages.Text = web.ConnectionFailing,
			present.Counted(int(stats.MessagesGivenUp), "message")+" given up; the log says why"
	case stats.MessagesWaiting > 0:
		messages.Text = present.Counted(int(stats.MessagesWaiting), "message") + " waiting"
	}
	return []web.Connection{alerts, st, messages}
}

func (a *App) slackStatus() web.Connection {
	c := web.Connection{Name: "Slack", State: web.ConnectionOff, Text: "not configured; messages go to the log"}
	if a.slack == nil {
		return c
	}
	c.State, c.Text = web.ConnectionOK, "answers"
	if a.slack.socket != nil {
		c.Text += ", Socket Mode, " + present.Counted(a.slack.socket.State().Open, "open connection")
	}
	for _, t := range a.slack.troubles() {
		c.State, c.At = web.ConnectionFailing, t.Since
		c.Text = t.Text
		if t.Next != "" {
			c.More = append(c.More, t.Next)
		}
	}
	return c
}

func permissionStatus(f Finding) web.Connection {
	c := web.Connection{Name: present.Capital(f.Where), State: web.ConnectionOK, Text: f.Text, More: f.More}
	if !f.Good {
		c.State = web.ConnectionFailing
	}
	return c
}

// versions are those of the program and of what it runs on.
func (a *App) versions() [][2]string {
	schema := "unknown"
	if n, err := store.SchemaVersion(); err == nil {
		schema = strconv.FormatInt(n, 10)
	}
	version := a.opts.Version
	if version == "" {
		version = "unknown"
	}
	return [][2]string{{"vllm-medic", version}, {"Go", runtime.Version()}, {"Store schema", schema}}
}

// messageURL is the address of an incident's message in Slack; empty when there is none, or Slack does not say where
// the workspace is.
func (a *App) messageURL(ctx context.Context, inc incident.Incident) string {
	if a.slack == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	m, ok, err := a.store.Message(ctx, inc.ID)
	if err != nil || !ok || m.TS == "" || m.Folded {
		return ""
	}
	address, err := a.slack.client.Permalink(ctx, m.Channel, m.TS)
	if err != nil {
		a.opts.Logger.DebugContext(ctx, "no link to the message in Slack", "incident", inc.ID, "err", err)
		return ""
	}
	return address
}
