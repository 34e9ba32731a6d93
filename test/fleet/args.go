package fleet

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// errTooFewTokens is vLLM's own refusal (vllm/config/scheduler.py).
func errTooFewTokens(e Engine) error {
	return fmt.Errorf("max_num_batched_tokens (%d) must be greater than or equal to max_num_seqs (%d)",
		e.MaxNumBatchedTokens, e.MaxNumSeqs)
}

// withArgs returns the engine as `vllm serve` would start it with these arguments: --max-num-batched-tokens,
// --max-num-seqs, --watermark and --api-server-count, spelled with - or _, with = or as two arguments, and the switch
// --[no-]enable-prefix-caching; the last one wins. Other arguments change nothing.
func (e Engine) withArgs(args []string) (Engine, error) {
	defaultTokens := e.MaxNumBatchedTokens
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		switch strings.ReplaceAll(flag, "_", "-") {
		case "--enable-prefix-caching", "--no-enable-prefix-caching":
			e.NoPrefixCaching = strings.HasPrefix(flag, "--no")
			continue
		case "--max-num-batched-tokens", "--max-num-seqs", "--watermark", "--api-server-count":
		default:
			continue
		}
		if !joined {
			if i++; i == len(args) {
				return Engine{}, fmt.Errorf("argument %s: expected one argument", flag)
			}
			value = args[i]
		}
		if err := e.set(strings.ReplaceAll(flag, "_", "-"), value); err != nil {
			return Engine{}, fmt.Errorf("argument %s: %w", flag, err)
		}
	}
	if e.MaxNumBatchedTokens < e.MaxNumSeqs {
		return Engine{}, errTooFewTokens(e)
	}
	if e.KVTokens += defaultTokens - e.MaxNumBatchedTokens; e.KVTokens < maxModelLen/8 {
		return Engine{},
			errors.New("no available memory for the cache blocks, try increasing gpu_memory_utilization when " +
				"initializing the engine")
	}
	return e, nil
}

func (e *Engine) set(flag, value string) (err error) {
	switch flag {
	case "--max-num-batched-tokens":
		e.MaxNumBatchedTokens, err = humanInt(value)
	case "--max-num-seqs":
		e.MaxNumSeqs, err = strconv.Atoi(value)
		if err == nil && e.MaxNumSeqs < 1 {
			err = fmt.Errorf("%d is less than 1", e.MaxNumSeqs)
		}
	case "--api-server-count":
		e.APIServers, err = strconv.Atoi(value)
		if err == nil && e.APIServers < 1 {
			err = fmt.Errorf("%d is less than 1", e.APIServers)
		}
	case "--watermark":
		e.Watermark, err = strconv.ParseFloat(value, 64)
		if err == nil && !(e.Watermark >= 0 && e.Watermark < 1) {
			err = fmt.Errorf("%g is not in [0, 1)", e.Watermark)
		}
	}
	return err
}

// humanInt reads what vLLM's human_readable_int reads: 2048, 8k = 8000, 8K = 8192, 25.6k, but not 8.5K.
func humanInt(s string) (int, error) {
	number, unit := s, 1.0
	if cut := strings.TrimRight(s, "kmgKMG"); len(cut) == len(s)-1 {
		number = cut
		unit = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[s[len(s)-1]]
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	binary := unit != 1 && math.Mod(unit, 1024) == 0
	if v *= unit; v < 1 || v > 1<<40 || v != math.Trunc(v) || binary && strings.Contains(number, ".") {
		return 0, fmt.Errorf("%q is not a whole number of tokens", s)
	}
	return int(v), nil
}
