package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// Whatever two troubles meet, "no action needed" is never the answer to one that acts and that it does not bring about.
func TestADiagnosisWithoutActionNeverHidesOneThatActs(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	c := builtin(t, playbooks.Options{})
	well := calm()
	steps := map[string]int{}
	for _, tr := range troubles() {
		steps[tr.diagnosis] += len(c.Diagnose(playbooks.Input{
			Alerts: alerts(tr.alert), Pool: chat(),
			Evidence: tr.evidence(nil),
		}).Steps)
	}
	met := 0
	for _, a := range troubles() {
		for _, b := range troubles() {
			values := maps.Clone(a.readings)
			for name, v := range b.readings {
				if usual, known := well[name]; !known || usual != v {
					values[name] = v
				}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(a.alert, b.alert), Pool: chat(), Evidence: readings(values)})
			if got.Diagnosis == nil || steps[got.Diagnosis.Name] > 0 {
				continue
			}
			met++
			for _, o := range got.Others {
				if o.Verdict == incident.True && steps[o.Name] > 0 && !strings.HasPrefix(o.Why, "symptom of ") {
					t.Errorf("%s with %s: %s is chosen, and %s acts", a.diagnosis, b.diagnosis, got.Diagnosis.Name, o.Name)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no diagnosis without action was ever chosen, so nothing was looked at")
	}
}

// With one alert only, what stands in the background and leaves everything to a person may be named beside it.
func TestForOneAlertADiagnosisWithoutActionHidesNeitherWhatTurnsAKnobNorWhatTheAlertLeadsTo(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	c := builtin(t, playbooks.Options{})
	well := calm()
	steps, turns := map[string]int{}, map[string]bool{}
	for _, tr := range troubles() {
		for _, s := range c.Diagnose(playbooks.Input{
			Alerts: alerts(tr.alert), Pool: chat(),
			Evidence: tr.evidence(nil),
		}).Steps {
			steps[tr.diagnosis]++
			turns[tr.diagnosis] = turns[tr.diagnosis] || s.Kind != incident.StepManual
		}
	}
	leads := map[string][]string{}
	for _, p := range c.Playbooks() {
		for _, a := range p.Alerts {
			leads[a] = append(leads[a], p.Diagnoses...)
		}
	}
	met := 0
	for _, a := range troubles() {
		for _, b := range troubles() {
			values := maps.Clone(a.readings)
			for name, v := range b.readings {
				if usual, known := well[name]; !known || usual != v {
					values[name] = v
				}
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(a.alert), Pool: chat(), Evidence: readings(values)})
			if got.Diagnosis == nil || steps[got.Diagnosis.Name] > 0 {
				continue
			}
			met++
			for _, o := range got.Others {
				hides := turns[o.Name] || steps[o.Name] > 0 && slices.Contains(leads[a.alert], o.Name)
				if o.Verdict == incident.True && hides && !strings.HasPrefix(o.Why, "symptom of ") {
					t.Errorf("%s with %s for %s: %s is chosen, and %s acts", a.diagnosis, b.diagnosis, a.alert, got.Diagnosis.Name,
						o.Name)
				}
			}
		}
	}
	if met == 0 {
		t.Error("no diagnosis without action was ever chosen, so nothing was looked at")
	}
}
