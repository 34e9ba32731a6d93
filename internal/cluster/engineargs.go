package cluster

import (
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// engineNumbers are the arguments that rules read, and how vLLM reads their values (vllm/utils/argparse_utils.py, human_readable_int).
func engineNumbers() map[string]func(string) (float64, bool) {
	return map[string]func(string) (float64, bool){
		"max-num-seqs":           wholeNumber,
		"max-num-batched-tokens": readableNumber,
		"max-model-len":          readableNumber,
		"gpu-memory-utilization": fraction,
		"tensor-parallel-size":   wholeNumber,
		"data-parallel-size":     wholeNumber,
	}
}

// shortFlags are vLLM's short names of these arguments.
func shortFlags() map[string]string {
	return map[string]string{"-tp": "tensor-parallel-size", "-dp": "data-parallel-size"}
}

// engineArgs reads the numbers among a container's arguments, by the names of vLLM's Python ("max_num_seqs"). What cannot be read with certainty is
// not in it; nil when that is all of it.
func engineArgs(c *corev1.Container) map[string]float64 {
	if c == nil {
		return nil
	}
	words := slices.Concat(c.Command, c.Args)
	if !plainArguments(c, words) {
		return nil
	}
	var out map[string]float64
	for name, read := range engineNumbers() {
		text, ok := lastValue(words, name)
		if !ok {
			continue
		}
		if n, ok := read(text); ok {
			if out == nil {
				out = make(map[string]float64)
			}
			out[strings.ReplaceAll(name, "-", "_")] = n
		}
	}
	return out
}

// plainArguments says whether the words certainly reach vLLM one by one, and nothing else adds to them: no shell or script, no --config file, no
// variable that may become a flag, and no variable by which wrappers add arguments.
func plainArguments(c *corev1.Container, words []string) bool {
	if len(words) == 0 || runsScript(words) || slices.Contains(words, "--") || !runsVLLM(c.Command, words) {
		return false
	}
	for i, w := range words {
		if name, _, _ := flagOf(w); name == "config" {
			return false
		}
		key, _, joined := strings.Cut(w, "=")
		if strings.Contains(key, "$(") && (joined || i == 0 || !needsValue(words[i-1])) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool {
		return slices.Contains([]string{"VLLM_ADDITIONAL_ARGS", "VLLM_EXTRA_ARGS", "VLLM_ENGINE_ARGS", "VLLM_ARGS", "EXTRA_ARGS"}, v.Name) &&
			(v.Value != "" || v.ValueFrom != nil)
	})
}

// runsScript says whether a shell or a script stands between the words and vLLM.
func runsScript(words []string) bool {
	for i, w := range words {
		if strings.HasPrefix(w, "--") {
			break
		}
		if base := path.Base(w); shells(base) || i == 0 && strings.HasSuffix(base, ".sh") {
			return true
		}
	}
	return false
}

func shells(program string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh", "ksh", "busybox", "env", "xargs", "eval"}, program)
}

// runsVLLM is true without a command, unless the arguments name a Python module of another program: then the image's own entry point runs, which for
// vLLM's images hands its arguments over.
func runsVLLM(command, words []string) bool {
	if path.Base(words[0]) == "vllm" {
		return true
	}
	if !python.MatchString(path.Base(words[0])) {
		return len(command) == 0
	}
	for i, w := range words[1:] {
		if w == "-m" {
			rest := words[i+2:]
			return len(rest) > 0 && (rest[0] == "vllm" || strings.HasPrefix(rest[0], "vllm."))
		}
		if !strings.HasPrefix(w, "-") {
			return path.Base(w) == "vllm"
		}
	}
	return false
}

var python = regexp.MustCompile(`^python(3(\.\d+)?)?$`)

// needsValue says whether what follows a word is certainly a value.
func needsValue(word string) bool {
	if word == "serve" {
		return true
	}
	name, _, joined := flagOf(word)
	return !joined && (engineNumbers()[name] != nil || slices.Contains([]string{
		"api-key", "model", "served-model-name", "tokenizer", "host", "port", "revision", "download-dir", "hf-token", "root-path", "chat-template", "dtype",
		"pipeline-parallel-size", "data-parallel-rank", "data-parallel-address", "data-parallel-rpc-port", "data-parallel-size-local", "data-parallel-start-rank",
	}, name))
}

// flagOf returns the name of a flag with dashes, as vLLM compares it: underscores up to the first dot count as dashes. Short names are made long. It is
// empty when the word is no flag.
func flagOf(word string) (name, value string, joined bool) {
	key, value, joined := strings.Cut(word, "=")
	if long, ok := shortFlags()[key]; ok {
		return long, value, joined
	}
	key, dashes := strings.CutPrefix(key, "--")
	if !dashes {
		return "", "", false
	}
	head, tail, dotted := strings.Cut(key, ".")
	name = strings.ReplaceAll(head, "_", "-")
	if dotted {
		name += "." + tail
	}
	return name, value, joined
}

// lastValue is the value of the flag's last occurrence, which is the one that counts. ok is false when there is none, and when a word may be the flag
// without being it: an abbreviation, which argparse allows, or a word with more in it.
func lastValue(words []string, flag string) (value string, ok bool) {
	for i, w := range words {
		name, text, joined := flagOf(w)
		switch {
		case name == flag && joined:
			value, ok = text, true
		case name == flag:
			if i+1 == len(words) || strings.HasPrefix(words[i+1], "-") {
				return "", false
			}
			value, ok = words[i+1], true
		case abbreviates(w, name, flag):
			return "", false
		case !flagName.MatchString(name) && mentions(w, flag), mentions(text, flag):
			return "", false
		}
	}
	return value, ok
}

// flagName is how the names of flags are made.
var flagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.\-]*$`)

func mentions(s, flag string) bool { return strings.Contains(strings.ReplaceAll(s, "_", "-"), flag) }

func abbreviates(word, name, flag string) bool {
	if name != "" {
		return strings.HasPrefix(flag, name)
	}
	for short, long := range shortFlags() {
		if long == flag && strings.HasPrefix(word, "-") && strings.HasPrefix(short, strings.SplitN(word, "=", 2)[0]) {
			return true
		}
	}
	return false
}

// largest is the highest whole number that a float64 holds exactly.
const largest = 1 << 53

func wholeNumber(s string) (float64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return float64(n), err == nil && onlyDigits(s) && n > 0 && n <= largest
}

func onlyDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// readableNumber reads 8192, 8k (8000), 25.6k (25600) and 8K (8192): small suffixes are powers of 1000, capital ones of 1024 and take no fraction.
func readableNumber(s string) (float64, bool) {
	if s == "" || onlyDigits(s) {
		return wholeNumber(s)
	}
	digits, suffix := s[:len(s)-1], s[len(s)-1:]
	if i := strings.Index("kmgt", suffix); i >= 0 {
		whole, rest, dotted := strings.Cut(digits, ".")
		if !onlyDigits(whole) || dotted && !onlyDigits(rest) {
			return 0, false
		}
		f, err := strconv.ParseFloat(digits, 64)
		f = math.Trunc(f * math.Pow10(3*(i+1))) // as Python does
		return f, err == nil && f <= largest && f > 0
	}
	if i := strings.Index("KMGT", suffix); i >= 0 {
		n, ok := wholeNumber(digits)
		for range i + 1 {
			n *= 1024
		}
		return n, ok && n <= largest
	}
	return 0, false
}

// fraction reads a share of the GPU's memory.
func fraction(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && onlyDigits(strings.Replace(s, ".", "", 1)) && f > 0 && f <= 1
}

// engineContainer is the container that a pool means: the one that is named, else the only one, else the one named vllm; nil when none is certain.
func engineContainer(spec *corev1.PodSpec, named string) *corev1.Container {
	if named == "" && len(spec.Containers) == 1 {
		return &spec.Containers[0]
	}
	if named == "" {
		named = "vllm"
	}
	for i := range spec.Containers {
		if spec.Containers[i].Name == named {
			return &spec.Containers[i]
		}
	}
	return nil
}
