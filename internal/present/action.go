package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// Action is what a step does, without its values: "Scale", "Throttle", "Lower max_num_batched_tokens". Steps with the
// same action are counted together.
func Action(s incident.Step) string {
	knob, ok := s.Kind.Knob()
	switch {
	case !ok:
		return "Set " + Line(string(s.Kind))
	case !knob.Raises || !knob.Lowers || !s.From.Present:
		return knob.Verb(s)
	case s.Raises():
		return "Raise " + string(s.Kind)
	}
	return "Lower " + string(s.Kind)
}

// ActionMade is Action of a change that was made.
func ActionMade(m incident.Made) string {
	return Action(incident.Step{Kind: m.Kind, Target: m.Target, From: m.From, To: m.To})
}
