package incident

import (
	"fmt"
	"math"
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
	// Does says what a step does, for people who write a playbook.
	Does string
	// Title says what a playbook asks for, without the live values.
	Title func(StepRequest) string
	// Doing is the change in the middle of a sentence: "adding replicas".
	Doing func(StepRequest) string
	// Verb begins the text of a button, before the values: "Scale".
	Verb func(Step) string
	// has says whether a pool allows the knob, limits how far, bounds the same in words, and without takes that away.
	has     func(Knobs) bool
	limits  func(Knobs) IntKnob
	bounds  func(Knobs) string
	without func(*Knobs)
}

// AgainstLoad says that a step rejects requests or adds capacity, which is for nothing where the load has gone.
func (k Knob) AgainstLoad() bool { return k.Adds || !k.Raises }

// Asks are the signals that the guardrails look at before a step is made.
func (k Knob) Asks() []string {
	var out []string
	switch {
	case k.AgainstLoad():
		out = []string{SignalRunning, SignalWaiting, SignalLoadNow}
	case k.Restarts:
		out = []string{SignalWaiting}
	default:
		return nil
	}
	if k.Adds {
		out = append(out, SignalKVUsage)
	}
	return append(out, SignalWaitingLately, SignalTTFTLately, SignalTPOTLately, SignalPreemptionsLately, SignalKVUsageMax)
}

// AllKnobs has a row for each of them, and those of the table of engine arguments.
func AllKnobs() []Knob {
	out := []Knob{replicasKnob()}
	for _, a := range EngineArguments() {
		out = append(out, a.knob())
	}
	return append(out, throttleKnob())
}

func replicasKnob() Knob {
	return Knob{
		Kind: StepReplicas, Adds: true, Raises: true, RollsOut: true,
		Does: "Adds replicas.",
		Title: func(r StepRequest) string {
			if r.Times > 0 && r.Now >= 1 {
				least := max(math.Ceil(r.Times*r.Now), r.Now+float64(r.Add))
				serve := "serve"
				if r.Now == 1 {
					serve = "serves"
				}
				return fmt.Sprintf("Scale to at least %s replicas (%s %s now)", FormatValue(least, UnitCount),
					FormatValue(r.Now, UnitCount), serve)
			}
			// From half as much again on the estimate says more than the least that is added.
			if r.Times >= 1.5 {
				return fmt.Sprintf("Scale to at least %.1f times the replicas", r.Times)
			}
			least := ""
			if r.Times > 0 {
				least = "at least "
			}
			if r.Add == 1 {
				return "Add " + least + "1 replica"
			}
			return fmt.Sprintf("Add %s%d replicas", least, r.Add)
		},
		Doing: func(StepRequest) string { return "adding replicas" },
		Verb: func(s Step) string {
			if s.Target.Setting != "" && s.Target.Setting != SettingReplicas {
				return "Raise minimum"
			}
			return "Scale"
		},
		has:    func(k Knobs) bool { return k.Replicas != nil },
		limits: func(k Knobs) IntKnob { return *k.Replicas },
		bounds: func(k Knobs) string {
			return fmt.Sprintf("replicas %d to %d", k.Replicas.Min, k.Replicas.Max)
		},
		without: func(k *Knobs) { k.Replicas = nil },
	}
}

func throttleKnob() Knob {
	return Knob{
		Kind: StepThrottle, Lowers: true,
		Does: "Admits fewer requests.",
		Title: func(r StepRequest) string {
			if r.Of > 0 {
				return fmt.Sprintf("Throttle to %.0f parallel requests", math.Ceil(r.Of)*r.Factor)
			}
			return fmt.Sprintf("Throttle to %.0f%% of the current limit", r.Factor*100)
		},
		Doing: func(StepRequest) string { return "throttling" },
		Verb: func(s Step) string {
			if s.Raises() {
				return "Relax rate limit"
			}
			return "Throttle"
		},
		has:    func(k Knobs) bool { return k.Throttle != nil },
		limits: func(k Knobs) IntKnob { return IntKnob{Min: max(k.Throttle.Min, 1), Max: k.Throttle.Max} },
		bounds: func(k Knobs) string {
			return fmt.Sprintf("throttle %s %d to %d", k.Throttle.Field, k.Throttle.Min, k.Throttle.Max)
		},
		without: func(k *Knobs) { k.Throttle = nil },
	}
}

// Raises says whether the step goes up, also from what an absent value is taken to mean.
func (s Step) Raises() bool {
	from, errFrom := strconv.ParseFloat(s.start().Text, 64)
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

// Limits are those of the pool for steps of a kind; false where it does not allow them.
func (k Knobs) Limits(kind StepKind) (IntKnob, bool) {
	if !k.Has(kind) {
		return IntKnob{}, false
	}
	knob, _ := kind.Knob()
	return knob.limits(k), true
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

// Bounds says how far the pool allows each of its knobs, in words.
func (k Knobs) Bounds() []string {
	var out []string
	for _, knob := range AllKnobs() {
		if knob.has(k) {
			out = append(out, knob.bounds(k))
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
	// InFlight are those of the fields that limit requests at the same time, not per second.
	InFlight []string
}

// Gateways has a row for each of them. actions/throttle adjusts them.
func Gateways() []Gateway {
	return []Gateway{
		{
			Name: "envoy-gateway", Object: "BackendTrafficPolicy", Fields: []string{"maxParallelRequests", "requests"},
			InFlight: []string{"maxParallelRequests"},
		},
	}
}

// Limiting is the request as it is meant for a gateway's field: requests in flight say nothing about a limit on
// requests per second, so there the factor multiplies the limit.
func (r StepRequest) Limiting(field string) StepRequest {
	if !LimitsInFlight(field) {
		r.Of = 0
	}
	return r
}

// LimitsInFlight says whether a gateway's field limits requests at the same time, not per second.
func LimitsInFlight(field string) bool {
	return slices.ContainsFunc(Gateways(), func(g Gateway) bool { return slices.Contains(g.InFlight, field) })
}
