package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Health is what was last read of a pool.
type Health struct {
	// At is when; zero: nothing has been read yet.
	At time.Time
	// Readings carry the pool's targets as thresholds.
	Readings map[string]incident.Reading
	// Assessment says how the pool is doing against its targets.
	Assessment incident.Assessment
	Dialect    string
}

// assessed says how the pool is, also when nothing is known of it yet.
func (h Health) assessed() incident.Assessment {
	if h.At.IsZero() {
		return incident.Assessment{Health: incident.HealthUnread}
	}
	return h.Assessment
}

// standing is the health of a pool on a page: in a word or two, with how bad that is, and what it rests on.
type standing struct{ Word, Level, Text string }

func (h Health) standing() standing {
	a := h.assessed()
	return standing{
		present.HealthWord(a.Health), string(present.LevelOfHealth(a.Health)), present.Measured(a, h.Readings),
	}
}

// poolRow is a pool on one line.
type poolRow struct {
	standing

	Name, Path, Signal string
	Spark              *spark
	Mode               incident.Mode
	Paused             bool
	Incident           *incidentRow

	health incident.Health
}

// poolPage is a pool: how it is doing, what the bot may change, and its incidents.
type poolPage struct {
	frame
	standing

	Name                string
	At                  *moment
	Charts              []chart
	Incident, Drill     *incidentRow
	Closed              []incidentRow
	Settings            []fact
	Targets, Knobs, Who []fact
	Pause, Resume       string
	Dialect             string
}

// pool finds a configured pool.
func (h *Handler) pool(name string) (incident.Pool, bool) {
	for _, p := range h.deps.Pools() {
		if p.Name == name {
			return p, true
		}
	}
	return incident.Pool{}, false
}

// poolRows are the pools, the worst first.
func (h *Handler) poolRows(ctx context.Context, f frame, all []incident.Incident) []poolRow {
	health := h.deps.Health(ctx)
	var out []poolRow
	for _, p := range h.deps.Pools() {
		got := health[p.Name]
		row := poolRow{
			standing: got.standing(), health: got.assessed().Health, Name: p.Name, Path: url.PathEscape(p.Name), Mode: p.Mode,
			Paused: slices.ContainsFunc(f.Pauses, func(one incident.Pause) bool { return one.Pool == "" || one.Pool == p.Name }),
		}
		var about incident.Incident
		for _, inc := range all {
			if inc.Pool == p.Name && inc.Open() && inc.Drill == nil {
				one := f.row(inc)
				row.Incident, about = &one, inc
			}
		}
		about.Readings = got.Readings // those of the incident are older
		if r, ok := present.Drawn(about, drawable); ok {
			row.Signal, row.Spark = r.Label(), f.sparkOf(r)
		}
		out = append(out, row)
	}
	order := incident.Healths()
	slices.SortStableFunc(out, func(a, b poolRow) int {
		return cmp.Compare(slices.Index(order, a.health), slices.Index(order, b.health))
	})
	return out
}

func (h *Handler) poolPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return echo.NewHTTPError(http.StatusNotFound, "there is no such pool")
	}
	pool, ok := h.pool(name)
	if !ok {
		return echo.NewHTTPError(http.StatusNotFound, "there is no such pool")
	}
	ctx := c.Request().Context()
	f := h.frameOf(c, "pools", present.Line(pool.Name), true)
	if err := f.troubles(c, h); err != nil {
		return err
	}
	list, err := h.deps.Incidents.Incidents(ctx, incident.Filter{Pool: pool.Name, Limit: shownClosed})
	if err != nil {
		return h.fail(c, err)
	}
	got := h.deps.Health(ctx)[pool.Name]
	p := poolPage{
		frame: f, standing: got.standing(), Name: pool.Name, At: f.When(got.At), Dialect: got.Dialect,
		Settings: settings(pool), Targets: targets(pool.SLO), Knobs: knobs(pool), Who: f.deciders(pool),
		Pause:  h.switchLine("pause --reason REASON", pool.Name),
		Resume: h.switchLine("resume", pool.Name),
	}
	var events []happened
	var about incident.Incident
	for _, inc := range byUrgency(list) {
		row := f.row(inc)
		switch {
		case inc.Open() && inc.Drill != nil:
			p.Drill = &row
			continue
		case inc.Open():
			p.Incident, events, about = &row, marks(inc), inc
			continue
		}
		p.Closed = append(p.Closed, row)
	}
	about.Readings = got.Readings
	p.Charts = f.poolCharts(about, events)
	return h.page(c, http.StatusOK, "pool.html", p)
}

// switchLine is the command that pauses or resumes a pool.
func (h *Handler) switchLine(verb, pool string) string {
	words := []string{"vllm-medic", verb, "--pool", present.ShellWord(pool)}
	if base := h.deps.Links.BaseURL; base != "" {
		words = append(words, "--server", present.ShellWord(base))
	}
	return strings.Join(words, " ")
}

// poolCharts are all pasts of a pool, by what they are about: first the one that the list shows, too, then what is
// beyond its limit. about is the open incident of the pool, if any, with the readings of the pool.
func (f frame) poolCharts(about incident.Incident, events []happened) []chart {
	all := titled(about.Readings)
	lead, _ := present.Drawn(about, drawable)
	rank := func(r titledReading) int {
		switch {
		case r.Signal == lead.Signal:
			return -2
		case present.Beyond(r.Reading):
			return -1
		}
		return slices.Index(present.Groups(), present.GroupOf(r.Signal))
	}
	slices.SortStableFunc(all, func(a, b titledReading) int { return cmp.Compare(rank(a), rank(b)) })
	var out []chart
	for _, r := range all {
		if c, ok := f.chartOf(r.Reading, events, span{}); ok {
			out = append(out, c)
		}
	}
	return out
}

// settings are where the pool is and what the bot may do there.
func settings(p incident.Pool) []fact {
	out := []fact{say("Mode", string(p.Mode))}
	if !p.Workload.IsZero() {
		out = append(out, say("Workload", p.Workload.String()))
	}
	if route := p.HTTPRoute.String(); route != "" {
		out = append(out, say("Route", route))
	}
	if p.Channel != "" {
		out = append(out, say("Slack channel", p.Channel))
	}
	return append(out, say("Alerts with", pairs(p.Match)), say("Queries with", pairs(p.Matchers)))
}

func say(name, text string) fact { return fact{name, []piece{{Text: text}}} }

// pairs are labels with their values.
func pairs(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return cmp.Or(strings.Join(out, ", "), "none")
}

// targets are what the pool has to keep to.
func targets(s incident.SLO) []fact {
	var out []fact
	if s.Profile != "" {
		out = append(out, say("Profile", s.Profile))
	}
	for _, t := range []struct {
		name  string
		value float64
	}{{"TTFT p95", s.TTFT}, {"TPOT p95", s.TPOT}, {"Queue time p95", s.QueueTime}, {"E2E latency p95", s.E2E}} {
		if t.value > 0 {
			out = append(out, say(t.name, "≤ "+incident.FormatValue(t.value, incident.UnitSeconds)))
		}
	}
	return out
}

// knobs are what may be changed and how far.
func knobs(p incident.Pool) []fact {
	var out []fact
	for n, bounds := range p.Knobs.Bounds() {
		name := ""
		if n == 0 {
			name = "Can be changed"
		}
		out = append(out, say(name, bounds))
	}
	if len(out) == 0 {
		out = append(out, say("Can be changed", "nothing; the pool is read-only"))
	}
	return out
}

// deciders are who may approve, by kind of step.
func (f frame) deciders(p incident.Pool) []fact {
	var out []fact
	for _, kind := range slices.Sorted(maps.Keys(p.Approvers)) {
		a := p.Approvers[kind]
		texts := []string{f.approvers(incident.Needs{Users: a.Users, Groups: a.Groups, Approvals: a.Count})}
		if a.FourEyes {
			texts = append(texts, "four eyes")
		}
		for _, e := range a.Escalate {
			texts = append(texts, fmt.Sprintf("after %s also %s", incident.FormatDuration(e.After),
				f.approvers(incident.Needs{Users: e.Users, Groups: e.Groups})))
		}
		out = append(out, say(cmp.Or(string(kind), "All steps"), strings.Join(texts, "; ")))
	}
	return out
}
