package playbooks

import (
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Kept is evidence of the past, which may have been read for other playbooks.
type Kept struct {
	Input
	// Asked says by the names of the signals with which question each was read (incident.Signal.Fingerprint). Nil: that is
	// not known, and a reading counts for the signal of its name.
	Asked map[string]string
	// NoCluster says that what was read of the cluster was not kept.
	NoCluster bool
}

// Replayed is what the playbooks say of evidence of the past. What they ask for and was not read then is undecided.
type Replayed struct {
	Result
	// NotRead says why there is no reading of signals that matter for these alerts.
	NotRead map[string]string
	// Possible are the diagnoses that could have come out instead, had these signals been read.
	Possible []Possible
	// Open are the steps of the diagnosis whose own condition asks for such a signal.
	Open []OpenStep
}

// Possible is a diagnosis that signals which were not read leave open.
type Possible struct {
	Name    string
	Missing []string
}

// OpenStep is a step that signals which were not read leave open.
type OpenStep struct {
	Request incident.StepRequest
	Missing []string
}

// Replay is Diagnose for evidence of the past.
func (c *Catalog) Replay(k Kept) Replayed {
	sel := c.selection(alertNames(k.Alerts), k.Pool.SLO)
	out := Replayed{NotRead: c.restore(&k, sel)}
	out.Result = c.Diagnose(k.Input)
	f := c.factsOf(k.Evidence, k.Pool.SLO)
	lacks := func(a answer) []string {
		return slices.DeleteFunc(a.missing(), func(name string) bool { return out.NotRead[name] == "" })
	}
	verdicts := make([]verdict, len(sel.diagnoses))
	for n, d := range sel.diagnoses {
		verdicts[n] = verdict{diagnosis: d, answer: d.when.ask(f)}
	}
	out.Possible = possible(verdicts, sel, lacks)
	if chosen := choose(verdicts, sel); chosen != nil {
		for _, s := range chosen.diagnosis.steps {
			if s.condition == nil {
				continue
			}
			if missing := lacks(s.condition.ask(f)); len(missing) > 0 {
				out.Open = append(out.Open, OpenStep{Request: s.request, Missing: missing})
			}
		}
	}
	return out
}

// restore leaves in the evidence what today's signals would have read, under today's names, and says of the others that
// matter why they are not there.
func (c *Catalog) restore(k *Kept, sel selection) map[string]string {
	if k.NoCluster {
		k.Evidence.Cluster = incident.Cluster{Error: "not kept"}
	}
	why := map[string]string{}
	readings := map[string]incident.Reading{}
	for _, s := range c.signals {
		if s.Query == "" {
			continue
		}
		r, had := k.Evidence.Readings[s.Name]
		asked, known := k.Asked[s.Name]
		switch {
		case !had:
			why[s.Name] = "not read then"
		case k.Asked != nil && (!known || asked != s.Fingerprint()):
			why[s.Name] = "read with another query then"
		default:
			r.Title, r.Short, r.Direction, r.Optional = s.Title, s.Short, s.Direction, s.Optional
			readings[s.Name] = r
		}
	}
	k.Evidence.Readings = readings
	for name, f := range c.facts {
		if k.NoCluster && !f.alerts {
			why[name] = "not kept"
		}
	}
	for _, s := range c.signals {
		for _, part := range c.sources(s.Name) {
			if why[part] != "" && why[s.Name] == "" {
				why[s.Name] = why[part]
			}
		}
	}
	wanted := sel.signals()
	maps.DeleteFunc(why, func(name, _ string) bool { return !wanted[name] })
	return why
}

// possible are the diagnoses that are chosen when one of those that are open for a lack of readings holds, or all do.
func possible(verdicts []verdict, sel selection, lacks func(answer) []string) []Possible {
	present := ""
	if chosen := choose(verdicts, sel); chosen != nil {
		present = chosen.diagnosis.name
	}
	missing := map[string][]string{}
	all := slices.Clone(verdicts)
	var out []Possible
	add := func(under []verdict, why []string) {
		chosen := choose(under, sel)
		if chosen == nil || chosen.diagnosis.name == present ||
			slices.ContainsFunc(out, func(p Possible) bool { return p.Name == chosen.diagnosis.name }) {
			return
		}
		if own := missing[chosen.diagnosis.name]; own != nil {
			why = own
		}
		out = append(out, Possible{Name: chosen.diagnosis.name, Missing: why})
	}
	var open []int
	for n, v := range verdicts {
		if v.answer.truth != incident.Undecided {
			continue
		}
		if why := lacks(v.answer); len(why) > 0 {
			open, missing[v.diagnosis.name] = append(open, n), why
			all[n].answer.truth = incident.True
		}
	}
	for _, n := range open {
		alone := slices.Clone(verdicts)
		alone[n].answer.truth = incident.True
		add(alone, missing[verdicts[n].diagnosis.name])
	}
	if len(open) > 1 {
		add(all, missing[verdicts[open[0]].diagnosis.name])
	}
	return out
}
