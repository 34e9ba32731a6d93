package incident

import "slices"

// Knob describes a kind of step that the bot can run. Whoever treats the kinds differently reads it here.
type Knob struct {
	Kind StepKind
	// Restarts says that a change replaces the pods.
	Restarts bool
	// has and without look at a pool's setting of the knob, and take it away.
	has     func(Knobs) bool
	without func(*Knobs)
}

// AllKnobs has a row for each of them.
func AllKnobs() []Knob {
	return []Knob{
		{
			Kind: StepReplicas,
			has:  func(k Knobs) bool { return k.Replicas != nil }, without: func(k *Knobs) { k.Replicas = nil },
		},
		{
			Kind: StepMaxNumBatchedTokens, Restarts: true,
			has:     func(k Knobs) bool { return k.MaxNumBatchedTokens != nil },
			without: func(k *Knobs) { k.MaxNumBatchedTokens = nil },
		},
		{
			Kind: StepThrottle,
			has:  func(k Knobs) bool { return k.Throttle != nil }, without: func(k *Knobs) { k.Throttle = nil },
		},
	}
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
