package engineargs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// chunkedSetting is the setting that says whether chunked prefill is on where no flag says it.
const chunkedSetting = "knobs.max_num_batched_tokens.chunked_prefill"

// tokensDefault is the setting that says what vLLM uses where the flag is not given.
const tokensDefault = "knobs.max_num_batched_tokens.default" //nolint:gosec // tokens of text

// defaultSeqs is the highest default of max_num_seqs in any version and on any GPU
// (docs/actions/max-num-batched-tokens.md lists them).
const defaultSeqs = 1024

// lowerBound is the least value of an argument with which vLLM starts, and why.
type lowerBound struct {
	value int64
	why   string
}

// leastTokens works out from the other arguments how far max_num_batched_tokens may be lowered. What is not certain is
// refused.
//
// vLLM wants at least max_num_seqs, and at least max_model_len when chunked prefill is off (vllm/config/scheduler.py,
// verify_max_model_len).
func leastTokens(from lowering) (lowerBound, error) {
	line := from.line
	for _, f := range line.Flags() {
		if hasUnknownBound(f.Name) {
			return lowerBound{}, live.Refused(
				"with %s the least value that vLLM starts with is not known; change it manually", f.Key,
			)
		}
	}
	least, err := seqsBound(line)
	if err != nil {
		return lowerBound{}, err
	}
	scheduled, set, err := givenNumber(line, vllm.MaxNumScheduledTokens)
	if err != nil {
		return lowerBound{}, err
	}
	if set && scheduled > least.value {
		least = lowerBound{scheduled, "set by --max-num-scheduled-tokens"}
	}
	length, err := lengthBound(from)
	if err != nil {
		return lowerBound{}, err
	}
	if length.value > least.value {
		return length, nil
	}
	least.why += length.why
	return least, nil
}

// possibleDefault refuses a configured default that the other arguments prove wrong: vLLM does not start with less
// than max_num_seqs, and with chunked prefill off it raises its default to max_model_len (vllm/engine/arg_utils.py).
func possibleDefault(line *vllm.CommandLine, n int64, chunked *bool) error {
	seqs, set, err := givenNumber(line, vllm.MaxNumSeqs)
	switch {
	case err != nil:
		return err
	case set && seqs > n:
		return live.Refused(
			"%s says %d, and that cannot be: vLLM does not start with less than its --max-num-seqs of %d",
			tokensDefault, n, seqs,
		)
	}
	p, err := chunkedPrefill(line, chunked)
	if err != nil || !p.known || p.on {
		return err
	}
	length, set, err := givenNumber(line, vllm.MaxModelLen)
	switch {
	case err != nil:
		return err
	case set && length > n:
		return live.Refused(
			"%s says %d, and that cannot be: chunked prefill is off, and vLLM then takes at least its "+
				"--max-model-len of %d",
			tokensDefault, n, length,
		)
	}
	return nil
}

// hasUnknownBound names the features whose own lower limit depends on the model: speculative decoding (slots for draft
// tokens), unchunked multimodal input (one item must fit), and Mamba's aligned cache (one block must fit).
func hasUnknownBound(name string) bool {
	return strings.HasPrefix(name, "spec") || name == "num-speculative-tokens" ||
		slices.Contains([]string{"disable-chunked-mm-input", "mamba-cache-mode", "performance-mode"}, name)
}

func seqsBound(line *vllm.CommandLine) (lowerBound, error) {
	seqs, set, err := givenNumber(line, vllm.MaxNumSeqs)
	switch {
	case err != nil:
		return lowerBound{}, err
	case set:
		return lowerBound{seqs, "set by --max-num-seqs"}, nil
	}
	return lowerBound{defaultSeqs, fmt.Sprintf("because --max-num-seqs is not set and may be up to %d", defaultSeqs)}, nil
}

// prefill says whether vLLM cuts prompts into chunks. known is false when nobody says it; configured says that only
// the configuration does.
type prefill struct{ on, known, configured bool }

// chunkedPrefill reads the flag, and where it is not given the configuration: the default depends on model and
// version. Two words against each other are refused: one of them is wrong, and which one is not known.
func chunkedPrefill(line *vllm.CommandLine, says *bool) (prefill, error) {
	on, given, err := line.Switched(vllm.EnableChunkedPrefill)
	switch {
	case err != nil:
		return prefill{}, refuseUnclear(err)
	case given && says != nil && *says != on:
		return prefill{}, live.Refused(
			"%s says %t, and the arguments say %t: correct the configuration", chunkedSetting, *says, on,
		)
	case given:
		return prefill{on: on, known: true}, nil
	case says != nil:
		return prefill{on: *says, known: true, configured: true}, nil
	}
	return prefill{}, nil
}

// lengthBound is what the length of the context asks for. Where nothing is asked for because the configuration says
// so, why goes on from another reason.
func lengthBound(from lowering) (lowerBound, error) {
	p, err := chunkedPrefill(from.line, from.chunked)
	switch {
	case err != nil:
		return lowerBound{}, err
	case p.on && p.configured:
		return lowerBound{why: fmt.Sprintf("; chunked prefill is on, as %s says", chunkedSetting)}, nil
	case p.on:
		return lowerBound{}, nil
	}
	length, set, err := givenNumber(from.line, vllm.MaxModelLen)
	switch {
	case err != nil:
		return lowerBound{}, err
	case !p.known && set && length > from.now && from.runs:
		return lowerBound{}, nil // with chunked prefill off vLLM would not have started
	case set && p.known:
		return lowerBound{length, "set by --max-model-len, because chunked prefill is off"}, nil
	case set:
		return lowerBound{
			length,
			fmt.Sprintf(
				"set by --max-model-len, because --enable-chunked-prefill is not set and may be off (where it is on, "+
					"say so in %s)",
				chunkedSetting,
			),
		}, nil
	case p.known:
		return lowerBound{}, live.Refused("chunked prefill is off and --max-model-len is not set, so the least value " +
			"that vLLM " +
			"starts with is not known: set it")
	}
	return lowerBound{}, &incident.RefusedError{
		Reason: fmt.Sprintf("whether chunked prefill is on depends on model and version, so the least value that "+
			"vLLM starts with is not known: "+
			"set %s, or --enable-chunked-prefill", chunkedSetting),
		Hint: fmt.Sprintf("Where vLLM logs at its start that chunked prefill is enabled, nothing has to be "+
			"restarted: %s: {..., chunked_prefill: true}.",
			incident.StepMaxNumBatchedTokens),
	}
}

// givenNumber reads a whole number that is set on the command line. "auto" and -1 count as not set.
func givenNumber(line *vllm.CommandLine, name string) (n int64, set bool, err error) {
	f, set, err := line.Number(name)
	return int64(f), set, refuseUnclear(err)
}
