package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Most is a bound that bounds nothing, for asking what stands there before anything is decided.
const Most = 1 << 40

// AssumedDefault is what vLLM often uses where an argument is not given, for asking whether a knob could be adjusted if
// a person confirmed it.
const AssumedDefault = 8192

// KnobAnswer is what came of asking for a small step of a knob, as a dry run.
type KnobAnswer struct {
	Kind incident.StepKind
	// Step is the step; without one, Refused says why there is none, and Failed that nobody could say.
	Step    *incident.Step
	Refused *incident.RefusedError
	Failed  string
	// Owner says who owns the field, as far as that doesn't forbid the step.
	Owner string
	// Assumed are settings that only vLLM's log can confirm, and with which there would be a step; Worked is its
	// arithmetic. Refused is then what is said without them. Nil where they change nothing.
	Assumed *incident.ArgumentKnob
	Worked  *incident.Worked
	// Throttle is what was asked about, for a throttle.
	Throttle incident.ThrottleKnob
}

// Knob is a proposed knob: its setting, in the configuration's own form. One that can't be adjusted as things are has
// no value.
type Knob struct {
	Kind incident.StepKind
	Guess[Setting]
}

// Setting is the value of a knob's key, in the order of its fields.
type Setting []Field

// Field is one of them; Text is its value as YAML has it.
type Field struct{ Name, Text string }

func number(name string, n int64) Field { return Field{name, strconv.FormatInt(n, 10)} }

// refusal is why the step of an answer could not run; empty when it could.
func (a KnobAnswer) refusal() string {
	switch {
	case a.Failed != "":
		return "It could not be asked: " + a.Failed
	case a.Refused != nil:
		return strings.TrimSpace(sentence(a.Refused.Reason) + " " + strings.TrimSpace(a.Refused.Hint))
	case a.Step == nil:
		return "It was not asked."
	}
	for _, g := range a.Step.Guardrails {
		if g.Verdict == incident.GuardRefuse {
			return sentence(g.Reason)
		}
	}
	return ""
}

// worked is the arithmetic of the answer, also of one that is refused for its present value only; nil where there is
// none.
func (a KnobAnswer) worked() *incident.Worked {
	switch {
	case a.Step != nil:
		return a.Step.Worked
	case a.Refused != nil && a.Refused.Cause == incident.CauseNow:
		return a.Refused.Worked
	}
	return nil
}

// owner says who owns the field, and what speaks against a change.
func (a KnobAnswer) owner() string {
	if a.Step == nil {
		return ""
	}
	out := []string{sentence(a.Owner)}
	for _, g := range a.Step.Guardrails {
		if g.Verdict == incident.GuardCaution {
			out = append(out, "Caution: "+g.Reason+".")
		}
	}
	return strings.Join(out, " ")
}

// replicasKnob bounds the replicas by what stands there: not below it, and not above the autoscaler's own maximum, else
// twice as many.
func replicasKnob(a KnobAnswer) Knob {
	k := Knob{Kind: incident.StepReplicas}
	w := a.worked()
	if no := a.refusal(); w == nil || a.Step != nil && no != "" {
		k.Why = no
		return k
	}
	low, high, why := w.From, 2*w.From, "twice as many are the maximum here."
	k.Question = "Are there GPUs for that many?"
	if from, err := strconv.ParseInt(fromOf(a), 10, 64); err == nil {
		low = min(low, max(from, 1))
	}
	if w.MaxWhy != "" && w.Max < Most {
		high, why, k.Question = max(w.Max, low), "the maximum is "+w.MaxWhy+".", ""
	}
	k.Sure = true
	k.Why = fmt.Sprintf("%s now%s; %s %s", count(w.From, "replica"), standing(a), why, a.owner())
	if a.Step == nil {
		k.Why = fmt.Sprintf("%s now: %s", count(w.From, "replica"), sentence(a.Refused.Reason))
	}
	k.Value = Setting{number("min", low), number("max", high)}
	return k
}

func fromOf(a KnobAnswer) string {
	if a.Step == nil || !a.Step.From.Present {
		return ""
	}
	return a.Step.From.Text
}

// standing is " (spec.replicas of Deployment llm/llama-70b)".
func standing(a KnobAnswer) string {
	if a.Step == nil {
		return ""
	}
	return fmt.Sprintf(" (%s of %s)", a.Step.Target.Field, a.Step.Target.Object())
}

// argumentKnob bounds an engine argument by its value: from a quarter of it, or what vLLM starts with at least, to
// double.
func argumentKnob(a KnobAnswer) Knob {
	k := Knob{Kind: a.Kind}
	w := a.worked()
	switch no := a.refusal(); {
	case a.Assumed != nil && a.Worked != nil:
		return assumedKnob(a)
	case w == nil, a.Step != nil && no != "":
		k.Why = no
		return k
	}
	k.Sure, k.Value = true, aroundValue(w)
	k.Why = fmt.Sprintf("%d now%s; from a quarter of it to double.", w.From, standing(a))
	if !w.Up && w.MinWhy != "" && w.Min > w.From/4 {
		k.Why = fmt.Sprintf("%d now%s; vLLM needs at least %d, %s, and double is the maximum here.", w.From, standing(a),
			w.Min, w.MinWhy)
	}
	k.Why = strings.TrimSpace(k.Why + " A step restarts the pods. " + a.owner())
	return k
}

// assumedKnob is one that is missing a setting which vLLM logs when it starts.
func assumedKnob(a KnobAnswer) Knob {
	k := Knob{Kind: a.Kind, Guess: Guess[Setting]{Value: aroundValue(a.Worked), Why: sentence(a.Refused.Reason)}}
	var asks, sets []string
	if a.Assumed.Default > 0 {
		k.Value = append(k.Value, number("default", a.Assumed.Default))
		asks, sets = append(asks, fmt.Sprintf("which %s it uses", a.Kind)), append(sets, "default")
	}
	if a.Assumed.ChunkedPrefill != nil {
		k.Value = append(k.Value, Field{"chunked_prefill", strconv.FormatBool(*a.Assumed.ChunkedPrefill)})
		asks, sets = append(asks, "whether chunked prefill is enabled"), append(sets, "chunked_prefill")
	}
	k.Question = fmt.Sprintf("When it starts, vLLM logs %s. Is it as below? Correct %s if not.",
		strings.Join(asks, " and "), strings.Join(sets, " and "))
	return k
}

func aroundValue(w *incident.Worked) Setting {
	low := max(w.From/4, 1)
	if !w.Up {
		low = min(max(low, w.Min), w.From)
	}
	return Setting{number("min", low), number("max", 2*w.From)}
}

// throttleKnob proposes the one limit that is certain to be the pool's. Several are a question.
func throttleKnob(all []KnobAnswer) (Knob, bool) {
	if len(all) == 0 {
		return Knob{}, false
	}
	var sure []KnobAnswer
	for _, a := range all {
		if a.refusal() == "" && a.worked() != nil && !cautioned(a) {
			sure = append(sure, a)
		}
	}
	of := all[0]
	if len(sure) > 0 {
		of = sure[0]
	}
	k := Knob{Kind: incident.StepThrottle}
	k.Value = throttleSetting(of)
	switch {
	case len(sure) == 1:
		k.Sure = true
		k.Why = fmt.Sprintf("%d now%s; never above it, and not below an eighth. %s", of.worked().From, standing(of),
			of.owner())
		return k, true
	case len(sure) > 1:
		k.Why = "Several limits are in front of it."
	default:
		object := fmt.Sprintf("%s/%s (%s)", of.Throttle.Namespace, of.Throttle.Name, of.Throttle.Kind)
		if of.Step != nil {
			object = of.Step.Target.Object()
		}
		k.Why = fmt.Sprintf("%s is not certain to be this pool's alone. %s", object,
			strings.TrimSpace(of.refusal()+" "+of.owner()))
	}
	k.Question = "Which of them limits the requests to this pool?"
	if len(all) == 1 {
		k.Question = "Does it limit the requests to this pool?"
	}
	for _, a := range all {
		if a.Throttle != of.Throttle {
			k.Others = append(k.Others, throttleSetting(a))
		}
	}
	return k, true
}

func throttleSetting(a KnobAnswer) Setting {
	low, high := int64(16), int64(1024)
	if w := a.worked(); w != nil {
		low, high = max(w.From/8, 1), w.From
	}
	t := a.Throttle
	return Setting{
		{"kind", quoted(t.Kind)},
		{"namespace", quoted(t.Namespace)},
		{"name", quoted(t.Name)},
		{"field", quoted(t.Field)},
		number("min", low), number("max", high),
	}
}

func cautioned(a KnobAnswer) bool {
	return slices.ContainsFunc(a.Step.Guardrails, func(g incident.Guardrail) bool {
		return g.Verdict == incident.GuardCaution
	})
}

// sentence begins with a capital letter, as far as it begins with a word, and ends with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".?!") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
