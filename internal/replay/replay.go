package replay

import (
	"cmp"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Settings say what the evidence is shown to.
type Settings struct {
	Playbooks *playbooks.Catalog
	// Pools are those of a configuration, with their targets and bounds, and Policy is its policy. Without a configuration
	// Policy is nil, and what held then holds.
	Pools  []incident.Pool
	Policy *policy.Settings
}

// look is one kept investigation.
type look struct {
	incident.Snapshot

	// noCluster and noRequests say that an older version kept neither what was read of the cluster nor what the playbooks
	// asked for.
	noCluster, noRequests bool
}

// Replay replays every investigation of an incident that was kept. inc has its journal.
func (s Settings) Replay(inc incident.Incident, kept []incident.Snapshot) Incident {
	out := Incident{ID: inc.ID, Pool: inc.Pool, OpenedAt: inc.OpenedAt, Investigations: []Investigation{}}
	looks, lost := looksOf(inc, kept)
	pool, configured := s.pool(inc.Pool)
	if s.Policy != nil && !configured && inc.Pool != "" {
		out.Note = "The configuration has no pool " + inc.Pool + "; its targets of then are used."
	}
	if n := len(kept); n > 0 {
		out.LeftOut = kept[n-1].Seq - int64(n)
	}
	out.Investigations = append(out.Investigations, lost...)
	for _, l := range looks {
		p := pool
		if !configured || inc.Drill != nil { // the targets of a drill belong to its recording
			p.SLO = l.SLO
		}
		out.Investigations = append(out.Investigations, s.replay(inc, l, p, configured))
	}
	slices.SortStableFunc(out.Investigations, func(a, b Investigation) int { return a.At.Compare(b.At) })
	outcomes := make([]Outcome, len(out.Investigations))
	for n, one := range out.Investigations {
		outcomes[n] = one.Outcome
	}
	out.Outcome = Worst(outcomes)
	if len(outcomes) == 0 {
		out.Outcome, out.Note = NotKept, "No diagnosis was made."
	}
	return out
}

func (s Settings) pool(name string) (incident.Pool, bool) {
	i := slices.IndexFunc(s.Pools, func(p incident.Pool) bool { return p.Name == name })
	if i < 0 {
		return incident.Pool{Name: name}, false
	}
	return s.Pools[i], true
}

func (s Settings) replay(inc incident.Incident, l look, pool incident.Pool, configured bool) Investigation {
	got := s.Playbooks.Replay(playbooks.Kept{
		Input: playbooks.Input{
			Alerts: alertsNamed(l.Alerts), Pool: pool, Evidence: l.Evidence, PlannedFor: l.PlannedFor,
		},
		Asked: l.Asked, NoCluster: l.noCluster,
	})
	out := Investigation{
		Of: l.Of, Step: l.Step, At: l.Evidence.At,
		Then: answer(l.Diagnosis, l.Healthy), Now: new(answer(got.Diagnosis, got.Healthy)),
	}
	recovery := compareRecovery(&out, got)
	if l.Of == incident.KindVerified { // what is wrong was said before; this one says whether it is over
		out.Outcome = recovery
		out.NotRead = s.mattering(out, got)
		return out
	}
	out.Outcome = compareCause(&out, l, got)
	if out.Outcome == Same {
		w := worker{settings: s, inc: inc, then: l, pool: pool, configured: configured}
		out.Steps = w.pairs(got)
		var outcomes []Outcome
		for _, p := range out.Steps {
			outcomes = append(outcomes, p.Outcome)
		}
		out.Outcome = Worst(append(outcomes, recovery))
	}
	out.NotRead = s.mattering(out, got)
	return out
}

func alertsNamed(names []string) []incident.Alert {
	out := make([]incident.Alert, len(names))
	for n, name := range names {
		out[n] = incident.Alert{Labels: map[string]string{"alertname": name}}
	}
	return out
}

func answer(d *incident.Diagnosis, healthy incident.Truth) Answer {
	if d == nil {
		return Answer{Healthy: healthy}
	}
	return Answer{Diagnosis: d.Name, Summary: d.Summary, Healthy: healthy}
}

// compareCause compares the diagnoses. What would be another one only because of what was not read is undecided, and so
// is what could be another one for that reason.
func compareCause(out *Investigation, then look, now playbooks.Replayed) Outcome {
	names := []string{out.Then.Diagnosis, out.Now.Diagnosis}
	open := len(now.Possible) > 0
	for _, p := range now.Possible {
		names = append(names, p.Name)
	}
	differs := out.Then.Diagnosis != out.Now.Diagnosis
	if differs || open {
		for _, name := range names {
			if name != "" && !slices.ContainsFunc(out.Causes, func(c Cause) bool { return c.Name == name }) {
				out.Causes = append(out.Causes, Cause{Name: name, Then: sideThen(name, then), Now: sideNow(name, now)})
			}
		}
	}
	switch {
	case open:
		return Undecided
	case !differs:
		return Same
	case out.Now.Diagnosis == "":
		return NoLonger
	case out.Then.Diagnosis == "":
		return NowDiagnosed
	}
	return OtherCause
}

func sideThen(name string, l look) Side {
	if l.Diagnosis != nil && l.Diagnosis.Name == name {
		return Side{Verdict: Chosen, Conditions: l.Diagnosis.Evidence}
	}
	return among(name, l.Others)
}

func sideNow(name string, r playbooks.Replayed) Side {
	if r.Diagnosis != nil && r.Diagnosis.Name == name {
		return Side{Verdict: Chosen, Conditions: r.Diagnosis.Evidence}
	}
	out := among(name, r.Others)
	for _, p := range r.Possible {
		if p.Name == name {
			out.Verdict, out.Missing = Possible, p.Missing
		}
	}
	return out
}

func among(name string, others []incident.Other) Side {
	i := slices.IndexFunc(others, func(o incident.Other) bool { return o.Name == name })
	if i < 0 {
		return Side{Verdict: NotEvaluated}
	}
	return Side{Verdict: Verdict(others[i].Verdict), Why: others[i].Why}
}

// compareRecovery compares whether the pool counts as recovered. An older version did not keep that.
func compareRecovery(out *Investigation, now playbooks.Replayed) Outcome {
	if out.Then.Healthy == "" || out.Then.Healthy == now.Healthy {
		return Same
	}
	open := false
	for _, c := range now.Recovery {
		if c.Truth == incident.Undecided && now.NotRead[c.Signal] != "" {
			open = true
		}
		if c.Truth != incident.True {
			out.Recovery = append(out.Recovery, c)
		}
	}
	if now.Healthy == incident.True {
		out.Recovery = now.Recovery
	}
	if now.Healthy == incident.Undecided && open {
		return Undecided
	}
	return OtherRecovery
}

// mattering are the signals that were not read and on which the result rests.
func (s Settings) mattering(out Investigation, now playbooks.Replayed) []Unread {
	var names []string
	for _, c := range out.Causes {
		names = append(names, c.Now.Missing...)
	}
	for _, c := range out.Recovery {
		names = append(names, c.Signal)
	}
	for _, o := range now.Open {
		names = append(names, o.Missing...)
	}
	slices.Sort(names)
	var found []Unread
	for _, name := range slices.Compact(names) {
		if why := now.NotRead[name]; why != "" {
			found = append(found, Unread{Signal: name, Label: s.Playbooks.Label(name), Why: why})
		}
	}
	return found
}

// Sort puts the worst first, and of those the newest.
func Sort(all []Incident) {
	slices.SortStableFunc(all, func(a, b Incident) int {
		rank := func(i Incident) int { return slices.Index(Outcomes(), i.Outcome) }
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.OpenedAt.Compare(a.OpenedAt))
	})
}
