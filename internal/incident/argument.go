package incident

import (
	"fmt"
	"maps"
	"math"
	"strings"
)

// StepMaxNumBatchedTokens sets how many tokens vLLM handles in one turn.
const StepMaxNumBatchedTokens StepKind = "max_num_batched_tokens" //nolint:gosec // tokens of text, no credential

// EngineArgument is one of vLLM's engine arguments that the bot may set. What bounds it from below and what it costs
// says its row in actions/engineargs.
type EngineArgument struct {
	// Kind is its name in configurations and playbooks, which is the one that vLLM's Python has.
	Kind StepKind
	// LeastDefault and MostDefault bound what can be vLLM's own value where the flag is not given. What lies outside is a
	// slip, such as 8 for 8k.
	LeastDefault, MostDefault int64
	// ChunkedPrefill says that the pool may say whether prompts are cut into chunks: the least value depends on it.
	ChunkedPrefill bool
}

// EngineArguments is the table: the configuration, the playbooks and their schemas take what has a row.
func EngineArguments() []EngineArgument {
	return []EngineArgument{
		{
			Kind: StepMaxNumBatchedTokens, ChunkedPrefill: true,
			// 256 is the smallest default (data-parallel MoE in batches), and a million is beyond every one that is known, also
			// where vLLM raises it to the model's context.
			LeastDefault: 256, MostDefault: 1 << 20,
		},
	}
}

// Flag is the argument on vLLM's command line, without the dashes that it begins with.
func (a EngineArgument) Flag() string { return strings.ReplaceAll(string(a.Kind), "_", "-") }

// knob is the argument as a knob. vLLM reads its arguments only at the start of a pod.
func (a EngineArgument) knob() Knob {
	return Knob{
		Kind: a.Kind, Raises: true, Lowers: true, Restarts: true, RollsOut: true,
		Does: fmt.Sprintf("Changes vLLM's --%s, which restarts the pods.", a.Flag()),
		Title: func(r StepRequest) string {
			if r.Now > 0 {
				return fmt.Sprintf("Set %s from %s to %s", a.Kind, FormatValue(r.Now, UnitCount),
					FormatValue(math.Floor(r.Now*r.Factor), UnitCount))
			}
			return fmt.Sprintf("Set %s to %.0f%% of its value", a.Kind, r.Factor*100)
		},
		Doing: func(r StepRequest) string {
			if r.Factor < 1 {
				return "lowering " + string(a.Kind)
			}
			return "raising " + string(a.Kind)
		},
		Verb: func(Step) string { return "Set " + string(a.Kind) },
		has:  func(k Knobs) bool { return k.Argument(a.Kind) != nil },
		limits: func(k Knobs) IntKnob {
			own := k.Argument(a.Kind)
			return IntKnob{Min: own.Min, Max: own.Max, MaxStep: own.MaxStep}
		},
		bounds: func(k Knobs) string {
			own := k.Argument(a.Kind)
			text := fmt.Sprintf("%s %d to %d", a.Kind, own.Min, own.Max)
			if own.Default > 0 {
				text += fmt.Sprintf(" (%d where the flag is not given)", own.Default)
			}
			return text
		},
		without: func(k *Knobs) {
			k.Arguments = maps.Clone(k.Arguments) // the pool keeps its own
			delete(k.Arguments, a.Kind)
		},
	}
}

// ArgumentKnobs are the settings of a pool for engine arguments.
type ArgumentKnobs map[StepKind]*ArgumentKnob

// Keys are all that can be set, for files.
func (ArgumentKnobs) Keys() []string {
	var out []string
	for _, a := range EngineArguments() {
		out = append(out, string(a.Kind))
	}
	return out
}

// ArgumentKnob bounds one engine argument. MaxStep bounds how far one step may go (0: no bound of its own).
type ArgumentKnob struct {
	Min     int64 `json:"min"`
	Max     int64 `json:"max"`
	MaxStep int64 `json:"max_step,omitempty"`
	// Default is what the engine uses when the flag is not given; 0: not known, so an absent flag is not turned.
	Default int64 `json:"default,omitempty"`
	// ChunkedPrefill says whether the engine cuts prompts into chunks where no flag says it; nil: not known.
	ChunkedPrefill *bool `json:"chunked_prefill,omitempty"`
}

// Argument is the pool's setting of an engine argument; nil where it has none.
func (k Knobs) Argument(kind StepKind) *ArgumentKnob { return k.Arguments[kind] }
