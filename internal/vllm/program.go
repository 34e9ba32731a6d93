package vllm

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// program is in doubt when the words do not reach vLLM one by one: shells, scripts and programs that may read them in
// their own way. Without a command the image's own entry point runs, which for vLLM's images hands its arguments
// over.
func (c *CommandLine) program() *UnclearError {
	if len(c.words) == 0 {
		return unclear("the container has neither command nor args, so its arguments are inside of the image")
	}
	lead := leading(c.text)
	if i := slices.IndexFunc(lead, isShell); i >= 0 {
		return unclear(
			"the container runs a shell (%s), and its arguments are in a shell script: write command and args as "+
				"lists",
			path.Base(lead[i]),
		)
	}
	if slices.Contains(c.text, "--") {
		return unclear("there is a -- among the arguments, and what comes after it may be for another program")
	}
	if RunsScript(c.text) {
		return unclear(
			"the container runs the script %s: which arguments it hands to vLLM is not known",
			path.Base(c.words[0].key()),
		)
	}
	switch {
	case startsEngine(c.text), len(c.from.Command) == 0 && !isPython(c.text[0]):
		return nil
	}
	return unclear("the container runs %s: which arguments it hands to vLLM is not known", c.programName())
}

// RunsScript says whether a shell or a script stands between the words and vLLM.
func RunsScript(words []string) bool {
	lead := leading(words)
	return slices.ContainsFunc(lead, isShell) || len(lead) > 0 && strings.HasSuffix(lead[0], ".sh")
}

// programName is what the command line starts: "python3 -m dynamo.vllm", "launcher".
func (c *CommandLine) programName() string {
	name := path.Base(c.words[0].key())
	lead := leading(c.text)
	if at := slices.Index(lead, "-m"); at > 0 && at+1 < len(lead) && isPython(lead[0]) {
		return name + " -m " + c.words[at+1].raw
	}
	return name
}

// leading are the words before the first long flag: the program and what it is told to run.
func leading(words []string) []string {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") }); i >= 0 {
		return words[:i]
	}
	return words
}

// startsEngine says whether words start vLLM: "vllm serve", or Python with vLLM's module.
func startsEngine(words []string) bool {
	return len(words) > 0 && (path.Base(words[0]) == "vllm" || isPython(words[0]) && runsVLLM(words[1:]))
}

// runsVLLM says whether Python is told to run vLLM: "-m vllm.entrypoints.openai.api_server", or the script vllm.
func runsVLLM(words []string) bool {
	for i, w := range words {
		switch {
		case w == "-m":
			return i+1 < len(words) && (words[i+1] == "vllm" || strings.HasPrefix(words[i+1], "vllm."))
		case w == "-c":
			return false // a program in the next word
		case strings.HasPrefix(w, "-"):
			continue // a switch of Python's own, such as -u
		}
		return path.Base(w) == "vllm"
	}
	return false
}

var python = regexp.MustCompile(`^python(3(\.\d+)?)?$`)

func isPython(program string) bool { return python.MatchString(path.Base(program)) }

func isShell(program string) bool {
	return slices.Contains(
		[]string{"sh", "bash", "ash", "dash", "zsh", "ksh", "busybox", "env", "xargs", "eval"}, path.Base(program),
	)
}

// rankFlag are the flags that give one process its place among a fixed number of others (vllm/engine/arg_utils.py).
var rankFlag = regexp.MustCompile(
	`(?:^|[\s"'=])(--data[-_]parallel[-_](?:start[-_])?rank|--node[-_]rank|-dpn|-dpr)(?:[\s"'=]|$)`)

// RankFlag finds a flag in a text by which one engine becomes a rank of several; the text may be a word, a script or
// the value of a variable. It is empty when there is none.
func RankFlag(text string) string {
	if m := rankFlag.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
