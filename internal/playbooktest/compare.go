package playbooktest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// compare says what came out otherwise than expected, in the order in which a test is written.
func compare(want expectDoc, ev incident.Evidence, got playbooks.Result) []Difference {
	var out []Difference
	differ := func(field, expected, got, why string) {
		out = append(out, Difference{Field: field, Expected: expected, Got: got, Why: why})
	}
	contains := func(field, part string, texts ...string) {
		if part != "" && !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, part) }) {
			differ(field, "..."+part+"...", cmp.Or(strings.Join(texts, "; "), "nothing"), "")
		}
	}
	contains("dialect", want.Dialect, ev.Dialect)
	for _, name := range slices.Sorted(maps.Keys(want.Readings)) {
		r, asked := got.Readings[name]
		if !asked {
			differ("readings."+name, want.Readings[name].text, "not read",
				"no playbook for these alerts uses this signal; list it under reads")
			continue
		}
		if ok, text := want.Readings[name].matches(r); !ok {
			differ("readings."+name, want.Readings[name].text, text, r.Warning)
		}
	}
	if chosen := nameOfDiagnosis(got); chosen != want.Diagnosis {
		differ("diagnosis", want.Diagnosis, chosen, reasons(want.Diagnosis, got))
	}
	for _, name := range slices.Sorted(maps.Keys(want.Others)) {
		if verdict, why := verdictOf(name, got); verdict != want.Others[name] {
			differ("others."+name, want.Others[name], verdict, why)
		}
	}
	if want.Plan != nil && !samePlan(want.Plan, got.Steps) {
		differ("plan", planText(want.Plan), planText(asDocs(want.Plan, got.Steps)), "")
	}
	for i, part := range want.Never {
		contains("never["+strconv.Itoa(i)+"]", part, nevers(got)...)
	}
	if want.Healthy != "" && want.Healthy != string(got.Healthy) {
		differ("healthy", want.Healthy, string(got.Healthy), recoveryText(got.Recovery))
	}
	contains("note", want.Note, notes(got))
	for i, part := range want.Unusual {
		contains("unusual["+strconv.Itoa(i)+"]", part, got.Unusual...)
	}
	return out
}

func nevers(got playbooks.Result) []string {
	if got.Diagnosis == nil {
		return nil
	}
	out := make([]string, len(got.Diagnosis.Never))
	for n, no := range got.Diagnosis.Never {
		out[n] = no.String()
	}
	return out
}

func nameOfDiagnosis(got playbooks.Result) string {
	if got.Diagnosis == nil {
		return none
	}
	return got.Diagnosis.Name
}

// reasons say why the expected diagnosis was not chosen and why the other one was.
func reasons(wanted string, got playbooks.Result) string {
	var parts []string
	if verdict, why := verdictOf(wanted, got); wanted != none {
		parts = append(parts, wanted+" is "+verdict+": "+why)
	}
	if d := got.Diagnosis; d != nil {
		var seen []string
		for _, c := range d.Evidence {
			if c.Truth == incident.True {
				seen = append(seen, c.Text+" ("+c.Seen+")")
			}
		}
		parts = append(parts, d.Name+" is true: "+strings.Join(seen, ", "))
	} else if text := notes(got); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// verdictOf is what the rule of a diagnosis said. The chosen one is true.
func verdictOf(name string, got playbooks.Result) (verdict, why string) {
	if got.Diagnosis != nil && got.Diagnosis.Name == name {
		return string(incident.True), "it was chosen"
	}
	for _, o := range got.Others {
		if o.Name == name {
			return string(o.Verdict), o.Why
		}
	}
	return "not evaluated", "no playbook for these alerts evaluates it; list its playbook under also"
}

func recoveryText(conditions []incident.Condition) string {
	var parts []string
	for _, c := range conditions {
		parts = append(parts, fmt.Sprintf("%s is %s (%s)", c.Text, c.Truth, c.Seen))
	}
	return strings.Join(parts, "; ")
}

func samePlan(want []planDoc, got []incident.StepRequest) bool {
	return slices.EqualFunc(want, got, func(w planDoc, g incident.StepRequest) bool {
		return w.Kind == string(g.Kind) && (w.Ask.Factor == nil || *w.Ask.Factor == g.Factor) &&
			(w.Ask.Add == nil || *w.Ask.Add == g.Add) &&
			strings.Contains(g.Advice, w.Ask.Advice)
	})
}

// asDocs writes steps as a test would, as exactly as the expectation is.
func asDocs(want []planDoc, got []incident.StepRequest) []planDoc {
	detailed := slices.ContainsFunc(want, func(w planDoc) bool { return w.Ask != askDoc{} })
	out := make([]planDoc, len(got))
	for i, s := range got {
		out[i].Kind = string(s.Kind)
		if !detailed {
			continue
		}
		if s.Factor != 0 {
			out[i].Ask.Factor = &s.Factor
		}
		if s.Add != 0 {
			out[i].Ask.Add = &s.Add
		}
		if slices.ContainsFunc(want, func(w planDoc) bool { return w.Ask.Advice != "" }) {
			out[i].Ask.Advice = s.Advice
		}
	}
	return out
}

func planText(steps []planDoc) string {
	texts := make([]string, len(steps))
	for i, s := range steps {
		texts[i] = s.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// notes is what is said around the answer: the note, and a sentence for each step that is skipped.
func notes(r playbooks.Result) string {
	parts := slices.DeleteFunc([]string{r.Note}, func(s string) bool { return s == "" })
	if r.Diagnosis != nil {
		for _, s := range r.Diagnosis.Skipped {
			parts = append(parts, "Skipped "+s+".")
		}
	}
	return strings.Join(parts, " ")
}
