package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Section is a part of a report as people read it: on a page and as Markdown it is the same.
type Section struct {
	// ID is an anchor.
	ID, Title string
	// Text are sentences, List the items of a list, each with an alert's or a pool's name as it is.
	Text []string
	List []string
	// Table is nil where there is none.
	Table *Table
	// Notes stand below the table.
	Notes []string
}

// Table is a table of texts. Left counts the rows that were left out.
type Table struct {
	Columns []Column
	Rows    [][]string
	Left    int
}

// Column is a column of a table. Names are long and may break; Pool says that its cells are names of pools.
type Column struct {
	Name       string
	Wide, Pool bool
}

// mostRows is how many rows of a table people get to read. JSON has all.
const mostRows = 20

// none is what stands where nothing is known.
const none = "-"

// Title is the headline of a report.
func (r Report) Title() string {
	title := "Incident report"
	if r.Pool != "" {
		title += " of " + present.Line(r.Pool)
	}
	return title
}

// Span is the period in words.
func (r Report) Span() string {
	const layout = "2006-01-02 15:04"
	return r.Since.UTC().Format(layout) + " to " + r.Until.UTC().Format(layout) + " UTC (" +
		incident.FormatDuration(r.Until.Sub(r.Since)) + ")"
}

// Sections are the whole report in order. What has nothing to say is left out; an empty period is one sentence.
func (r Report) Sections() []Section {
	all := []Section{r.summary()}
	if r.Empty() {
		return all
	}
	all = append(all, r.lookAt(),
		groupSection("pools", "By pool", Column{Name: "Pool", Pool: true}, r.Pools, present.Line),
		groupSection("causes", "By cause", Column{Name: "Cause"}, r.Causes, causeText), r.helped(), r.neverHelped(),
		r.notWritten(), r.approvals(), r.rules(), r.dryRuns(), r.unrouted(), definitions())
	return slices.DeleteFunc(all, func(s Section) bool {
		if s.Table != nil {
			return len(s.Table.Rows) == 0
		}
		return len(s.Text)+len(s.List) == 0
	})
}

// summary is what happened.
func (r Report) summary() Section {
	s := Section{ID: "summary", Title: "Summary"}
	t := r.Total
	if t.Incidents > 0 {
		line := fmt.Sprintf("%s on %s, %s in trouble.", present.Counted(t.Incidents, "incident"),
			present.Counted(len(r.Pools), "pool"), length(&t.Trouble))
		if t.Open > 0 {
			line += fmt.Sprintf(" %d still open.", t.Open)
		}
		s.List = append(s.List, line)
	}
	if t.ByItself.Of > 0 {
		s.List = append(s.List, t.ByItself.text()+" closed incidents recovered on their own, without a change by the bot.")
	}
	if text := t.Changes.text(); text != "" {
		s.List = append(s.List, text)
	}
	if a := t.Approvals; a.Requests > 0 {
		s.List = append(s.List, fmt.Sprintf("%s for approval: %s.", present.Counted(a.Requests, "request"), a.text()))
	}
	dry := 0
	for _, d := range r.DryRuns {
		dry += d.Incidents
	}
	if dry > 0 {
		s.List = append(s.List, present.Counted(dry, "dry run")+", counted separately below.")
	}
	s.List = append(s.List, r.pauses()...)
	if r.Empty() {
		s.Text = append(s.Text, r.nothing())
	}
	if r.Earlier > 0 {
		s.List = append(s.List, fmt.Sprintf("%s from before this period %s still open when it began; not counted here.",
			present.Counted(r.Earlier, "incident"), was(r.Earlier)))
	}
	if n := len(r.Unreadable); n > 0 {
		s.List = append(s.List, fmt.Sprintf("%s could not be read and %s not counted: %s.", present.Counted(n, "incident"),
			was(n), strings.Join(present.Capped(r.Unreadable, 3), ", ")))
	}
	if !r.KeptSince.IsZero() {
		s.List = append(s.List, "Closed incidents from before "+r.KeptSince.UTC().Format("2006-01-02")+
			" may have been removed from the store, so they're missing here.")
	}
	return s
}

// nothing says of an empty period that it is one.
func (r Report) nothing() string {
	if r.Pool != "" {
		return "No incidents of pool " + present.Line(r.Pool) + " were opened in this period. " +
			"If that's unexpected, check the name: vllm-medic incidents list --state all shows every pool with incidents."
	}
	return "No incidents were opened in this period."
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// pauses are those in force now.
func (r Report) pauses() []string {
	var out []string
	for _, p := range r.Pauses {
		scope := "all pools"
		if p.Pool != "" {
			scope = "pool " + present.Line(p.Pool)
		}
		out = append(out, fmt.Sprintf("Changes are paused for %s since %s: %s", scope,
			p.At.UTC().Format("2006-01-02 15:04 UTC"), present.Ended(present.Line(p.Reason))))
	}
	return out
}

// text says what was written and what became of it; empty when nothing was.
func (c Changes) text() string {
	if c.Made == 0 {
		return ""
	}
	since := counts("all kept", []counted{
		{c.Undone, "rolled back"},
		{c.Lifted, "reverted by the bot after recovery"},
		{c.Reverted, "reverted by someone else"},
		{c.Unsure, "with an unknown outcome"},
	})
	return fmt.Sprintf("%s made, %d verified as helping; %s.", present.Counted(c.Made, "change"), c.Helped, since)
}

// text says how the requests ended.
func (a Approvals) text() string {
	return counts("", []counted{
		{a.Approved, "approved"},
		{a.Denied, "denied"},
		{a.Unanswered, "unanswered"},
		{a.Partly, "expired with too few approvals"},
		{a.Withdrawn, "withdrawn"},
		{a.Open, "still open"},
	})
}

// counted is a number of things that ended in the same way.
type counted struct {
	n    int
	text string
}

// counts are those that are not 0: "2 rolled back, 1 kept"; nothing when all are.
func counts(nothing string, all []counted) string {
	var out []string
	for _, one := range all {
		if one.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", one.n, one.text))
		}
	}
	return cmp.Or(strings.Join(out, ", "), nothing)
}

// lookAt is what to do about it.
func (r Report) lookAt() Section {
	s := Section{ID: "look-at", Title: "What to look at"}
	for _, step := range r.Steps {
		if step.NeverHelped() {
			s.List = append(s.List, fmt.Sprintf("%s: the step \"%s\" was made %s for %s and never helped. Check whether the "+
				"playbook should propose it here, or remove the knob from the pool.", present.Line(step.Pool), step.Action,
				times(step.Made), causeText(step.Cause)))
		}
	}
	for _, p := range r.Pools {
		if a := p.Approvals; a.Unanswered+a.Partly > 0 {
			s.List = append(s.List, fmt.Sprintf("%s: %s expired. Check who approves there, or call more people with escalate.",
				present.Line(p.Name), Share{a.Unanswered + a.Partly, a.Requests}.text()+" requests for approval"))
		}
	}
	for _, rule := range r.Rules {
		for _, n := range rule.Noise {
			s.List = append(s.List, present.Line(rule.Name)+": "+rule.advice(n))
		}
	}
	if len(r.Unrouted) > 0 {
		s.List = append(s.List, present.Counted(len(r.Unrouted), "alert rule")+" led to no pool. Add the alerts' labels "+
			"to a pool's match, or don't route them to the bot.")
	}
	return s
}

// advice says why a rule is noise and what to do.
func (r Rule) advice(n Noise) string {
	switch n {
	case NoiseQuick:
		return fmt.Sprintf("of %d closed incidents, %d recovered on their own within %s. Raise the time in its for clause, "+
			"so that it fires only for what lasts.", r.Closed, r.Quick, incident.FormatDuration(Quickly))
	case NoiseUnexplained:
		return fmt.Sprintf("of %d closed incidents, %d ended without a diagnosis. Check the rule's threshold, or add a "+
			"playbook for it.", r.Closed, r.Unexplained)
	case NoiseNeverAlone:
		return fmt.Sprintf("fired in %d incidents, never without %s. Inhibit it while that rule fires, or drop it.",
			r.Incidents, present.Line(r.With))
	}
	return string(n)
}

// groupSection is the figures of pools or causes, one a row.
func groupSection(id, title string, first Column, all []Group, name func(string) string) Section {
	first.Wide = true
	s := Section{ID: id, Title: title, Text: []string{
		"Times are the median and the p90, or the longest of a few, with how many there are.",
	}, Table: &Table{Columns: []Column{
		first,
		{Name: "Incidents"},
		{Name: "In trouble"},
		{Name: "On its own"},
		{Name: "To message"},
		{Name: "To decision"},
		{Name: "To recover"},
	}}}
	dash := false
	for _, g := range all {
		count := fmt.Sprint(g.Incidents)
		if g.Open > 0 {
			count += fmt.Sprintf(" (%d open)", g.Open)
		}
		row := []string{
			name(g.Name), count, length(&g.Trouble), g.ByItself.text(), g.ToMessage.text(), g.ToDecision.text(),
			g.ToRecover.text(),
		}
		dash = dash || slices.Contains(row, none)
		s.Table.add(row...)
	}
	if dash {
		s.Notes = []string{"-: nothing to measure. No message of its own was posted in Slack, nobody had anything to " +
			"decide, or no recovery was seen."}
	}
	return s
}

func (t *Table) add(cells ...string) {
	if len(t.Rows) == mostRows {
		t.Left++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// text is "3 of 14", and with the share in percent where it means something.
func (s Share) text() string {
	const leastPercent = 20
	switch {
	case s.Of == 0:
		return none
	case s.Of < leastPercent:
		return fmt.Sprintf("%d of %d", s.N, s.Of)
	}
	return fmt.Sprintf("%d of %d (%.0f%%)", s.N, s.Of, 100*float64(s.N)/float64(s.Of))
}

// text is the median and the p90 of enough samples, else the longest, with how many there are.
func (s Spread) text() string {
	if s.Samples == 0 {
		return none
	}
	count := fmt.Sprintf(" (%d)", s.Samples)
	if s.Of > s.Samples {
		count = fmt.Sprintf(" (%d of %d)", s.Samples, s.Of)
	}
	switch {
	case s.P90 != nil:
		return length(s.Median) + ", p90 " + length(s.P90) + count
	case s.Median != nil:
		return length(s.Median) + ", longest " + length(s.Longest) + count
	}
	return "longest " + length(s.Longest) + count
}

func length(s *Seconds) string {
	if s == nil {
		return none
	}
	return incident.FormatDuration(time.Duration(*s))
}

// causeText is a diagnosis in words.
func causeText(name string) string {
	return cmp.Or(incident.CauseWords(present.Line(name)), "no diagnosis")
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
