package vllm

import (
	"slices"
	"strings"
)

// Kind is how vLLM reads the value of an argument.
type Kind int

// The kinds. The zero Kind needs a value, and nobody here reads it.
const (
	// Text is a value that is not read.
	Text Kind = iota
	// Count is a whole number.
	Count
	// ReadableCount is a whole number that may be written as 8k or 8K (human_readable_int).
	ReadableCount
	// Fraction is a share of at most 1.
	Fraction
	// Switch is on or off and needs no value.
	Switch
)

// The arguments that somebody asks for by name.
const (
	MaxNumBatchedTokens   = "max-num-batched-tokens" //nolint:gosec // tokens of text, no credential
	MaxNumSeqs            = "max-num-seqs"
	MaxNumScheduledTokens = "max-num-scheduled-tokens"
	MaxModelLen           = "max-model-len"
	EnableChunkedPrefill  = "enable-chunked-prefill"
)

// speculativeConfig holds the arguments of the draft model, whose names are those of the engine's own.
const speculativeConfig = "speculative-config"

// Argument is one of vLLM's engine arguments that is read, or that is known to need a value.
type Argument struct {
	// Name is the flag's name without its leading dashes, and with dashes inside.
	Name string
	// Short is the other name, with its dash; empty when there is none.
	Short string
	Kind  Kind
	// Auto says that vLLM takes "auto" and -1 for "not set".
	Auto bool
	// Shared says that other servers have the flag as well, SGLang above all: it proves nothing.
	Shared bool
	// Harmless says that its value is no secret, so that people may be shown it.
	Harmless bool
}

// Key is the argument's name as vLLM's Python and the rules of playbooks write it: max_num_seqs.
func (a Argument) Key() string { return strings.ReplaceAll(a.Name, "-", "_") }

// number says whether the value is a number that is read.
func (a Argument) number() bool {
	return a.Kind == Count || a.Kind == ReadableCount || a.Kind == Fraction
}

// arguments is the table: a row makes an argument known to everybody who reads command lines. Source:
// vllm/engine/arg_utils.py.
var arguments = []Argument{
	{Name: MaxNumSeqs, Kind: Count, Harmless: true},
	{Name: MaxNumBatchedTokens, Kind: ReadableCount, Harmless: true},
	{Name: MaxNumScheduledTokens, Kind: ReadableCount},
	{Name: MaxModelLen, Kind: ReadableCount, Auto: true, Harmless: true},
	{Name: "gpu-memory-utilization", Kind: Fraction, Harmless: true},
	{Name: "tensor-parallel-size", Short: "-tp", Kind: Count, Shared: true, Harmless: true},
	{Name: "data-parallel-size", Short: "-dp", Kind: Count, Shared: true, Harmless: true},
	{Name: EnableChunkedPrefill, Kind: Switch, Harmless: true},
	{Name: "enable-prefix-caching", Kind: Switch, Harmless: true},

	{Name: "api-key", Shared: true},
	{Name: "block-size", Harmless: true},
	{Name: "chat-template", Shared: true},
	{Name: "data-parallel-address", Short: "-dpa"},
	{Name: "data-parallel-rank", Short: "-dpn"},
	{Name: "data-parallel-rpc-port", Short: "-dpp"},
	{Name: "data-parallel-size-local", Short: "-dpl"},
	{Name: "data-parallel-start-rank", Short: "-dpr"},
	{Name: "download-dir", Shared: true},
	{Name: "dtype", Shared: true, Harmless: true},
	{Name: "hf-token"},
	{Name: "host", Shared: true},
	{Name: "kv-cache-dtype", Shared: true, Harmless: true},
	{Name: "model", Shared: true},
	{Name: "num-speculative-tokens", Harmless: true},
	{Name: "pipeline-parallel-size", Short: "-pp", Shared: true},
	{Name: "port", Shared: true},
	{Name: "quantization", Shared: true, Harmless: true},
	{Name: "revision", Shared: true},
	{Name: "root-path", Shared: true},
	{Name: "served-model-name", Shared: true, Harmless: true},
	{Name: speculativeConfig, Short: "-sc"},
	{Name: "swap-space", Harmless: true},
	{Name: "tokenizer", Shared: true},
}

// Harmless says whether people may be shown the value of a flag, by its long name: --NAME, or --no-NAME of a switch.
func Harmless(name string) bool {
	positive, negated := strings.CutPrefix(name, "no-")
	a, _ := argument(positive)
	return a.Harmless && (!negated || a.Kind == Switch)
}

// argument finds a row by its name. An argument that is not in the table is one with a value.
func argument(name string) (a Argument, known bool) {
	i := slices.IndexFunc(arguments, func(a Argument) bool { return a.Name == name })
	if i < 0 {
		return Argument{Name: name}, false
	}
	return arguments[i], true
}

// splitFlag returns the name of a long flag with dashes, as vLLM compares it: underscores up to the first dot count
// as dashes (vllm/utils/argparse_utils.py, FlexibleArgumentParser.parse_args). name is empty when the word is no long
// flag.
func splitFlag(text string) (name, value string, joined bool) {
	if !strings.HasPrefix(text, "--") {
		return "", "", false
	}
	key, value, joined := strings.Cut(text[2:], "=")
	head, tail, dotted := strings.Cut(key, ".")
	name = strings.ReplaceAll(head, "_", "-")
	if dotted {
		name += "." + tail
	}
	return name, value, joined
}

// SplitFlag takes a word apart: the flag's long name as vLLM compares it, and its value where that is joined by "=".
// name is empty when the word is neither a long flag nor a short one of the table.
func SplitFlag(text string) (name, value string, joined bool) {
	key, value, joined := strings.Cut(text, "=")
	for _, a := range arguments {
		if a.Short != "" && a.Short == key {
			return a.Name, value, joined
		}
	}
	return splitFlag(text)
}

// abbreviates says whether argparse may take the word for this argument although the name is not written out
// (allow_abbrev): which of several flags it means then depends on the version. A name that is another flag's in full
// is that flag, whatever else begins with it.
func abbreviates(text, name string, a Argument) bool {
	switch {
	case name == a.Name || name == "no-"+a.Name || isFlag(name):
		return false
	case name != "":
		return strings.HasPrefix(a.Name, name) || a.Kind == Switch && strings.HasPrefix("no-"+a.Name, name)
	}
	key, _, _ := strings.Cut(text, "=")
	return a.Short != "" && strings.HasPrefix(key, "-") && strings.HasPrefix(a.Short, key)
}
