package app

import (
	"cmp"

	"github.com/vllm-medic/vllm-medic/docs"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

// poolNames are the configured pools.
func (a *App) poolNames() []string {
	var out []string
	for _, p := range a.opts.Config.Pools {
		out = append(out, p.Name)
	}
	return out
}

// links are where else an incident can be seen.
func (a *App) links() web.Links {
	l := a.opts.Config.Links
	return web.Links{
		BaseURL: l.BaseURL, PrometheusURL: l.PrometheusURL, Elsewhere: a.elsewhere(), Message: a.messageURL, NameOf: a.nameOf,
		Runbook: func(c incident.Cause) string {
			if l.DocsURL != "" {
				return present.RunbookURL(l.DocsURL, "", c)
			}
			return present.RunbookPath(c)
		},
	}
}

// elsewhere has the addresses of Grafana and Alertmanager for people.
func (a *App) elsewhere() present.Elsewhere {
	l := a.opts.Config.Links
	return present.Elsewhere{Grafana: l.GrafanaURL, Alertmanager: l.AlertmanagerURL, Pools: a.opts.Config.Pools}
}

// runbooks are the pages of the playbooks in force.
func (a *App) runbooks() web.Runbooks {
	return web.Runbooks{
		InForce: func() []web.Playbook {
			var out []web.Playbook
			for _, p := range a.playbooks.inForce().Playbooks() {
				out = append(out, web.Playbook{
					Name: p.Name, Title: p.Title, Runbook: docs.RunbookName(p.Doc), Doc: p.Doc, Alerts: p.Alerts,
					Diagnoses: p.Diagnoses,
				})
			}
			return out
		},
		Page: docs.Runbook, DocsURL: cmp.Or(a.opts.Config.Links.DocsURL, config.PublicDocs),
	}
}
