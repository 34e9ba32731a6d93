package replay

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// looksOf are the investigations of an incident that can be replayed, and those that an older version made and did not
// keep, as far as the journal knows of them.
func looksOf(inc incident.Incident, kept []incident.Snapshot) (looks []look, lost []Investigation) {
	worked := map[string]*incident.Worked{}
	for _, s := range kept {
		s.Steps = slices.Clone(s.Steps)
		for n, step := range s.Steps {
			if step.Worked != nil {
				worked[step.Digest] = step.Worked
			}
			s.Steps[n].Worked = worked[step.Digest] // a check knows only the step that it is of
		}
		looks = append(looks, look{Snapshot: s})
	}
	said := diagnosesOf(inc)
	if len(kept) > 0 {
		since := kept[0].Evidence.At
		said = slices.DeleteFunc(said, func(d told) bool { return !d.at.Before(since) })
		if kept[0].Diagnosis != nil && len(said) > 0 { // its own line: it was investigated after its turn had begun
			said = said[:len(said)-1]
		}
	} else {
		looks = append(looks, beforeWrites(inc, said)...)
		last, of := lastLook(inc)
		if of {
			looks = append(looks, last)
		}
		if of && last.Diagnosis != nil && len(said) > 0 {
			said = said[:len(said)-1]
		}
	}
	for _, d := range said {
		lost = append(lost, Investigation{
			Of: incident.KindInvestigated, At: d.at, Outcome: NotKept, Then: answer(&d.diagnosis, ""),
		})
	}
	return looks, lost
}

// told is a diagnosis that stands in the journal.
type told struct {
	at        time.Time
	diagnosis incident.Diagnosis
}

func diagnosesOf(inc incident.Incident) []told {
	var out []told
	for _, e := range inc.Journal {
		if e.Kind != incident.KindInvestigated || len(e.Data) == 0 {
			continue
		}
		var d incident.Diagnosis
		if err := json.Unmarshal(e.Data, &d); err == nil && d.Name != "" {
			out = append(out, told{e.At, d})
		}
	}
	return out
}

// beforeWrites are the checks before the writes of an incident of an older version: their readings stand beside those
// of the verification. The cluster's state of then is not known.
func beforeWrites(inc incident.Incident, said []told) []look {
	steps := slices.Clone(inc.AppliedEarlier)
	if inc.Plan != nil {
		steps = append(steps, inc.Plan.Steps...)
	}
	var out []look
	for _, s := range steps {
		if s.Verification == nil || len(s.Verification.Before) == 0 || s.AppliedAt.IsZero() {
			continue
		}
		n := len(said)
		for n > 0 && said[n-1].at.After(s.AppliedAt) {
			n--
		}
		if n == 0 {
			continue
		}
		at := s.AppliedAt
		for _, r := range s.Verification.Before {
			if !r.At.IsZero() {
				at = r.At
				break
			}
		}
		out = append(out, look{noCluster: true, noRequests: true, Snapshot: incident.Snapshot{
			Of: incident.KindClaimed, Step: s.ID, Alerts: inc.AlertNames(),
			Evidence:  incident.Evidence{At: at, Readings: s.Verification.Before, Dialect: inc.Dialect},
			Diagnosis: new(said[n-1].diagnosis), Steps: []incident.Step{s},
		}})
	}
	return out
}

// lastLook is the newest investigation of an incident of an older version, of which it holds everything but what the
// playbooks asked for. It is none when the readings are those of a verification by now, or of a pool that has
// recovered.
func lastLook(inc incident.Incident) (look, bool) {
	steps := slices.Clone(inc.AppliedEarlier)
	if inc.Plan != nil {
		steps = append(steps, inc.Plan.Steps...)
	}
	verified := slices.ContainsFunc(steps, func(s incident.Step) bool {
		return s.Verification != nil && s.Verification.At.Equal(inc.ReadAt)
	})
	if inc.ReadAt.IsZero() || verified || !inc.HealthySince.IsZero() {
		return look{}, false
	}
	out := look{noRequests: true, Snapshot: incident.Snapshot{
		Of: incident.KindInvestigated, Alerts: inc.AlertNames(), Others: inc.Others,
		Evidence: incident.Evidence{
			At: inc.ReadAt, Readings: inc.Readings, Dialect: inc.Dialect, Cluster: inc.Cluster,
			DeadAlerts: inc.DeadAlerts, Unexamined: inc.Unexamined, Versions: inc.Versions,
			PodRoles: inc.PodRoles,
		},
	}}
	// The diagnoses that were not chosen are of the newest investigation, whatever the plan rests on.
	stands := inc.Diagnosis != nil && !slices.ContainsFunc(inc.Others, func(o incident.Other) bool {
		return o.Name == inc.Diagnosis.Name
	})
	if stands {
		out.Diagnosis = inc.Diagnosis
	}
	if stands && inc.Plan != nil {
		out.Steps = inc.Plan.Steps
	}
	return out, true
}
