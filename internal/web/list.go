package web

import (
	"cmp"
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

// How many incidents the first page lists.
const (
	shownOpen   = 100
	shownClosed = 20
)

// listPage is the first page: what needs a decision, then what is open, then what has ended.
type listPage struct {
	frame
	Waiting      []waitingRow
	Open, Closed []incidentRow
	all          []incident.Incident
	// Older is the address of the page after this one; empty when there is none.
	Older  string
	Names  []string
	Pool   string
	State  string
	States []option
	Pools  []poolRow
	// Filtered says that some incidents are left out by choice.
	Filtered bool
}

// option is a choice of a filter.
type option struct {
	Value, Text string
	Chosen      bool
}

// incidentRow is an incident on one line.
type incidentRow struct {
	ID, About, News, State, Level, Tag, Severity, Who string
	// Mark says that nothing is changed in it: "DRILL", or "DRY RUN".
	Mark    string
	Urgent  bool
	Since   *moment
	Took    string
	Outcome string
}

// waitingRow is an incident that waits for people.
type waitingRow struct {
	incidentRow
	Question string
	By       []piece
	Expires  *moment
}

func (h *Handler) listPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	p := listPage{
		frame: h.frameOf(c, "incidents", "Incidents", true), Pool: c.QueryParam("pool"), State: c.QueryParam("state"),
	}
	if !slices.Contains([]string{"", "open", "closed", "all"}, p.State) {
		return echo.NewHTTPError(http.StatusBadRequest, "state must be open, closed or all")
	}
	if err := p.troubles(c, h); err != nil {
		return err
	}
	p.Filtered = p.Pool != "" || p.State != "" || c.QueryParam("after") != ""
	for _, pool := range h.deps.Pools() {
		p.Names = append(p.Names, pool.Name)
	}
	for _, o := range [][2]string{{"", "Open and latest"}, {"open", "Open"}, {"closed", "Closed"}, {"all", "All"}} {
		p.States = append(p.States, option{Value: o[0], Text: o[1], Chosen: o[0] == p.State})
	}
	if err := h.fillList(c, &p); err != nil {
		return err
	}
	if !p.Filtered {
		p.Pools = h.poolRows(c.Request().Context(), p.frame, p.all)
	}
	return h.page(c, http.StatusOK, "list.html", p)
}

// fillList reads the incidents. Open ones and the latest of the others are asked for apart, so that many of one kind
// hide none of the other.
func (h *Handler) fillList(c echo.Context, p *listPage) error {
	read := func(state string, limit int) ([]incident.Incident, bool, error) {
		list, err := h.deps.Incidents.Incidents(c.Request().Context(), incident.Filter{
			State: state, Pool: p.Pool, AllPools: p.Pool == "", Limit: limit + 1, After: c.QueryParam("after"),
		})
		return list[:min(len(list), limit)], len(list) > limit, err
	}
	var all []incident.Incident
	switch p.State {
	case "":
		open, more, err := read("open", shownOpen)
		if err != nil {
			return h.fail(c, err)
		}
		closed, moreClosed, err := read("closed", shownClosed)
		if err != nil {
			return h.fail(c, err)
		}
		all = slices.Concat(open, closed)
		switch {
		case more:
			p.Older = p.older("open", open)
		case moreClosed:
			p.Older = p.older("closed", closed)
		}
	default:
		state := p.State
		if state == "all" {
			state = ""
		}
		list, more, err := read(state, shownOpen)
		if err != nil {
			return h.fail(c, err)
		}
		if all = list; more {
			p.Older = p.older(p.State, list)
		}
	}
	p.all = byUrgency(all)
	for _, inc := range p.all {
		p.add(inc)
	}
	return nil
}

// older is the address of what comes after a list.
func (p *listPage) older(state string, list []incident.Incident) string {
	q := url.Values{"state": {state}, "after": {list[len(list)-1].ID}}
	if p.Pool != "" {
		q.Set("pool", p.Pool)
	}
	return "/?" + q.Encode()
}

// byUrgency puts first what ends soonest among what people are asked, then what is worst.
func byUrgency(all []incident.Incident) []incident.Incident {
	until := func(inc incident.Incident) time.Time {
		if inc.Plan == nil || inc.Plan.ExpiresAt.IsZero() {
			return time.Unix(1<<40, 0)
		}
		return inc.Plan.ExpiresAt
	}
	levels := []present.Level{
		present.LevelCritical, present.LevelWarning, present.LevelHealthy, present.LevelResolved, present.LevelEnded,
	}
	level := func(inc incident.Incident) int { return slices.Index(levels, present.LevelOf(inc)) }
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b incident.Incident) int {
		if waits(a) && waits(b) {
			return cmp.Or(until(a).Compare(until(b)), cmp.Compare(level(a), level(b)))
		}
		if !a.Open() && !b.Open() {
			return b.ClosedAt.Compare(a.ClosedAt)
		}
		return cmp.Compare(level(a), level(b))
	})
	return all
}

// waits says that people have to do something.
func waits(inc incident.Incident) bool {
	return inc.State == incident.StateDeciding || inc.Open() && inc.Pool != "" && present.LeftToPeople(inc)
}

// add puts an incident where it belongs.
func (p *listPage) add(inc incident.Incident) {
	row := p.row(inc)
	switch {
	case !inc.Open():
		p.Closed = append(p.Closed, row)
		return
	case waits(inc):
		p.Waiting = append(p.Waiting, p.waiting(inc, row))
		return
	}
	p.Open = append(p.Open, row)
}

// tag is how the state of an incident looks: as bad as it is, but calm while the bot is at work and nobody has to be.
func tag(inc incident.Incident) string {
	if inc.State.Running() {
		return ""
	}
	return string(present.LevelOf(inc))
}

// row is an incident on one line.
func (f frame) row(inc incident.Incident) incidentRow {
	row := incidentRow{
		ID: inc.ID, About: present.About(inc), State: present.State(inc),
		News:  present.Capital(present.News(inc)) + present.StillFiring(inc),
		Level: string(present.LevelOf(inc)), Tag: tag(inc),
		Severity: present.Line(inc.Severity()), Mark: present.Mark(inc), Urgent: waits(inc),
		Since: f.When(inc.OpenedAt), Took: incident.FormatDuration(f.Now.Sub(inc.OpenedAt)),
	}
	if inc.AckedBy != nil {
		row.Who = f.Person(*inc.AckedBy)
	}
	if !inc.Open() {
		row.Took, row.Since = incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)), f.When(inc.ClosedAt)
		row.Outcome, row.Who = present.Outcome(inc), f.doers(inc)
	}
	return row
}

// doers are the people and the policy that approved what was changed.
func (f frame) doers(inc incident.Incident) string {
	var out []string
	for _, m := range present.History(inc) {
		for _, by := range m.By {
			if name := f.Person(by); !m.DryRun && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return strings.Join(present.Capped(out, 3), ", ")
}

func (f frame) waiting(inc incident.Incident, row incidentRow) waitingRow {
	w := waitingRow{incidentRow: row, By: f.Say(present.Asked(inc))}
	if len(w.By) == 0 {
		w.By = f.Say(present.Status(inc))
	}
	if inc.Plan != nil {
		w.Expires = f.When(inc.Plan.ExpiresAt)
	}
	if s, ok := present.Offered(inc); ok {
		w.Question = present.Verb(s, incident.OpUndo) + "?"
	} else if open := present.Questions(inc); len(open) > 0 {
		w.Question = present.Verb(open[0], incident.OpApply) + "?"
	}
	return w
}
