package actions

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// flagAt is one occurrence of a flag in an argument list.
type flagAt struct {
	index  int    // of the argument that holds the name
	joined bool   // --flag=value
	value  string // as written
}

// splitFlag returns the name of a flag, with dashes, and its joined value; "" when the argument is no flag.
func splitFlag(arg string) (name, value string) {
	key, value, _ := strings.Cut(arg, "=")
	if !strings.HasPrefix(key, "--") {
		return "", ""
	}
	return strings.ReplaceAll(key[2:], "_", "-"), value
}

// findFlag returns the occurrence of a flag that counts: vLLM takes the last. Names may be written with dashes or underscores
// (vllm/utils/argparse_utils.py). found is false when the flag is absent. A list that cannot be read with certainty is a *incident.RefusedError.
func findFlag(args []string, name string) (flagAt, bool, error) {
	var last flagAt
	found := false
	for n := 0; n < len(args); n++ {
		key, val := splitFlag(args[n])
		if key != name {
			continue
		}
		joined := strings.Contains(args[n], "=")
		if !joined {
			if n+1 >= len(args) || strings.HasPrefix(args[n+1], "--") {
				return flagAt{}, false, &incident.RefusedError{Reason: fmt.Sprintf("%s has no value", args[n])}
			}
			val = args[n+1]
		}
		if strings.Contains(val, "$(") {
			return flagAt{}, false, &incident.RefusedError{Reason: fmt.Sprintf("the value of %s comes from an environment variable (%s); change it there", key, val)}
		}
		last, found = flagAt{index: n, joined: joined, value: val}, true
	}
	return last, found, nil
}

// withFlag returns the list with another value at the occurrence; every other argument stays byte for byte.
func withFlag(args []string, at flagAt, val string) []string {
	out := slices.Clone(args)
	if at.joined {
		key, _, _ := strings.Cut(out[at.index], "=")
		out[at.index] = key + "=" + val
	} else {
		out[at.index+1] = val
	}
	return out
}

// readable refuses argument lists in which flags cannot be found with certainty.
func readable(command, args []string) error {
	for _, a := range slices.Concat(command, args) {
		key, _, _ := strings.Cut(a, "=")
		if key == "--config" {
			return &incident.RefusedError{Reason: "vLLM reads a --config file here, which can hold the setting; change it there"}
		}
	}
	if len(command) > 0 && isShell(command[0]) {
		return &incident.RefusedError{Reason: fmt.Sprintf("the container runs a shell (%s); the arguments stand in one string that cannot be changed safely", command[0])}
	}
	if len(command) == 0 && len(args) > 0 && isShell(args[0]) {
		return &incident.RefusedError{Reason: "the container runs a shell; the arguments stand in one string that cannot be changed safely"}
	}
	return nil
}

func isShell(program string) bool {
	base := program[strings.LastIndex(program, "/")+1:]
	return slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh", "env"}, base)
}

// units are the suffixes of vLLM's human readable numbers: lower case is decimal, upper case binary, and only decimal ones may have a fraction.
var units = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}

// humanInt reads a whole number as vLLM does: 8192, 8k, 8K, 25.6k.
func humanInt(s string) (int64, error) {
	bad := &incident.RefusedError{Reason: fmt.Sprintf("%q is not a number that vLLM reads", s)}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n <= 0 {
			return 0, bad
		}
		return n, nil
	}
	if s == "" {
		return 0, bad
	}
	unit, ok := units[s[len(s)-1]]
	digits := s[:len(s)-1]
	if !ok || digits == "" || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 {
		return 0, bad
	}
	if strings.Contains(digits, ".") && s[len(s)-1] < 'a' {
		return 0, bad
	}
	f, err := strconv.ParseFloat(digits, 64)
	n := math.Round(f * unit)
	if err != nil || n < 1 || n > 1<<53 {
		return 0, bad
	}
	return int64(n), nil
}
