package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// surveyView says how much of a survey is printed.
type surveyView struct {
	// full prints more of each model: somebody named them. all folds nothing away. brief prints one line for each and no
	// more.
	full, all, brief bool
}

// printSurvey prints one line for each model, the worst first, and what is known of those in trouble.
func printSurvey(w io.Writer, s app.Survey, v surveyView) {
	say(w, "%s, data as of %s\n%s\n\n%s\n\n", count(len(s.Models), "model"), clock(s.At), healthCounts(s.Models),
		profileText(s.SLO))
	printModels(w, s.Models)
	for _, m := range s.Models {
		if v.full || m.Health.Wrong() && !v.brief {
			say(w, "\n")
			printModel(w, s, m, v)
		}
	}
	printSurveyedRules(w, s.Rules, v)
	if !v.full && len(s.Models) > 0 && s.Models[0].Health.Wrong() {
		say(w, "\nAdd the name of a model to see more of it, and --all to see everything: %s\n", cell(s.Models[0].Name))
	}
}

// profileText is "Targets of profile chat: TTFT p95 ≤ 500 ms".
func profileText(slo incident.SLO) string {
	return "Targets of profile " + slo.Profile + ": " + targetsText(slo)
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
	targets := targetsOf(all)
	head := []string{"HEALTH", "MODEL"}
	for _, c := range targets {
		head = append(head, strings.ReplaceAll(strings.ToUpper(c.Label), " LATENCY", ""))
	}
	head = append(head, "WAITING", "KV CACHE", "WHY")
	t := table{rows: [][]string{head}, tones: []tone{uncolored}, clip: []int{len(head) - 1}, own: 1}
	for _, m := range all {
		row := []string{present.HealthWord(m.Health), cell(m.Name)}
		for _, c := range targets {
			row = append(row, targetCell(m, c.Signal))
		}
		row = append(row, readingCell(m, incident.SignalWaiting), readingCell(m, incident.SignalKVUsage), whyCell(m))
		t.rows = append(t.rows, row)
		t.tones = append(t.tones, toneOf(present.LevelOfHealth(m.Health)))
	}
	t.print(w)
}

// targetsOf are the targets of the columns.
func targetsOf(all []app.SurveyedModel) []incident.Condition {
	var targets []incident.Condition
	for _, m := range all {
		if len(m.Targets) > len(targets) {
			targets = m.Targets
		}
	}
	return targets
}

// targetCell is what was measured against a target, with a mark where it is exceeded.
func targetCell(m app.SurveyedModel, signal string) string {
	if missed(m, signal) {
		return readingCell(m, signal) + " !"
	}
	return readingCell(m, signal)
}

// missed says that a target is exceeded.
func missed(m app.SurveyedModel, signal string) bool {
	return slices.ContainsFunc(m.Targets, func(c incident.Condition) bool {
		return c.Signal == signal && c.Truth == incident.False
	})
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

// whyCell is the reason in short; all of it stands below.
func whyCell(m app.SurveyedModel) string {
	text := present.WhyHealth(m.Assessment, m.Incident)
	if !m.LastSeen.IsZero() {
		text = "newest sample " + m.LastSeen.UTC().Format("15:04 UTC")
	}
	return strings.Join(strings.Fields(text), " ")
}

// printModel prints what is wrong with one model and what to do; with a full view also every reading.
func printModel(w io.Writer, s app.Survey, m app.SurveyedModel, v surveyView) {
	tint(w, bold, cell(m.Name))
	say(w, ": ")
	tintLine(w, toneOf(present.LevelOfHealth(m.Health)), present.HealthWord(m.Health))
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
	printDiagnosis(w, m.Incident, v.all)
	if noted && m.Incident.Diagnosis != nil {
		say(w, "\n  %s\n", cell(m.Note))
	}
	printByHand(w, m.Incident)
	printSkipped(w, m.Incident)
	if !v.full {
		printNotChecked(w, m.Incident)
		return
	}
	printOthers(w, m.Incident, v.all)
	printEvidence(w, m.Incident, v.all)
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
		for _, line := range present.Commands(s) {
			say(w, "       $ %s\n", line)
		}
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
