package remediation

import (
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// snapshot is what is kept of an investigation, beside the event that came of it; nil where it found nothing new.
// before is the incident that was investigated, after what the event has made of it.
func (f *Investigation) snapshot(
	before, after incident.Incident, pool incident.Pool, ev incident.Event,
) *incident.Snapshot {
	if f == nil || !incident.KeepsSnapshot(before, after, ev) {
		return nil
	}
	r := f.Result
	out := &incident.Snapshot{
		Of: ev.Kind(), Alerts: before.AlertNames(), Asked: incident.Fingerprints(f.signals), SLO: pool.SLO,
		Knobs:  pool.Knobs.Kinds(),
		Guards: f.Guards, Evidence: f.Evidence.Slim(), Diagnosis: r.Diagnosis, Others: r.Others, Healthy: r.Healthy,
		Requests: r.Steps,
	}
	if recorded := f.Evidence.Recorded; recorded != nil {
		out.SLO = recorded.SLO
	}
	if before.Diagnosis != nil {
		out.PlannedFor = before.Diagnosis.Name
	}
	switch e := ev.(type) {
	case incident.Stopped:
		out.Step = e.Step
	case incident.WriteClaimed:
		out.Step = e.Step
	case incident.Verified:
		out.Step, out.Verdict = before.Active.Step, e.Verification.Verdict
	}
	steps := f.Steps
	if s, ok := before.Step(out.Step); ok {
		steps = []incident.Step{s}
	}
	for _, s := range steps {
		out.Steps = append(out.Steps, s.Slim())
		if n, chosen := before.Narrowing(s.Kind); chosen && n.Holds(s) {
			if out.Chosen == nil {
				out.Chosen = map[incident.StepKind]int64{}
			}
			out.Chosen[s.Kind] = n.Chosen()
		}
	}
	return out
}
