package web

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// What the charts of a closed incident show before the first alert: a share of its length, within bounds.
const (
	leadShare = 4
	leastLead = time.Minute
	mostLead  = 30 * time.Minute
)

// mostWhy bounds an error of Prometheus, in characters.
const mostWhy = 200

// recalled is a closed incident with the pasts of its signals, over the time from before the first alert to the end:
// the readings that are stored end with the incident and go back a fixed time, which is often less. Where Prometheus
// has nothing of that time, the stored pasts stay, without a span, and the note says so. Any other incident is returned
// as it is.
func (h *Handler) recalled(ctx context.Context, inc incident.Incident) (out incident.Incident, over span, note string) {
	took := inc.ClosedAt.Sub(inc.OpenedAt)
	if h.deps.Past == nil || inc.Open() || inc.Drill != nil || inc.ClosedAt.IsZero() || took <= 0 {
		return inc, span{}, "" // what a drill plays, Prometheus doesn't have
	}
	asked := charted(inc, func(r incident.Reading) bool { return r.Query != "" && !r.Optional })
	queries := map[string]string{}
	for _, r := range asked[:min(len(asked), mostCharts)] {
		queries[r.Signal] = r.Reading.Query
	}
	if len(queries) == 0 {
		return inc, span{}, ""
	}
	lead := min(max(took/leadShare, leastLead), mostLead)
	over = span{inc.OpenedAt.Add(-lead), inc.ClosedAt}
	past, err := h.deps.Past(ctx, inc, queries, over.from, over.to)
	out, found := inc, false
	out.Readings = maps.Clone(inc.Readings)
	for name, r := range out.Readings {
		r.Series = past[name]
		out.Readings[name] = r
		found = found || drawable(r)
	}
	why := "Prometheus has no data of the whole incident"
	if err != nil {
		why = "Prometheus can't be asked about the whole incident: " + present.Clip(present.Line(err.Error()), mostWhy)
	}
	switch {
	case found && err == nil:
		return out, over, ""
	case found:
		return out, over, fmt.Sprintf("Some charts are missing. %s.", why)
	case len(charted(inc, drawable)) > 0:
		return inc, span{}, fmt.Sprintf("The charts show the last readings only. %s.", why)
	}
	return inc, span{}, fmt.Sprintf("No charts. %s.", why)
}
