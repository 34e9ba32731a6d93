package app

import (
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
		BaseURL: l.BaseURL, PrometheusURL: l.PrometheusURL, Message: a.messageURL, NameOf: a.nameOf,
		Runbook: func(d incident.Diagnosis) string { return present.RunbookURL(l.DocsURL, d) },
	}
}
