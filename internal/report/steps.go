package report

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// aboutStep are the columns that say which steps a row is about.
func aboutStep(more ...string) []Column {
	out := []Column{{Name: "Pool", Wide: true, Pool: true}, {Name: "Cause", Wide: true}, {Name: "Step", Wide: true}}
	for _, name := range more {
		out = append(out, Column{Name: name})
	}
	return out
}

// helped are the steps that helped at least once, or of which it is not known.
func (r Report) helped() Section {
	s := Section{ID: "helped", Title: "What helped", Table: &Table{Columns: aboutStep("Helped", "Not", "Afterwards")}}
	for _, step := range r.Steps {
		if step.Helped > 0 {
			s.Table.add(step.row()...)
		}
	}
	return s
}

// neverHelped are the other steps.
func (r Report) neverHelped() Section {
	s := Section{
		ID: "not-helped", Title: "What has not helped",
		Table: &Table{Columns: aboutStep("Helped", "Not", "Afterwards")},
	}
	for _, step := range r.Steps {
		if step.Helped == 0 {
			s.Table.add(step.row()...)
		}
	}
	return s
}

func (s Step) row() []string {
	return []string{
		present.Line(s.Pool), causeText(s.Cause), s.Action, Share{s.Helped, s.Made}.text(), fmt.Sprint(s.Failed),
		s.afterwards(),
	}
}

// afterwards is what became of changes beside their verdicts.
func (c Changes) afterwards() string {
	return counts("kept", []counted{
		{c.Undone, "rolled back"},
		{c.Lifted, "reverted after recovery"},
		{c.Reverted, "reverted by someone else"},
		{c.Unsure, "outcome unknown"},
	})
}

// notWritten are approved steps that were not written.
func (r Report) notWritten() Section {
	s := Section{
		ID: "not-written", Title: "Approved, but not written",
		Table: &Table{Columns: append(aboutStep("Times"), Column{Name: "Why", Wide: true})},
	}
	for _, one := range r.Stopped {
		s.Table.add(present.Line(one.Pool), causeText(one.Cause), one.Action, fmt.Sprint(one.Count), one.Why.text())
	}
	return s
}

func (w StopWhy) text() string {
	switch w {
	case StopPaused:
		return "changes were paused"
	case StopLocked:
		return "another incident was changing the object"
	case StopDrift:
		return "the object had changed since the proposal"
	case StopDiagnosis:
		return "the diagnosis had changed, or the pool had recovered"
	case StopPlan:
		return "the step was no longer proposed"
	case StopApproval:
		return "the approval no longer counted, or the mode didn't allow writes"
	case StopUnread:
		return "a check before the write couldn't be made"
	case StopRefused:
		return "a guardrail or the API server refused it"
	}
	return string(w) // of a newer version
}

// approvals are the requests by pool, with where the decisions came from.
func (r Report) approvals() Section {
	s := Section{ID: "approvals", Title: "Approvals", Table: &Table{Columns: []Column{
		{Name: "Pool", Wide: true, Pool: true},
		{Name: "Requests"},
		{Name: "Approved"},
		{Name: "Denied"},
		{Name: "Unanswered"},
		{Name: "Withdrawn"},
		{Name: "Time to answer"},
	}}}
	for _, p := range r.Pools {
		a := p.Approvals
		if a.Requests == 0 {
			continue
		}
		expired, requests := fmt.Sprint(a.Unanswered), fmt.Sprint(a.Requests)
		if a.Partly > 0 {
			expired += fmt.Sprintf(", %d with too few", a.Partly)
		}
		if a.Open > 0 {
			requests += fmt.Sprintf(" (%d open)", a.Open)
		}
		s.Table.add(present.Line(p.Name), requests, fmt.Sprint(a.Approved), fmt.Sprint(a.Denied), expired,
			fmt.Sprint(a.Withdrawn), a.Wait.text())
	}
	var by []string
	for _, one := range r.Total.Approvals.By {
		by = append(by, fmt.Sprintf("%s %d approved and %d denied", one.text(), one.Approved, one.Denied))
	}
	if len(by) > 0 {
		s.Notes = append(s.Notes, present.Capital(strings.Join(by, ", "))+".")
	}
	if b := r.Total.Rollbacks; b.Requests > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s for a rollback: %s.", present.Counted(b.Requests, "request"),
			counts("", []counted{
				{b.RolledBack, "rolled back"},
				{b.Kept, "kept"},
				{b.Unanswered, "unanswered"},
				{b.Other, "ended otherwise"},
			})))
	}
	if len(s.Table.Rows) == 0 { // policy alone decided, if anybody
		s.Text, s.Notes, s.Table = s.Notes, nil, nil
	}
	return s
}

func (s Surface) text() string {
	switch incident.ActorKind(s.Name) {
	case incident.ActorSlack:
		return "in Slack"
	case incident.ActorKubernetes:
		return "on the command line or over the API"
	case incident.ActorPolicy:
		return "by policy"
	case incident.ActorBot, incident.ActorViewer, incident.ActorSchedule:
	}
	return "by " + present.Line(s.Name)
}

// rules are the alert rules.
func (r Report) rules() Section {
	s := Section{ID: "rules", Title: "Alert rules", Table: &Table{Columns: []Column{
		{Name: "Rule", Wide: true},
		{Name: "Incidents"},
		{Name: "Alone"},
		{Name: "Recovered on its own within " + incident.FormatDuration(Quickly)},
		{Name: "No diagnosis"},
		{Name: "Noise"},
	}}}
	for _, rule := range r.Rules {
		noise := "no"
		if len(rule.Noise) > 0 {
			noise = "yes, see above"
		} else if rule.Closed < leastNoise {
			noise = none
		}
		s.Table.add(present.Line(rule.Name), fmt.Sprint(rule.Incidents), fmt.Sprint(rule.Alone),
			Share{rule.Quick, rule.Closed}.text(), Share{rule.Unexplained, rule.Closed}.text(), noise)
	}
	for _, row := range s.Table.Rows {
		if row[len(row)-1] == none {
			s.Notes = []string{fmt.Sprintf("-: too few closed incidents to say; it takes %d.", leastNoise)}
		}
	}
	return s
}

// dryRuns are what would have been done.
func (r Report) dryRuns() Section {
	s := Section{
		ID: "dry-runs", Title: "Dry runs: what would have been done",
		Table: &Table{Columns: aboutStep("Incidents", "Dry run passed", "Recovered without it")},
	}
	for _, d := range r.DryRuns {
		action, passed := d.Action, fmt.Sprintf("%d of %d", d.Passed, d.Incidents)
		if action == "" {
			action, passed = "no step to run", none
		}
		s.Table.add(present.Line(d.Pool), causeText(d.Cause), action, fmt.Sprint(d.Incidents), passed, d.ByItself.text())
	}
	return s
}

// unrouted are alerts without a pool.
func (r Report) unrouted() Section {
	s := Section{ID: "unrouted", Title: "Alerts that led to no pool"}
	for _, name := range present.Capped(r.Unrouted, mostRows) {
		s.List = append(s.List, present.Line(name))
	}
	return s
}
