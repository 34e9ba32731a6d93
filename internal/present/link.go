package present

import (
	"net/url"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// IncidentURL is the page of an incident below the base address of the bot's pages.
func IncidentURL(base, id string) string {
	return strings.TrimRight(base, "/") + "/incidents/" + url.PathEscape(id)
}

// RunbookURL is the page of a diagnosis' runbook below the address of the documents; empty where there is none.
func RunbookURL(docs string, d incident.Diagnosis) string {
	if docs == "" || d.Doc == "" {
		return ""
	}
	return strings.TrimRight(docs, "/") + "/" + strings.TrimLeft(Line(d.Doc), "/")
}

// QueryURL is the address of a query over the last hour in Prometheus' own page; empty without an address or a query.
func QueryURL(base, query string) string {
	if base == "" || query == "" {
		return ""
	}
	return strings.TrimRight(base, "/") + "/graph?" + url.Values{
		"g0.expr": {query}, "g0.tab": {"0"}, "g0.range_input": {"1h"},
	}.Encode()
}
