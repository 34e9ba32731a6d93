package playbooks

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Catalog is everything that Load read: signals, profiles and playbooks. It does not change and is safe for concurrent
// use.
type Catalog struct {
	window    time.Duration // of rates
	signals   []incident.Signal
	targets   map[string]string // signal -> the field of the SLO that is its target
	byName    map[string]incident.Signal
	picks     map[string]bool // signals whose value is that of one pod, the highest or the lowest
	facts     map[string]factSource
	ratios    map[string]ratio
	peers     map[string]peers
	versions  map[string]versionPick
	sides     map[string]rolePick
	last      map[string]lastOf
	profiles  []incident.SLO
	playbooks []*playbook
	diagnoses []*diagnosis // by rank, then in the order of the files
}

// Playbook describes one playbook for listings.
type Playbook struct {
	Name  string
	Title string
	// Doc is the path of its page, for example "docs/playbooks/high-ttft.md"; empty when it has none.
	Doc string
	// Alerts are the alert names that it answers.
	Alerts []string
	// Diagnoses are the names of its own diagnoses and then of those of other playbooks that it also weighs.
	Diagnoses []string
}

// Playbooks lists the playbooks in the order in which they were loaded.
func (c *Catalog) Playbooks() []Playbook {
	out := make([]Playbook, 0, len(c.playbooks))
	for _, p := range c.playbooks {
		out = append(out,
			Playbook{Name: p.name, Title: p.title, Doc: p.doc, Alerts: slices.Clone(p.alerts), Diagnoses: p.reach()})
	}
	return out
}

// ProfileNames are the names of the built-in and loaded sets of targets.
func (c *Catalog) ProfileNames() []string {
	out := make([]string, len(c.profiles))
	for i, p := range c.profiles {
		out[i] = p.Profile
	}
	return out
}

// Profile returns a built-in or loaded set of targets by name. False when there is not one of that name.
func (c *Catalog) Profile(name string) (incident.SLO, bool) {
	for _, p := range c.profiles {
		if p.Profile == name {
			return p, true
		}
	}
	return incident.SLO{}, false
}

// Signals lists what must be read for alerts of these names: every signal of every diagnosis and recovery rule that can
// matter. A name that no playbook answers, and no name at all, ask for every playbook. Each signal is there once, in
// the order of the catalog.
func (c *Catalog) Signals(alertNames []string) []incident.Signal {
	wanted := c.selection(alertNames, incident.SLO{TTFT: 1, TPOT: 1, QueueTime: 1, E2E: 1}).signals()
	for name := range c.targets { // recovery asks all of them
		wanted[name] = true
	}
	// What a step costs is told from these, whatever the cause.
	for _, name := range []string{
		incident.SignalArrivals, incident.SignalFinished, incident.SignalRunning, incident.SignalAbandoned,
		incident.SignalRejected,
	} {
		wanted[name] = true
	}
	for name := range maps.Clone(wanted) {
		for _, source := range c.sources(name) {
			wanted[source] = true
		}
		if c.facts[name].name == factVersions {
			wanted[incident.SignalRunning] = true // by which the pods that serve are known
		}
	}
	return slices.DeleteFunc(c.AllSignals(), func(s incident.Signal) bool { return !wanted[s.Name] })
}

// Rule is the rule of a diagnosis as it is written; empty when there is not one of that name.
func (c *Catalog) Rule(name string) string {
	for _, d := range c.diagnoses {
		if d.name == name {
			return d.when.text
		}
	}
	return ""
}

// Label is what people call a signal: "TTFT p95"; its name where there is not one of that name.
func (c *Catalog) Label(signal string) string { return cmp.Or(c.byName[signal].Label(), signal) }

// AllSignals lists every signal of the catalog that is read from Prometheus, used by a playbook or not.
func (c *Catalog) AllSignals() []incident.Signal {
	return slices.DeleteFunc(slices.Clone(c.signals), func(s incident.Signal) bool { return s.Query == "" })
}

// playbook is a loaded playbook.
type playbook struct {
	name      string
	title     string
	doc       string
	alerts    []string
	healthy   []healthy
	never     []never
	reads     []string
	also      []*diagnosis
	diagnoses []*diagnosis
}

func (p *playbook) reach() []string {
	names := make([]string, 0, len(p.diagnoses)+len(p.also))
	for _, d := range p.diagnoses {
		names = append(names, d.name)
	}
	for _, d := range p.also {
		names = append(names, d.name)
	}
	return names
}

// diagnosis is a loaded diagnosis. It belongs to one playbook; others may weigh it too.
type diagnosis struct {
	name     string
	owner    *playbook
	rank     int
	summary  string
	when     *rule
	inDoubt  *rule // when it may be the cause, and nobody can tell; may be nil
	explains []string
	always   bool
	own      bool // only for alerts that its playbook answers
	// ownTarget is the target for which own doesn't count where the pool sets it itself; empty: none.
	ownTarget string
	never     []never
	noAction  string
	steps     []step
	// headline, affected and compare are what is said of it beside the summary; level is that of incident.Diagnosis.
	headline []string
	affected []string
	compare  []compared
	level    string
	at       strictyaml.Value
}

// acts says whether the diagnosis asks for a change or for a person.
func (d *diagnosis) acts() bool { return len(d.steps) > 0 }

// healthy is one condition of recovery: the rule, or the other rule under which it does not matter.
type healthy struct {
	rule *rule
	or   *rule // may be nil
}

// step is one step with the rule under which it is proposed; nil means always.
type step struct {
	request   incident.StepRequest
	condition *rule
	// times is the signal that says how many times the present value the load needs; empty: the step says it alone.
	times string
	// of is the signal that says what a factor multiplies where it is less than the present value; empty: nothing does.
	of string
}

// never is a change that would make it worse.
type never struct {
	knob   string
	change change
	why    string
	except []string // the steps that may cost it all the same
}
