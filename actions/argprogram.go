package actions

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// tokensFlag is vLLM's flag, without dashes.
const tokensFlag = "max-num-batched-tokens" //nolint:gosec // tokens of text, no credential

// program refuses a command line whose words do not reach vLLM one by one: shells, scripts and programs that may read them in their own way. Without a
// command the image's own entry point runs, which for vLLM's images hands its arguments over.
func (c commandLine) program() *incident.RefusedError {
	words := c.words()
	if len(words) == 0 {
		return refused("the container has neither command nor args, so its arguments are inside of the image")
	}
	lead := leading(words)
	for _, w := range lead {
		if isShell(w) {
			return refused("the container runs a shell (%s), and its arguments are inside of a script: write command and args as lists", path.Base(w))
		}
	}
	if slices.Contains(words, "--") {
		return refused("there is a -- among the arguments, and what comes after it may be for another program")
	}
	first := path.Base(words[0])
	switch {
	case strings.HasSuffix(first, ".sh"):
		return refused("the container runs the script %s: which arguments it hands to vLLM is not known", first)
	case startsEngine(words):
		return nil
	case len(c.command) == 0 && !python.MatchString(first):
		return nil
	}
	return refused("the container runs %s: which arguments it hands to vLLM is not known", programName(lead))
}

// programName is what a command line starts: "python3 -m dynamo.vllm", "launcher".
func programName(lead []string) string {
	name := path.Base(lead[0])
	if at := slices.Index(lead, "-m"); at > 0 && at+1 < len(lead) && python.MatchString(name) {
		return name + " -m " + lead[at+1]
	}
	return name
}

var python = regexp.MustCompile(`^python(3(\.\d+)?)?$`)

// startsVLLM says whether Python is told to run vLLM: "-m vllm.entrypoints.openai.api_server", or the script vllm.
func startsVLLM(words []string) bool {
	for i, w := range words {
		switch {
		case w == "-m":
			return i+1 < len(words) && (words[i+1] == "vllm" || strings.HasPrefix(words[i+1], "vllm."))
		case strings.HasPrefix(w, "-"):
			continue // a switch of Python's own, such as -u
		}
		return path.Base(w) == "vllm"
	}
	return false
}

// leading are the words before the first long flag: the program and what it is told to run.
func leading(words []string) []string {
	for i, w := range words {
		if strings.HasPrefix(w, "--") {
			return words[:i]
		}
	}
	return words
}

func isShell(word string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh", "ksh", "busybox", "env", "xargs", "eval"}, path.Base(word))
}

// elsewhere refuses a command line when the setting, or what bounds it, may also come from somewhere else.
func (c commandLine) elsewhere(env []variable) *incident.RefusedError {
	words := c.words()
	if has(words, "config") {
		return refused("vLLM also reads a --config file here, and what stands in it is not known: put the engine's arguments on the command line")
	}
	for _, w := range words {
		if !mentions(w) {
			continue
		}
		if name, _, _ := splitFlag(w); name != tokensFlag {
			return refused("--%s also stands in an argument that is not the flag itself, so it cannot be changed with certainty", tokensFlag)
		}
	}
	for _, v := range env {
		switch {
		case mentions(v.value):
			return refused("the variable %s mentions %s: it has to be changed there", v.name, tokensFlag)
		case slices.Contains(argumentVariables(), v.name) && (v.value != "" || !v.known):
			return refused("the variable %s may hold further arguments of vLLM: put them on the command line", v.name)
		}
	}
	return nil
}

// unseen refuses to take the flag for absent where the environment may give it: wrappers make flags of variables, and what envFrom brings is in other objects.
// vLLM itself makes none, so where the manifest starts it directly, unseen variables do not matter; one that has the flag's name was put there for something.
func (c container) unseen() *incident.RefusedError {
	hint := fmt.Sprintf("Give --%s in the arguments of container %s.", tokensFlag, c.name)
	for _, v := range c.env {
		if mentions(strings.ToLower(v.name)) {
			return &incident.RefusedError{Reason: fmt.Sprintf("--%s is not among the arguments, and the variable %s may give it", tokensFlag, v.name), Hint: hint}
		}
	}
	if c.envFrom && !c.line.direct() {
		return &incident.RefusedError{
			Reason: fmt.Sprintf("--%s is not among the arguments, and the variables that envFrom brings may give it: they cannot be seen", tokensFlag), Hint: hint,
		}
	}
	return nil
}

// mentions says whether a text has the flag's name in it, in either spelling.
func mentions(s string) bool { return strings.Contains(strings.ReplaceAll(s, "_", "-"), tokensFlag) }

// argumentVariables are variables by which wrappers add arguments; the first is KServe's. vLLM itself reads none.
func argumentVariables() []string {
	return []string{"VLLM_ADDITIONAL_ARGS", "VLLM_EXTRA_ARGS", "VLLM_ENGINE_ARGS", "VLLM_ARGS", "EXTRA_ARGS"}
}

// expanding refuses words that become a flag only when Kubernetes puts a variable into them: $(NAME) at the start of a word that is no value.
func (c commandLine) expanding(env []variable) *incident.RefusedError {
	words := c.words()
	for i, w := range words {
		key := keyOf(w)
		at := strings.Index(key, "$(")
		if at < 0 || at > 0 && (!strings.HasPrefix(w, "-") || key[at-1] == '$') {
			continue // none, inside of a value, or an escaped $$(
		}
		if at == 0 && (takesValue(words, i) || harmless(w, env)) {
			continue
		}
		return refused("Kubernetes puts a variable into the argument %s, which may make it another flag: write it out", key)
	}
	return nil
}

// takesValue says whether the word is certainly a value: the model of "vllm serve", or what follows a flag that needs a value.
func takesValue(words []string, i int) bool {
	if i == 0 {
		return false
	}
	if words[i-1] == "serve" {
		return true
	}
	name, _, joined := splitFlag(words[i-1])
	return !joined && slices.Contains([]string{
		"api-key", "model", "served-model-name", "tokenizer", "host", "port", "revision", "download-dir", "hf-token", "root-path", "chat-template",
		"tensor-parallel-size", "pipeline-parallel-size", "max-model-len", "gpu-memory-utilization", "dtype", "data-parallel-size", "data-parallel-rank",
		"data-parallel-address", "data-parallel-rpc-port", "data-parallel-size-local", "data-parallel-start-rank",
	}, name)
}

// harmless says whether a word that is one variable has a known value that is no flag.
func harmless(word string, env []variable) bool {
	name, rest, ok := strings.Cut(strings.TrimPrefix(word, "$("), ")")
	if !ok || rest != "" {
		return false
	}
	v, found := lookUp(env, name)
	return found && v.known && !strings.HasPrefix(v.value, "-") && !strings.Contains(v.value, "$(")
}
