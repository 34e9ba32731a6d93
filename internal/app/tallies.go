package app

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
)

// tallyFamily is how a family is shown.
type tallyFamily struct {
	family incident.TallyFamily
	desc   *prometheus.Desc
	labels []string
	// always are the values of each label that have a sample from the start, so that a rule sees the first one that is
	// counted; nil for pools, which all have.
	always [][]string
}

// The metrics of what has happened, counted in the store. docs/operations.md says what to do about each.
var tallyFamilies = []tallyFamily{
	counted(incident.TallyOpened, "incidents_opened_total", "Incidents that were opened.", []string{labelPool}),
	counted(incident.TallyReopened, "incidents_reopened_total", "Incidents that were opened again.", []string{labelPool}),
	counted(incident.TallyClosed, "incidents_closed_total", "Incidents that were closed, by their last diagnosis.",
		[]string{labelPool, labelDiagnosis}),
	counted(incident.TallyDecisions, "decisions_total", "Decisions by where they came from.",
		[]string{"decision", "way"},
		[]string{
			incident.TallyApproved, incident.TallyDenied, incident.TallyRollback, incident.TallyKept, incident.TallyStopped,
		}, []string{incident.WaySlack, incident.WayAPI, incident.WayPolicy}),
	counted(incident.TallyRefusals, "step_refusals_total",
		"Steps that may not run, by the guardrail or the reason that refuses them.", []string{"stage", "reason"},
		[]string{incident.StageProposal, incident.StageWrite}, policy.Names()),
	counted(incident.TallyWrites, "writes_total", "Writes that ended.", []string{"knob", "op", "result"},
		knobs(), []string{string(incident.OpApply), string(incident.OpUndo)},
		[]string{
			string(incident.ResultApplied), string(incident.ResultDrift), string(incident.ResultFailed),
			string(incident.ResultDryRun), string(incident.ResultUnknown),
		}),
	counted(incident.TallyVerdicts, "verdicts_total", "Changes by what their verification found.", []string{"verdict"},
		[]string{
			string(incident.VerdictRecovered), string(incident.VerdictImproved), string(incident.VerdictUnchanged),
			string(incident.VerdictWorse), string(incident.VerdictInconclusive), string(incident.VerdictNotEnough),
		}),
	counted(incident.TallyRollbacks, "rollbacks_total", "Changes that were rolled back, by who did it.", []string{"way"},
		[]string{incident.WaySlack, incident.WayAPI, incident.WayPolicy, incident.WayBot}),
	counted(incident.TallyUnrecorded, "unrecorded_writes_total",
		"Writes of a vllm-medic on a pool's objects that this database has no record of, once per incident.",
		[]string{labelPool}),
	counted(incident.TallyToMessage, "incident_time_to_message_seconds",
		"Time from the delivery that opened an incident until its message was posted.", nil),
	counted(incident.TallyToDiagnosis, "incident_time_to_diagnosis_seconds",
		"Time from the delivery that opened an incident until its first diagnosis.", nil),
	counted(incident.TallyToDecision, "incident_time_to_decision_seconds",
		"Time from the delivery that opened an incident until its first approval or denial.", nil),
	counted(incident.TallyToRecovery, "incident_time_to_recovery_seconds",
		"Time from the delivery that opened an incident until a change was verified to have cured it.", nil),
	counted(incident.TallyToClose, "incident_time_to_close_seconds",
		"Time from the delivery that opened an incident until it was closed.", nil),
}

// The labels whose values are names that people chose.
const (
	labelPool      = "pool"
	labelDiagnosis = "diagnosis"
)

func counted(f incident.TallyFamily, name, help string, labels []string, always ...[]string) tallyFamily {
	return tallyFamily{family: f, desc: desc(name, help, labels...), labels: labels, always: always}
}

// diagnoses are the names of all diagnoses in force.
func (s *playbookSet) diagnoses() []string {
	var out []string
	for _, p := range s.inForce().Playbooks() {
		out = append(out, p.Diagnoses...)
	}
	return out
}

func knobs() []string {
	var out []string
	for _, k := range incident.AllKnobs() {
		out = append(out, string(k.Kind))
	}
	return out
}

// collectTallies shows what has been counted. A pool or a diagnosis that is not configured any more is left out.
func (m *storeMetrics) collectTallies(out chan<- prometheus.Metric, all []incident.Tallied) {
	known := map[string][]string{
		labelPool: append(m.pools(), incident.TallyNone), labelDiagnosis: append(m.diagnoses(), incident.TallyNone),
	}
	for _, f := range tallyFamilies {
		for _, s := range f.series(all, known) {
			out <- s
		}
	}
}

// series are the samples of a family: what has been counted, and 0 where nothing has.
func (f tallyFamily) series(all []incident.Tallied, known map[string][]string) []prometheus.Metric {
	rows := map[string][]incident.Tallied{}
	for _, labels := range f.fromTheStart(known) {
		rows[strings.Join(labels, "\x00")] = []incident.Tallied{{Family: f.family, Labels: labels}}
	}
	for _, t := range all {
		if t.Family == f.family && f.shows(t, known) {
			key := strings.Join(t.Labels, "\x00")
			rows[key] = append(rows[key], t)
		}
	}
	var out []prometheus.Metric
	for _, of := range rows {
		out = append(out, f.metric(of))
	}
	return out
}

// shows says whether a row has the family's labels, with names that are known.
func (f tallyFamily) shows(t incident.Tallied, known map[string][]string) bool {
	if len(t.Labels) != len(f.labels) {
		return false
	}
	for n, label := range f.labels {
		if names, bounded := known[label]; bounded && !slices.Contains(names, t.Labels[n]) {
			return false
		}
	}
	return true
}

// fromTheStart are the labels of the samples that are there when nothing has been counted.
func (f tallyFamily) fromTheStart(known map[string][]string) [][]string {
	switch {
	case len(f.labels) == 0:
		return [][]string{nil}
	case len(f.labels) == 1 && f.labels[0] == labelPool:
		return combine([][]string{known[labelPool]})
	case f.family == incident.TallyClosed:
		return combine([][]string{known[labelPool], {incident.TallyNone}})
	}
	out := combine(f.always)
	if f.family == incident.TallyDecisions { // nobody does these otherwise
		out = slices.DeleteFunc(out, func(l []string) bool {
			return l[1] == incident.WayPolicy && l[0] != incident.TallyApproved
		})
		out = append(out, []string{incident.TallyExpired, incident.WayNone})
	}
	return out
}

// combine lists every choice of one value from each list.
func combine(lists [][]string) [][]string {
	out := [][]string{nil}
	for _, values := range lists {
		var next [][]string
		for _, before := range out {
			for _, v := range values {
				next = append(next, append(slices.Clone(before), v))
			}
		}
		out = next
	}
	return out
}

// metric is the one sample, or the histogram, of rows with the same labels.
func (f tallyFamily) metric(rows []incident.Tallied) prometheus.Metric {
	labels := rows[0].Labels
	var count uint64
	var seconds float64
	for _, r := range rows {
		count += uint64(max(0, r.Count))
		seconds += r.Seconds
	}
	edges := f.family.Edges()
	if edges == nil {
		return prometheus.MustNewConstMetric(f.desc, prometheus.CounterValue, float64(count), labels...)
	}
	buckets := map[float64]uint64{}
	for _, edge := range edges {
		var below uint64
		for _, r := range rows {
			// Rows may be from a version with other edges.
			if upper(r.Edge) <= float64(edge) {
				below += uint64(max(0, r.Count))
			}
		}
		buckets[float64(edge)] = below
	}
	return prometheus.MustNewConstHistogram(f.desc, count, seconds, buckets, labels...)
}

// upper is the edge as a number.
func upper(edge int64) float64 {
	if edge == 0 {
		return math.Inf(1)
	}
	return float64(edge)
}
