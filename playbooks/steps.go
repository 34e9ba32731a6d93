package playbooks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Bounds on what one step may ask for. They catch a slip of the pen; the pool's own bounds and guardrails decide what
// may really be done.
const (
	maxAdd         = 10
	minFactor      = 0.1
	maxFactor      = 4.0
	maxRevertAfter = strictyaml.Duration(24 * time.Hour)
	maxWarmUp      = strictyaml.Duration(2 * time.Hour)
)

// change says which way a knob is adjusted.
type change string

const (
	changeLower change = "lower"
	changeRaise change = "raise"
	changeAny   change = "any"
)

func changes() []change { return []change{changeLower, changeRaise, changeAny} }

// What a playbook can warn of beside the knobs of the bot: these are no steps, they are told to people.
const (
	knobSeqs      = "max_num_seqs"
	knobGPUMemory = "gpu_memory_utilization"
	knobRestart   = "restart"

	// Fields of every step.
	fieldUndo        = "undo"
	fieldRevertAfter = "revert_after"
	fieldWarmUp      = "warm_up"
)

// kindsOf are the knobs of a sort.
func kindsOf(sort func(incident.Knob) bool) []string {
	var out []string
	for _, k := range incident.AllKnobs() {
		if sort(k) {
			out = append(out, string(k.Kind))
		}
	}
	return out
}

// knobs are the names that a never may have.
func knobs() []string {
	out := kindsOf(func(incident.Knob) bool { return true })
	for _, name := range []string{knobSeqs, knobGPUMemory, knobRestart} {
		if !slices.Contains(out, name) { // else it has become one of the bot's
			out = append(out, name)
		}
	}
	return out
}

// restarting are the kinds of steps that restart pods.
func restarting() []string {
	return kindsOf(func(k incident.Knob) bool { return k.Restarts })
}

// way says when a step is undone. Every step of the bot's restores the fields that it touched; this says when.
type way string

const (
	wayOffer      way = "offer"       // when it made things worse or changed nothing
	wayOnRecovery way = "on_recovery" // automatically, when the pool has been healthy for revert_after
)

func ways() []way { return []way{wayOffer, wayOnRecovery} }

// effect is one change that a step makes to one knob.
type effect struct {
	knob   string
	change change
}

// effects are the changes that a step makes. Changing an engine argument also restarts pods.
func effects(s incident.StepRequest) []effect {
	knob, ok := s.Kind.Knob()
	if !ok {
		return nil
	}
	out := []effect{{string(s.Kind), directionOf(s)}}
	if knob.Restarts {
		out = append(out, effect{knobRestart, changeAny})
	}
	return out
}

func directionOf(s incident.StepRequest) change {
	if s.Add == 0 && s.Factor < 1 {
		return changeLower
	}
	return changeRaise
}

// forbids says whether a step does what must never be done.
func (n never) forbids(s incident.StepRequest) bool {
	if slices.Contains(n.except, string(s.Kind)) {
		return false
	}
	return slices.ContainsFunc(effects(s), func(e effect) bool {
		return e.knob == n.knob && (n.change == changeAny || e.change == changeAny || n.change == e.change)
	})
}

// fact is what people are told of it.
func (n never) fact() incident.Never {
	switch {
	case n.knob == knobRestart:
		return incident.Never{Change: incident.NeverRestart, Knob: "pods", Why: n.why}
	case n.change == changeAny:
		return incident.Never{Change: "change", Knob: n.knob, Why: n.why}
	}
	return incident.Never{Change: string(n.change), Knob: n.knob, Why: n.why}
}

func (l *loader) nevers(at strictyaml.Value, list []neverDoc) []never {
	var out []never
	for i, doc := range list {
		entry := at.Key("never").Item(i)
		l.need(entry, "why", doc.Why)
		n := never{
			knob:   oneOf(l, entry, "knob", doc.Knob, knobs()),
			change: oneOf(l, entry, "change", change(doc.Change), changes()),
			why:    strings.TrimSpace(doc.Why),
			except: l.repeated(entry, "except", doc.Except),
		}
		for j, name := range doc.Except {
			if n.knob != knobRestart || !slices.Contains(restarting(), name) {
				l.add(entry.Key("except").Item(j).Problem(
					"except: only restart has exceptions, and only %s is a step that restarts pods",
					strings.Join(restarting(), " or "),
				))
			}
		}
		out = append(out, n)
	}
	return out
}

func (l *loader) steps(at strictyaml.Value, d *diagnosis, list []stepDoc) []step {
	var out []step
	seen := map[incident.StepKind]bool{}
	for i, doc := range list {
		entry := at.Key("steps").Item(i)
		request, field, ok := l.step(entry, doc)
		if !ok {
			continue
		}
		if request.Kind != incident.StepManual && seen[request.Kind] {
			l.add(entry.Problem("the diagnosis has a %s step already; one step turns a knob once", request.Kind))
		}
		seen[request.Kind] = true
		for _, n := range slices.Concat(d.never, d.owner.never) {
			if n.forbids(request) {
				l.add(entry.Key(field).Problem("the step does what never says not to do: %s", n.fact()))
			}
		}
		out = append(out, l.sizing(entry.Key(field), doc, step{request: request, condition: l.rule(entry.Key("if"), doc.If)}))
	}
	return out
}

// step reads one step. Field is the key that names its kind.
func (l *loader) step(at strictyaml.Value, doc stepDoc) (out incident.StepRequest, field string, ok bool) {
	asked := doc.requests()
	if len(asked) != 1 {
		var kinds []string
		for _, r := range asked {
			kinds = append(kinds, string(r.Kind))
		}
		if len(kinds) > 1 {
			l.add(at.Problem("one step is one of %s; this one is %s",
				strings.Join(stepFields(), ", "), strings.Join(kinds, " and ")))
		} else {
			l.missing(at, "the step must be one of %s", strings.Join(stepFields(), ", "))
		}
		return out, "", false
	}
	out = asked[0]
	field = string(out.Kind)
	before := len(l.problems)
	out.Why = strings.TrimSpace(doc.Why)
	out.RevertAfter = l.bounded(at, fieldRevertAfter, doc.RevertAfter, maxRevertAfter)
	out.WarmUp = l.bounded(at, fieldWarmUp, doc.WarmUp, maxWarmUp)
	knob, runs := out.Kind.Knob()
	switch {
	case !runs:
		l.manual(at, field, doc)
	case knob.Adds:
		l.addend(at.Key(field), field, out.Add)
	default:
		l.factor(at.Key(field), knob, out.Factor)
	}
	if runs {
		l.need(at, "why", out.Why)
		l.undo(at, knob, doc)
	}
	if limit := l.opts.MaxWarmUp; limit > 0 {
		out.WarmUp = min(out.WarmUp, limit)
	}
	return out, field, len(l.problems) == before
}

// undo reports a step that does not say when it is undone.
func (l *loader) undo(at strictyaml.Value, knob incident.Knob, doc stepDoc) {
	if doc.Undo == "" {
		l.missing(at.Key(fieldUndo), "undo is missing: write offer (when it made things worse or changed nothing) "+
			"or on_recovery (automatically, after revert_after)")
		return
	}
	if doc.Undo == "lift" {
		l.add(at.Key(fieldUndo).Problem("undo: lift is now called on_recovery"))
		return
	}
	switch oneOf(l, at, fieldUndo, way(doc.Undo), ways()) {
	case wayOnRecovery:
		if knob.Restarts {
			l.add(at.Key(fieldUndo).Problem("%s cannot be undone on recovery: that would restart the pods again", knob.Kind))
		} else if doc.RevertAfter == nil {
			l.missing(at.Key(fieldRevertAfter), "revert_after is missing: with undo: on_recovery it says how long the pool "+
				"must be healthy first")
		}
	case wayOffer:
		if doc.RevertAfter != nil {
			l.add(at.Key(fieldRevertAfter).Problem("revert_after goes with undo: on_recovery"))
		}
	}
}

func stepFields() []string {
	var out []string
	for _, k := range incident.StepKinds() {
		out = append(out, string(k))
	}
	return out
}

// requests are the kinds of steps that a step names, each with what it asks for.
func (d stepDoc) requests() []incident.StepRequest {
	var out []incident.StepRequest
	for _, k := range incident.AllKnobs() {
		if doc := d.Adds[k.Kind]; doc != nil {
			out = append(out, incident.StepRequest{Kind: k.Kind, Add: doc.Add})
		}
		if doc := d.Factors[k.Kind]; doc != nil {
			out = append(out, incident.StepRequest{Kind: k.Kind, Factor: doc.Factor})
		}
	}
	if d.Manual != nil {
		out = append(out, incident.StepRequest{
			Kind: incident.StepManual, Advice: strings.TrimSpace(d.Manual.Advice), Commands: slices.Clone(d.Manual.Commands),
		})
	}
	return out
}

// factor reports a factor by which the knob cannot be multiplied.
func (l *loader) factor(at strictyaml.Value, knob incident.Knob, factor float64) {
	switch {
	case !knob.Raises && !(factor >= minFactor && factor < 1):
		l.add(at.Key("factor").Problem("%s: the factor %g is not between %g and 1; it multiplies the limit",
			knob.Kind, factor, minFactor))
	case !(factor >= minFactor && factor <= maxFactor) || factor == 1:
		l.add(at.Key("factor").Problem("%s: the factor %g is not between %g and %g, or changes nothing",
			knob.Kind, factor, minFactor, maxFactor))
	}
}

// sizing adds the signal that a step is sized by.
func (l *loader) sizing(at strictyaml.Value, doc stepDoc, s step) step {
	if add := doc.Adds[s.request.Kind]; add != nil && add.Times != "" {
		s.times = l.size(at, "times", add.Times, incident.UnitRatio, "a ratio")
	}
	if by := doc.Factors[s.request.Kind]; by != nil && by.Of != "" {
		if s.request.Kind != incident.StepThrottle {
			l.add(at.Key("of").Problem("of: only a throttle is sized by what is in flight"))
		}
		s.of = l.size(at, "of", by.Of, incident.UnitCount, "a number of requests")
	}
	return s
}

// size is the name of a signal that a step is sized by, which must have the unit.
func (l *loader) size(at strictyaml.Value, field, name string, unit incident.Unit, what string) string {
	l.knownSignal(at.Key(field), name)
	if u := l.catalog.byName[name].Unit; u != "" && u != unit {
		l.add(at.Key(field).Problem("%s: %s is in %s, and not %s", field, name, u, what))
	}
	return name
}

// sized is what the step asks for with the present readings. A size that was not measured exactly is none: the step
// then does what it says alone.
func (s step) sized(f facts) incident.StepRequest {
	out := s.request
	if v, exact := f[s.times].exact(); s.times != "" && exact && v > 1 {
		out.Times = v
		out.Why += fmt.Sprintf(" Sized for the load: %s of what the pool can serve.", f[s.times].text(incident.UnitRatio))
	}
	if v, exact := f[s.of].exact(); s.of != "" && exact && v > 0 {
		out.Of = v
		out.Why += fmt.Sprintf(" Sized for the load: up to %s in flight.", f[s.of].text(incident.UnitCount))
	}
	out.Now = s.now(f)
	return out
}

// now is the present value of what the step changes, where the readings tell it exactly. Pods that serve are replicas,
// but one pod may be all that series without a label for it look like: it counts where it has only one engine.
func (s step) now(f facts) float64 {
	if s.request.Kind != incident.StepReplicas {
		v, _ := f[string(s.request.Kind)].exact()
		return v
	}
	pods, _ := f[signalPodsServing].exact()
	if engines, known := f[signalEngines].exact(); pods == 1 && (!known || engines != 1) {
		return 0
	}
	return pods
}

// The readings that tell how many replicas there are.
const (
	signalPodsServing = "pods_serving"
	signalEngines     = "engines"
)

// addend reports a number that cannot be added.
func (l *loader) addend(at strictyaml.Value, field string, add int64) {
	if add < 1 || add > maxAdd {
		l.add(at.Key("add").Problem("%s: %d is not between 1 and %d; taking capacity away cures nothing here",
			field, add, maxAdd))
	}
}

func (l *loader) manual(at strictyaml.Value, field string, doc stepDoc) {
	l.need(at.Key(field), "advice", strings.TrimSpace(doc.Manual.Advice))
	l.placeholders(at.Key(field).Key("advice"), doc.Manual.Advice)
	l.commands(at.Key(field), doc.Manual.Commands)
	for name, set := range map[string]bool{
		fieldUndo: doc.Undo != "", fieldRevertAfter: doc.RevertAfter != nil, fieldWarmUp: doc.WarmUp != nil,
	} {
		if set {
			l.add(at.Key(name).Problem("%s: the bot does not carry out manual steps", name))
		}
	}
}

func (l *loader) bounded(
	at strictyaml.Value, field string, d *strictyaml.Duration, longest strictyaml.Duration,
) time.Duration {
	if d == nil {
		return 0
	}
	if *d > longest {
		l.add(at.Key(field).Problem("%s: %s is longer than %s", field, d, longest))
	}
	return time.Duration(*d)
}
