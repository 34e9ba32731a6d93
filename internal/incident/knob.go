package incident

import (
	"fmt"
	"slices"
	"strconv"
)

// Knob describes a kind of step that the bot can run. Whoever treats the kinds differently reads it here.
type Knob struct {
	Kind StepKind
	// Adds says that a step adds to the value; else it multiplies it by a factor.
	Adds bool
	// Raises and Lowers say which ways a step may go. The undo goes the other way.
	Raises, Lowers bool
	// Restarts says that a change replaces the pods: it always needs a person, and is never undone by itself.
	Restarts bool
	// RollsOut says that pods follow a change. Of one that they do not follow, such as a traffic policy, the gateway says
	// whether it is in effect.
	RollsOut bool
	// Title says what a playbook asks for, without the live values.
	Title func(StepRequest) string
	// Doing is the change in the middle of a sentence: "adding replicas".
	Doing func(StepRequest) string
	// Verb begins the text of a button, before the values: "Scale".
	Verb func(Step) string
	// has and without look at a pool's setting of the knob, and take it away. argument is where that of an engine argument
	// is; nil for any other knob.
	has      func(Knobs) bool
	without  func(*Knobs)
	argument func(*Knobs) **ArgumentKnob
}

// AllKnobs has a row for each of them.
func AllKnobs() []Knob {
	return []Knob{
		{
			Kind: StepReplicas, Adds: true, Raises: true, RollsOut: true,
			Title: func(r StepRequest) string {
				if r.Add == 1 {
					return "Add 1 replica"
				}
				return fmt.Sprintf("Add %d replicas", r.Add)
			},
			Doing: func(StepRequest) string { return "adding replicas" },
			Verb: func(s Step) string {
				if s.Target.Setting != "" && s.Target.Setting != SettingReplicas {
					return "Raise minimum"
				}
				return "Scale"
			},
			has: func(k Knobs) bool { return k.Replicas != nil }, without: func(k *Knobs) { k.Replicas = nil },
		},
		argumentKnob(
			StepMaxNumBatchedTokens,
			func(k *Knobs) **ArgumentKnob { return &k.MaxNumBatchedTokens },
		),
		{
			Kind: StepThrottle, Lowers: true,
			Title: func(r StepRequest) string {
				return fmt.Sprintf("Throttle to %.0f%% of the present limit", r.Factor*100)
			},
			Doing: func(StepRequest) string { return "throttling" },
			Verb: func(s Step) string {
				if s.raises() {
					return "Relax rate limit"
				}
				return "Throttle"
			},
			has: func(k Knobs) bool { return k.Throttle != nil }, without: func(k *Knobs) { k.Throttle = nil },
		},
	}
}

// argumentKnob is one of vLLM's engine arguments, which is read at the start of a pod only.
func argumentKnob(kind StepKind, setting func(*Knobs) **ArgumentKnob) Knob {
	return Knob{
		Kind: kind, Raises: true, Lowers: true, Restarts: true, RollsOut: true,
		Title: func(r StepRequest) string {
			return fmt.Sprintf("Set %s to %.0f%% of its value", kind, r.Factor*100)
		},
		Doing: func(r StepRequest) string {
			if r.Factor < 1 {
				return "lowering " + string(kind)
			}
			return "raising " + string(kind)
		},
		Verb:     func(Step) string { return "Set " + string(kind) },
		argument: setting,
		has:      func(k Knobs) bool { return *setting(&k) != nil },
		without:  func(k *Knobs) { *setting(k) = nil },
	}
}

// raises says whether the step goes up.
func (s Step) raises() bool {
	from, errFrom := strconv.ParseFloat(s.From.Text, 64)
	to, errTo := strconv.ParseFloat(s.To.Text, 64)
	return errFrom == nil && errTo == nil && to > from
}

// StepKinds lists every kind.
func StepKinds() []StepKind {
	var out []StepKind
	for _, k := range AllKnobs() {
		out = append(out, k.Kind)
	}
	return append(out, StepManual)
}

// RollsOut says whether pods follow a step of this kind.
func (k StepKind) RollsOut() bool {
	knob, ok := k.Knob()
	return !ok || knob.RollsOut
}

// Knob is the description of the knob that a step of this kind adjusts; false for a kind that the bot cannot run.
func (k StepKind) Knob() (Knob, bool) {
	all := AllKnobs()
	i := slices.IndexFunc(all, func(one Knob) bool { return one.Kind == k })
	if i < 0 {
		return Knob{}, false
	}
	return all[i], true
}

// Has says whether the pool allows steps of a kind.
func (k Knobs) Has(kind StepKind) bool {
	knob, ok := kind.Knob()
	return ok && knob.has(k)
}

// Argument is the pool's setting of an engine argument; nil where it has none.
func (k Knobs) Argument(kind StepKind) *ArgumentKnob {
	if knob, ok := kind.Knob(); ok && knob.argument != nil {
		return *knob.argument(&k)
	}
	return nil
}

// Kinds are the kinds of steps that the pool allows.
func (k Knobs) Kinds() []StepKind {
	var out []StepKind
	for _, knob := range AllKnobs() {
		if knob.has(k) {
			out = append(out, knob.Kind)
		}
	}
	return out
}

// Without is the pool's knobs but for one.
func (k Knobs) Without(kind StepKind) Knobs {
	if knob, ok := kind.Knob(); ok {
		knob.without(&k)
	}
	return k
}

// Only is the pool's knob of one kind.
func (k Knobs) Only(kind StepKind) Knobs {
	for _, knob := range AllKnobs() {
		if knob.Kind != kind {
			knob.without(&k)
		}
	}
	return k
}

// Gateway is a mechanism that limits the requests to a pool, as the configuration names it.
type Gateway struct {
	Name string
	// Object is the kind that holds the limit, and Fields are those of its fields that may be a limit.
	Object string
	Fields []string
}

// Gateways has a row for each of them. actions/throttle adjusts them.
func Gateways() []Gateway {
	return []Gateway{
		{Name: "envoy-gateway", Object: "BackendTrafficPolicy", Fields: []string{"maxParallelRequests", "requests"}},
	}
}
