package playbooks

import (
	"math"
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

// change says which way a knob is turned.
type change string

const (
	changeLower change = "lower"
	changeRaise change = "raise"
	changeAny   change = "any"
)

func changes() []change { return []change{changeLower, changeRaise, changeAny} }

// The knobs that a playbook can warn of. Only the first three can be steps; the others are told to people.
const (
	knobThrottle     = string(incident.StepThrottle)
	knobReplicas     = string(incident.StepReplicas)
	knobBatch        = string(incident.StepMaxNumBatchedTokens)
	knobSeqs         = "max_num_seqs"
	knobGPUMemory    = "gpu_memory_utilization"
	knobRestart      = "restart"
	fieldThrottle    = knobThrottle
	fieldReplicas    = knobReplicas
	fieldBatch       = knobBatch
	fieldManual      = string(incident.StepManual)
	fieldUndo        = "undo"
	fieldRevertAfter = "revert_after"
	fieldWarmUp      = "warm_up"
)

func knobs() []string {
	return []string{knobThrottle, knobReplicas, knobBatch, knobSeqs, knobGPUMemory, knobRestart}
}

// way says when a step is undone. Every step of the bot's restores the fields that it touched; this says when.
type way string

const (
	wayOffer      way = "offer"       // when it made things worse or changed nothing
	wayOnRecovery way = "on_recovery" // automatically, when the pool has been healthy for revert_after
)

func ways() []way { return []way{wayOffer, wayOnRecovery} }

// turn is one change that a step makes to one knob.
type turn struct {
	knob   string
	change change
}

// turns are the changes that a step makes. Turning an engine argument also restarts pods.
func turns(s incident.StepRequest) []turn {
	switch s.Kind {
	case incident.StepThrottle:
		return []turn{{knobThrottle, directionOf(s.Factor)}}
	case incident.StepMaxNumBatchedTokens:
		return []turn{{knobBatch, directionOf(s.Factor)}, {knobRestart, changeAny}}
	case incident.StepReplicas:
		return []turn{{knobReplicas, changeRaise}}
	case incident.StepManual:
		return nil
	default:
		return nil
	}
}

func directionOf(factor float64) change {
	if factor < 1 {
		return changeLower
	}
	return changeRaise
}

// forbids says whether a step does what must never be done.
func (n never) forbids(s incident.StepRequest) bool {
	if slices.Contains(n.except, string(s.Kind)) {
		return false
	}
	return slices.ContainsFunc(turns(s), func(t turn) bool {
		return t.knob == n.knob && (n.change == changeAny || t.change == changeAny || n.change == t.change)
	})
}

// fact is what people are told of it.
func (n never) fact() incident.Never {
	switch {
	case n.knob == knobRestart:
		return incident.Never{Change: "restart", Knob: "pods", Why: n.why}
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
			if n.knob != knobRestart || name != knobBatch {
				l.add(entry.Key("except").Item(j).Problem("except: only restart has exceptions, and only %s is a step that restarts pods", knobBatch))
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
		out = append(out, step{request: request, condition: l.rule(entry.Key("if"), doc.If)})
	}
	return out
}

// step reads one step. Field is the key that names its kind.
func (l *loader) step(at strictyaml.Value, doc stepDoc) (out incident.StepRequest, field string, ok bool) {
	kinds := kindsOf(doc)
	if len(kinds) != 1 {
		if len(kinds) > 1 {
			l.add(at.Problem("one step is one of %s; this one is %s", strings.Join(stepFields(), ", "), strings.Join(kinds, " and ")))
		} else {
			l.missing(at, "the step must be one of %s", strings.Join(stepFields(), ", "))
		}
		return out, "", false
	}
	field = kinds[0]
	before := len(l.problems)
	out = incident.StepRequest{
		Kind: incident.StepKind(field), Why: strings.TrimSpace(doc.Why),
		RevertAfter: l.bounded(at, fieldRevertAfter, doc.RevertAfter, maxRevertAfter),
		WarmUp:      l.bounded(at, fieldWarmUp, doc.WarmUp, maxWarmUp),
	}
	switch out.Kind {
	case incident.StepThrottle:
		out.Factor = doc.Throttle.Factor
		l.throttle(at.Key(field), doc.Throttle.Factor)
	case incident.StepMaxNumBatchedTokens:
		out.Factor = doc.MaxNumBatchedTokens.Factor
		l.batch(at, field, doc)
	case incident.StepReplicas:
		out.Add = doc.Replicas.Add
		l.replicas(at.Key(field), doc.Replicas.Add)
	case incident.StepManual:
		out.Advice = strings.TrimSpace(doc.Manual.Advice)
		l.manual(at, field, doc)
	}
	if out.Kind != incident.StepManual {
		l.need(at, "why", out.Why)
		l.undo(at, field, doc)
	}
	if limit := l.opts.MaxWarmUp; limit > 0 {
		out.WarmUp = min(out.WarmUp, limit)
	}
	return out, field, len(l.problems) == before
}

// undo reports a step that does not say when it is undone.
func (l *loader) undo(at strictyaml.Value, field string, doc stepDoc) {
	if doc.Undo == "" {
		l.missing(at.Key(fieldUndo), "undo is missing: write offer (when it made things worse or changed nothing) or on_recovery (automatically, after revert_after)")
		return
	}
	if doc.Undo == "lift" {
		l.add(at.Key(fieldUndo).Problem("undo: lift is now called on_recovery"))
		return
	}
	switch oneOf(l, at, fieldUndo, way(doc.Undo), ways()) {
	case wayOnRecovery:
		if field == fieldBatch {
			l.add(at.Key(fieldUndo).Problem("%s cannot be undone on recovery: that would restart the pods again", field))
		} else if doc.RevertAfter == nil {
			l.missing(at.Key(fieldRevertAfter), "revert_after is missing: with undo: on_recovery it says how long the pool must be healthy first")
		}
	case wayOffer:
		if doc.RevertAfter != nil {
			l.add(at.Key(fieldRevertAfter).Problem("revert_after goes with undo: on_recovery"))
		}
	}
}

func stepFields() []string { return []string{fieldThrottle, fieldReplicas, fieldBatch, fieldManual} }

func kindsOf(doc stepDoc) []string {
	var kinds []string
	for i, set := range []bool{doc.Throttle != nil, doc.Replicas != nil, doc.MaxNumBatchedTokens != nil, doc.Manual != nil} {
		if set {
			kinds = append(kinds, stepFields()[i])
		}
	}
	return kinds
}

func (l *loader) throttle(at strictyaml.Value, factor float64) {
	if !(factor >= minFactor && factor < 1) {
		l.add(at.Key("factor").Problem("throttle: the factor %g is not between %g and 1; it multiplies the limit", factor, minFactor))
	}
}

func (l *loader) batch(at strictyaml.Value, field string, doc stepDoc) {
	factor := doc.MaxNumBatchedTokens.Factor
	if !(factor >= minFactor && factor <= maxFactor) || factor == 1 || math.IsNaN(factor) {
		l.add(at.Key(field).Key("factor").Problem("%s: the factor %g is not between %g and %g, or changes nothing", field, factor, minFactor, maxFactor))
	}
}

func (l *loader) replicas(at strictyaml.Value, add int64) {
	if add < 1 || add > maxAdd {
		l.add(at.Key("add").Problem("replicas: %d is not between 1 and %d; taking capacity away cures nothing here", add, maxAdd))
	}
}

func (l *loader) manual(at strictyaml.Value, field string, doc stepDoc) {
	l.need(at.Key(field), "advice", strings.TrimSpace(doc.Manual.Advice))
	l.placeholders(at.Key(field).Key("advice"), doc.Manual.Advice)
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
