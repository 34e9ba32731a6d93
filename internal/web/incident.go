package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Links are addresses that people can open; an empty one makes no link.
type Links struct {
	// BaseURL is where people reach these pages; commands on them name it as the server.
	BaseURL string
	// PrometheusURL is where people reach Prometheus.
	PrometheusURL string
	// Elsewhere has the addresses of Grafana and Alertmanager.
	Elsewhere present.Elsewhere
	// Message is the address of an incident's message in Slack, Runbook of a cause's runbook; nil: there are none.
	Message func(ctx context.Context, inc incident.Incident) string
	Runbook func(c incident.Cause) string
	// NameOf is what people call somebody; nil: present.Person.
	NameOf func(ctx context.Context, who incident.Actor) string
}

// incidentPage is everything that the page of an incident shows, in its order.
type incidentPage struct {
	frame
	Inc                         incident.Incident
	Headline, State, Level, Tag string
	Mark                        string
	Links                       []link
	Status, Remark              []piece
	Config                      string
	Summary                     []fact
	Ask                         *ask
	Charts                      []chart
	ChartNote                   string
	Marks                       []legend
	Cause, More, AsDiagnosed    string
	NotKept                     string
	Numbers                     []number
	DoNow                       *present.DoNow
	WhyPods                     string
	Differ                      []incident.Compared
	LastLineOf, LastLine        string
	Doubts                      []doubtRow
	Rules                       []conditionRow
	Steps, Earlier              []stepRow
	Made                        []madeRow
	Groups                      []readingGroup
	Unused                      string
	Breakdowns                  []breakdown
	Considered                  []consideredRow
	Alerts                      []alertRow
	Events                      []event
	Stale, Outdated, OtherCause bool
}

// link is an address with its text.
type link struct{ URL, Text string }

// fact is a line of the summary.
type fact struct {
	Name string
	Text []piece
}

func (h *Handler) incidentPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	inc, err := h.deps.Incidents.IncidentWithJournal(c.Request().Context(), c.Param("id"))
	if err != nil {
		return h.fail(c, err)
	}
	f := h.frameOf(c, "incidents", present.About(inc)+": "+present.State(inc), inc.Open())
	if err := f.troubles(c, h); err != nil {
		return err
	}
	return h.page(c, 200, "incident.html", h.viewOf(c, f, inc))
}

func (h *Handler) viewOf(c echo.Context, f frame, inc incident.Incident) incidentPage {
	events := marks(inc)
	past, over, chartNote := h.recalled(c.Request().Context(), inc)
	p := incidentPage{
		frame: f, Inc: inc, Headline: present.Headline(inc), State: present.State(inc),
		Level: string(present.LevelOf(inc)), Tag: tag(inc), Mark: present.Mark(inc),
		Links: h.links(c, inc), Status: f.Say(present.Status(inc)),
		Config: inc.Said.Config, Summary: f.summary(inc), Ask: h.ask(f, inc),
		Charts: f.charts(past, events, over), ChartNote: chartNote,
		Made: f.made(inc, h.rollbacks(inc)), Groups: f.groups(inc.Readings), Unused: unusedTitles(inc.Readings),
		Breakdowns: breakdowns(inc),
		Considered: considered(inc.Others), Alerts: f.alerts(inc), NotKept: present.Capital(present.NotKept(inc)),
		Events: f.timeline(inc), Stale: present.Stale(inc),
		Outdated: present.Outdated(inc), OtherCause: present.OtherCause(inc),
	}
	if remark := present.Remark(inc); present.Plain(remark) != "" {
		p.Remark = f.Say(remark)
	}
	if len(p.Charts) > 0 {
		p.Marks = f.numbered(p.Charts, events)
	}
	if d := inc.Diagnosis; d != nil {
		p.Cause, p.AsDiagnosed = present.Cause(d.Summary), present.AsDiagnosed(inc)
		p.More = strings.TrimSpace(strings.TrimPrefix(present.Line(d.Summary), p.Cause))
		p.Numbers, p.Rules, p.Doubts = h.numbers(inc), conditions(inc), doubts(inc)
		p.WhyPods, p.Differ = present.WhyPods(inc)
		p.LastLineOf, p.LastLine = present.LastLine(inc)
	}
	if now, ok := present.DoNowFor(inc); ok && p.Ask == nil {
		p.DoNow = &now
	}
	for _, s := range inc.AppliedEarlier {
		p.Earlier = append(p.Earlier, f.step(inc, s))
	}
	for _, s := range present.Planned(inc) {
		p.Steps = append(p.Steps, f.step(inc, s))
	}
	if p.Ask != nil && h.deps.Links.Message != nil {
		p.Ask.Slack = external(h.deps.Links.Message(c.Request().Context(), inc))
	}
	return p
}

// links lead to where else the incident is shown.
func (h *Handler) links(c echo.Context, inc incident.Incident) []link {
	var out []link
	add := func(address, text string) {
		if address = external(address); address != "" {
			out = append(out, link{address, text})
		}
	}
	l := h.deps.Links
	if l.Message != nil {
		add(l.Message(c.Request().Context(), inc), "Slack message")
	}
	if l.Runbook != nil {
		if address := l.Runbook(present.CauseOf(inc)); strings.HasPrefix(address, "/") {
			out = append(out, link{address, "Runbook"})
		} else {
			add(address, "Runbook")
		}
	}
	r, ok := present.Drawn(inc, func(r incident.Reading) bool { return r.Query != "" && drawable(r) })
	if !ok {
		r, ok = present.Worst(inc)
	}
	if ok {
		add(present.QueryURLOf(inc, l.PrometheusURL, r.Query), r.Label()+" in Prometheus")
	}
	add(l.Elsewhere.GrafanaURL(inc), "Grafana")
	add(l.Elsewhere.SilenceURL(inc), "Silence in Alertmanager")
	return append(out, link{"/api/v1/incidents/" + url.PathEscape(inc.ID), "JSON"})
}

// external is an address of a web page as it is; anything else is none. html/template would replace it, and a link that
// leads nowhere is worse than no link.
func external(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return ""
	}
	return raw
}

// summary is what somebody wants to know who comes to the incident: how bad, how long, why, what was done, by whom, and
// what came of it.
func (f frame) summary(inc incident.Incident) []fact {
	var out []fact
	add := func(name string, text ...piece) {
		if len(text) > 0 && (text[0].Text != "" || text[0].At != nil) {
			out = append(out, fact{name, text})
		}
	}
	say := func(name, text string) { add(name, piece{Text: text}) }
	if cause := present.CauseOf(inc); cause.Summary != "" {
		say("Cause", present.Cause(cause.Summary))
		if took := inc.DiagnosedAt.Sub(inc.OpenedAt); !inc.DiagnosedAt.IsZero() && took >= 0 {
			say("Diagnosed", "after "+incident.FormatDuration(took))
		}
	}
	done := 0
	for _, m := range present.History(inc) {
		name := "Done"
		if done++; done > 1 {
			name = ""
		}
		add(name, f.Say(present.Made(inc, m))...)
	}
	if done == 0 && inc.State == incident.StateClosed {
		say("Done", "Nothing was changed.")
	}
	say("Still in place", present.InPlace(inc))
	if inc.State == incident.StateClosed {
		say("Result", present.Capital(present.News(inc))+".")
	}
	took := f.Now.Sub(inc.OpenedAt)
	if !inc.ClosedAt.IsZero() {
		took = inc.ClosedAt.Sub(inc.OpenedAt)
	}
	say("Duration", incident.FormatDuration(took))
	if inc.AckedBy != nil {
		say("Acknowledged by", f.Person(*inc.AckedBy))
	}
	return out
}

// number is one reading that decided, with what it was compared with.
type number struct {
	Label, Seen, Expected, URL string
	Bad                        bool
}

// numbers are the readings that decided, each with its query. The rule itself is folded away.
func (h *Handler) numbers(inc incident.Incident) []number {
	var out []number
	for _, d := range present.Decisive(inc) {
		out = append(out, number{
			Label: d.Subject, Seen: d.Seen, Expected: d.Expected, Bad: d.Bad,
			URL: external(present.QueryURLOf(inc, h.deps.Links.PrometheusURL, inc.Readings[d.Signal].Query)),
		})
	}
	return out
}

// alertRow is an alert with where it comes from.
type alertRow struct {
	Name, Severity, State, Where, Summary, URL string
	Since                                      *moment
}

func (f frame) alerts(inc incident.Incident) []alertRow {
	out := make([]alertRow, 0, len(inc.Alerts))
	for _, a := range inc.Alerts {
		row := alertRow{
			Name: a.Name(), Severity: a.Labels["severity"], State: "resolved", Since: f.When(a.StartsAt),
			Where:   cmp.Or(a.Labels["pod"], a.Labels["instance"]),
			Summary: cmp.Or(a.Annotations["summary"], a.Annotations["description"]), URL: external(a.GeneratorURL),
		}
		if a.Firing {
			row.State = "firing"
		}
		out = append(out, row)
	}
	return out
}

// Tab is the page's title in the browser's tab.
func (f frame) Tab() string { return fmt.Sprintf("%s · vllm-medic", f.Title) }
