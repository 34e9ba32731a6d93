package actions

import (
	"strconv"
	"strings"
)

// multipliers are the suffixes of vLLM's human readable numbers: the small ones are powers of 1000, the capital ones of 1024, which take no fraction
// (vllm/utils/argparse_utils.py, human_readable_int).
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

// readNumber reads a number of tokens as vLLM does: 8192, 8k (8000), 8K (8192), 25.6k (25600). What Python reads beyond that (8_192, blanks) is not
// taken: ok is false for everything that is not certain, and for numbers below 1.
func readNumber(s string) (n int64, ok bool) {
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
	if !ok || n > biggest/factor {
		return 0, false
	}
	return n * factor, true
}

// scaledUp multiplies as Python does: as a float64, cut off.
func scaledUp(s string, factor int64) (int64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f*float64(factor) > biggest {
		return 0, false
	}
	n := int64(f * float64(factor))
	return n, n > 0
}

func digits(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && allDigits(s) && n > 0 && n <= biggest
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
