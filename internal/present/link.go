package present

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// IncidentURL is the page of an incident below the base address of the bot's pages.
func IncidentURL(base, id string) string {
	return strings.TrimRight(base, "/") + "/incidents/" + url.PathEscape(id)
}

// RunbookURL is the page of a cause's runbook: below the address of the documents, else below that of the bot's own
// pages; empty where there is none.
func RunbookURL(docs, pages string, c incident.Cause) string {
	switch {
	case docs != "" && c.Doc != "":
		return strings.TrimRight(docs, "/") + "/" + strings.TrimLeft(Line(c.Doc), "/")
	case pages != "" && RunbookPath(c) != "":
		return strings.TrimRight(pages, "/") + RunbookPath(c)
	}
	return ""
}

// RunbookPath is the path of a cause's runbook on the bot's own pages: that of its document where it is a built-in
// one, else that of its playbook; empty where neither is known.
func RunbookPath(c incident.Cause) string {
	name := c.Playbook
	if doc, ok := strings.CutPrefix(c.Doc, "docs/playbooks/"); ok {
		if stem, ok := strings.CutSuffix(doc, ".md"); ok && stem != "" {
			name = stem
		}
	}
	if name == "" {
		return ""
	}
	return "/playbooks/" + url.PathEscape(name)
}

// QueryURL is the address of a query over the last hour in Prometheus' own page; empty without an address or a query.
func QueryURL(base, query string) string { return queryURL(base, query, "1h", time.Time{}) }

// QueryURLOf is QueryURL over the time of a closed incident, with some minutes before and after it; of an open one,
// over the last hour.
func QueryURLOf(inc incident.Incident, base, query string) string {
	if inc.Open() || !inc.ClosedAt.After(inc.OpenedAt) {
		return QueryURL(base, query)
	}
	begin, end := around(inc)
	return queryURL(base, query, strconv.Itoa(int(end.Sub(begin)/time.Minute)+1)+"m", end)
}

// queryURL leaves the end to Prometheus' page where there is none: it is now.
func queryURL(base, query, span string, end time.Time) string {
	if base == "" || query == "" {
		return ""
	}
	q := url.Values{"g0.expr": {query}, "g0.tab": {"0"}, "g0.range_input": {span}}
	if !end.IsZero() {
		q.Set("g0.end_input", end.UTC().Format(time.DateTime))
	}
	return strings.TrimRight(base, "/") + "/graph?" + q.Encode()
}
