package incident

// GuardVerdict is what one guardrail says about one step.
type GuardVerdict string

// The verdicts of a guardrail.
const (
	GuardPass GuardVerdict = "pass"
	// GuardCaution lets the step run, but an approver should know the reason first: someone else may take the change back.
	GuardCaution GuardVerdict = "caution"
	GuardShrink  GuardVerdict = "shrink"
	GuardRefuse  GuardVerdict = "refuse"
)

// Guardrail is one check with its verdict and the reason that a person reads.
type Guardrail struct {
	Name    string       `json:"name"`
	Verdict GuardVerdict `json:"verdict"`
	// Cause is the reason where the bot itself knows it, Reason the same in words, as in Incident. A knob or a policy
	// gives nothing but the words.
	Cause  Reason `json:"cause,omitzero"`
	Reason string `json:"reason"`
}

// Refuses says whether the check keeps the step from running. A verdict that this version does not know does: a newer
// version wrote it.
func (g Guardrail) Refuses() bool {
	switch g.Verdict {
	case GuardPass, GuardCaution, GuardShrink:
		return false
	case GuardRefuse:
	}
	return true
}

// Refusal says why the check refuses, with a kind in any case; the zero Reason when it does not.
func (g Guardrail) Refusal() Reason {
	switch {
	case !g.Refuses():
		return Reason{}
	case g.Verdict != GuardRefuse:
		return Reason{Kind: ReasonVerdict, Check: g.Name, Given: string(g.Verdict), Text: g.Reason}
	case g.Cause.Kind != "":
		return g.Cause
	case g.Reason != "":
		return Because(g.Reason)
	}
	return Reason{Kind: ReasonCheck, Check: g.Name}
}

// Refusal is the reason of the first check that refuses; the zero Reason when none does.
func Refusal(gs []Guardrail) Reason {
	for _, g := range gs {
		if g.Refuses() {
			return g.Refusal()
		}
	}
	return Reason{}
}
