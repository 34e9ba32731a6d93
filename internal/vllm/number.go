package vllm

import (
	"strconv"
	"strings"
)

// Largest is the highest number that is read: the highest whole number that a float64 holds exactly.
const Largest = 1 << 53

// multiplier reads the suffixes of vLLM's human readable numbers: the small ones are powers of 1000, the capital ones
// of 1024, which take no fraction (vllm/utils/argparse_utils.py, human_readable_int).
func multiplier(suffix byte) (factor int64, binary, ok bool) {
	switch suffix {
	case 'k':
		return 1e3, false, true
	case 'm':
		return 1e6, false, true
	case 'g':
		return 1e9, false, true
	case 't':
		return 1e12, false, true
	case 'K':
		return 1 << 10, true, true
	case 'M':
		return 1 << 20, true, true
	case 'G':
		return 1 << 30, true, true
	case 'T':
		return 1 << 40, true, true
	}
	return 0, false, false
}

// ReadCount reads a whole number as vLLM reads human readable ones: 8192, 8k (8000), 8K (8192), 25.6k (25600). What
// Python reads beyond that (8_192, blanks) is not taken: ok is false for everything that is not certain, and for
// numbers below 1.
func ReadCount(s string) (n int64, ok bool) {
	if s == "" {
		return 0, false
	}
	factor, binary, suffixed := multiplier(s[len(s)-1])
	if !suffixed {
		return digits(s)
	}
	s = s[:len(s)-1]
	if whole, fraction, dotted := strings.Cut(s, "."); dotted {
		if binary || !allDigits(whole) || !allDigits(fraction) {
			return 0, false
		}
		return scaledUp(s, factor)
	}
	n, ok = digits(s)
	if !ok || n > Largest/factor {
		return 0, false
	}
	return n * factor, true
}

// scaledUp multiplies as Python does: as a float64, cut off.
func scaledUp(s string, factor int64) (int64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f*float64(factor) > Largest {
		return 0, false
	}
	n := int64(f * float64(factor))
	return n, n > 0
}

func digits(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && allDigits(s) && n > 0 && n <= Largest
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// readFraction reads a share: above 0 and at most 1.
func readFraction(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && allDigits(strings.Replace(s, ".", "", 1)) && f > 0 && f <= 1
}

// read is the number that vLLM makes of an argument's value.
func (a Argument) read(value string) (n float64, ok bool) {
	var whole int64
	switch a.Kind {
	case Count:
		whole, ok = digits(value)
	case ReadableCount:
		whole, ok = ReadCount(value)
	case Fraction:
		return readFraction(value)
	case Text, Switch:
		return 0, false
	}
	return float64(whole), ok
}

// Number reads an argument that is a number. set is false when it is not given, or left to vLLM ("auto", -1). An
// error is an UnclearError.
func (c *CommandLine) Number(name string) (n float64, set bool, err error) {
	a, _ := argument(name)
	f, count, err := c.Last(name)
	if err != nil || count == 0 || a.Auto && (strings.EqualFold(f.Value, "auto") || f.Value == "-1") {
		return 0, false, err
	}
	n, ok := a.read(f.Value)
	if !ok {
		return 0, false, unclear("the value of %s cannot be read with certainty: %q", f.Key, f.shown())
	}
	return n, true, nil
}

// NotGiven says that an argument is certainly not given, so that vLLM's own value holds. It is false where that cannot
// be read with certainty.
func (c *CommandLine) NotGiven(name string) bool {
	_, count, err := c.Last(name)
	return err == nil && count == 0 && c.Unseen(name) == nil
}

// Numbers are all numbers among the engine's arguments by their Key ("max_num_seqs"). What cannot be read with
// certainty is not in it; nil when that is all of it.
func (c *CommandLine) Numbers() map[string]float64 {
	var out map[string]float64
	for _, a := range arguments {
		if !a.number() {
			continue
		}
		if n, set, err := c.Number(a.Name); err == nil && set {
			if out == nil {
				out = map[string]float64{}
			}
			out[a.Key()] = n
		}
	}
	return out
}
