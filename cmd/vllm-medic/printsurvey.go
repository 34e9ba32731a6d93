package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// surveyView says how much of a survey is printed.
type surveyView struct {
	// full prints all that is known of each model: somebody named them. brief prints one line for each and no more.
	full, brief bool
}

// printSurvey prints one line for each model, the worst first, and what is known of those in trouble.
func printSurvey(w io.Writer, s app.Survey, v surveyView) {
	say(w, "%s, data as of %s; targets of profile %s: %s\n%s\n\n", count(len(s.Models), "model"), clock(s.At),
		s.SLO.Profile, targetsText(s.SLO), healthCounts(s.Models))
	printModels(w, s.Models)
	for _, m := range s.Models {
		if v.full || m.Health.Wrong() && !v.brief {
			say(w, "\n")
			printModel(w, s, m, v)
		}
	}
	printSurveyedRules(w, s.Rules, v)
	if !v.full && len(s.Models) > 0 && s.Models[0].Health.Wrong() {
		say(w, "\nAdd the name of a model to see everything that is known of it: %s\n", cell(s.Models[0].Name))
	}
}

// targetsText is "TTFT p95 ≤ 500 ms, TPOT p95 ≤ 50 ms".
func targetsText(slo incident.SLO) string {
	var out []string
	for _, x := range []struct {
		name  string
		value float64
	}{{"TTFT", slo.TTFT}, {"TPOT", slo.TPOT}, {"queue time", slo.QueueTime}, {"E2E", slo.E2E}} {
		if x.value > 0 {
			out = append(out, x.name+" p95 ≤ "+incident.FormatValue(x.value, incident.UnitSeconds))
		}
	}
	return strings.Join(out, ", ")
}

// healthCounts is "2 problem, 1 no data, 37 ok".
func healthCounts(all []app.SurveyedModel) string {
	var out []string
	for _, h := range incident.Healths() {
		n := 0
		for _, m := range all {
			if m.Health == h {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, present.HealthWord(h)))
		}
	}
	return strings.Join(out, ", ")
}

// printModels prints the table. Its columns are the targets, in whatever order the profile has them.
func printModels(w io.Writer, all []app.SurveyedModel) {
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	var targets []incident.Condition
	for _, m := range all {
		if len(m.Targets) > len(targets) {
			targets = m.Targets
		}
	}
	say(tw, "HEALTH\tMODEL")
	for _, c := range targets {
		say(tw, "\t%s", strings.ToUpper(c.Label))
	}
	say(tw, "\tWAITING\tKV CACHE\tWHY\n")
	for _, m := range all {
		say(tw, "%s\t%s", present.HealthWord(m.Health), cell(m.Name))
		for _, c := range targets {
			say(tw, "\t%s", targetCell(m, c.Signal))
		}
		say(tw, "\t%s\t%s\t%s\n", readingCell(m, incident.SignalWaiting), readingCell(m, incident.SignalKVUsage), whyCell(m))
	}
	_ = tw.Flush() // a strings.Builder takes everything
	for l := range strings.Lines(table.String()) {
		say(w, "%s\n", strings.TrimRight(l, " \n-"))
	}
}

// targetCell is what was measured against a target, with a mark where it is exceeded.
func targetCell(m app.SurveyedModel, signal string) string {
	i := slices.IndexFunc(m.Targets, func(c incident.Condition) bool { return c.Signal == signal })
	if i < 0 {
		return readingCell(m, signal)
	}
	if m.Targets[i].Truth == incident.False {
		return readingCell(m, signal) + " !"
	}
	return readingCell(m, signal)
}

// readingCell is a value, or that there is none; why not is said elsewhere.
func readingCell(m app.SurveyedModel, signal string) string {
	r, ok := m.Incident.Readings[signal]
	switch {
	case !ok:
		return "-"
	case r.Error != "":
		return "error"
	}
	return cell(r.Text())
}

// longestWhy is how much of a reason stands in the table; all of it stands below.
const longestWhy = 60

func whyCell(m app.SurveyedModel) string {
	text := cell(present.WhyHealth(m.Assessment, m.Incident))
	if !m.LastSeen.IsZero() {
		text = "newest sample " + m.LastSeen.UTC().Format("15:04 UTC")
	}
	if r := []rune(text); len(r) > longestWhy {
		return string(r[:longestWhy-1]) + "…"
	}
	return text
}

// printModel prints what is wrong with one model and what to do; with a full view also every reading.
func printModel(w io.Writer, s app.Survey, m app.SurveyedModel, v surveyView) {
	say(w, "%s: %s\n", cell(m.Name), present.HealthWord(m.Health))
	switch {
	case m.Health == incident.HealthNoData:
		say(w, "  %s\n", present.Gone(m.LastSeen, s.At))
	case m.Why != "":
		say(w, "  %s\n", cell(m.Why))
	}
	for _, text := range present.Because(m.Assessment, m.Incident) {
		say(w, "  %s\n", cell(text))
	}
	noted := m.Note != "" && m.Health != incident.HealthNoData
	if noted && m.Incident.Diagnosis == nil {
		say(w, "  %s\n", cell(m.Note))
	}
	printDiagnosis(w, shown(m.Incident, v))
	if noted && m.Incident.Diagnosis != nil {
		say(w, "\n  %s\n", cell(m.Note))
	}
	printByHand(w, m.Incident)
	printSkipped(w, m.Incident)
	if !v.full {
		printNotChecked(w, m.Incident)
		return
	}
	printOthers(w, m.Incident)
	if len(m.Incident.Readings) > 0 {
		say(w, "\n  readings%s\n", dialect(m.Incident))
		printReadings(w, m.Incident.Readings)
	}
}

// shown leaves out the conditions that did not matter, unless everything is to be seen: a rule can hold in several
// ways.
func shown(inc incident.Incident, v surveyView) incident.Incident {
	if v.full || inc.Diagnosis == nil {
		return inc
	}
	d := *inc.Diagnosis
	d.Evidence = slices.DeleteFunc(slices.Clone(d.Evidence), func(c incident.Condition) bool {
		return c.Truth != incident.True
	})
	inc.Diagnosis = &d
	return inc
}

// printNotChecked names the causes that only a look at the cluster would show.
func printNotChecked(w io.Writer, inc incident.Incident) {
	_, all := incident.SplitNotEvaluated(inc.Others)
	for _, n := range all {
		say(w, "\n  not checked (%s): %s\n", n.Why, incident.CauseWords(strings.Join(n.Names, ", ")))
	}
}

// printByHand prints the steps of the plan for somebody who does them without the bot.
func printByHand(w io.Writer, inc incident.Incident) {
	if inc.Plan == nil || len(inc.Plan.Steps) == 0 {
		return
	}
	say(w, "\n  manual steps\n")
	for n, s := range inc.Plan.Steps {
		say(w, "    %d. %s\n", n+1, strings.Join(nonEmpty(cell(s.Title), s.Why), ": "))
	}
}

// printSurveyedRules names the alert rules that can never fire, and where there is room says why and what to write
// instead.
func printSurveyedRules(w io.Writer, r app.SurveyedRules, v surveyView) {
	never := r.Never()
	if v.brief || v.full {
		say(w, "\nalert rules: %s\n", strings.Join(nonEmpty(r.Text, strings.Join(never, ", ")), ": "))
		return
	}
	say(w, "\nalert rules: %s\n", r.Text)
	printRules(w, r.Rules)
}
