package vllm

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Container is what a manifest says about a container that may run vLLM.
type Container struct {
	Image         string
	Command, Args []string
	Env           []Variable
	// EnvFrom says that further variables come from ConfigMaps or Secrets, which the manifest does not show.
	EnvFrom bool
}

// Variable is an environment variable of a container. Known is false when its value is in a Secret, a ConfigMap or a
// field.
type Variable struct {
	Name, Value string
	Known       bool
}

// UnclearError says why something on a command line cannot be read with certainty. It repeats no value of a variable,
// because that may be a secret.
type UnclearError struct{ Reason string }

func (e *UnclearError) Error() string { return e.Reason }

func unclear(format string, args ...any) *UnclearError {
	return &UnclearError{Reason: fmt.Sprintf(format, args...)}
}

// The lists of a manifest in which a word can be.
const (
	InCommand = "command"
	InArgs    = "args"
)

// word is one word of the command line.
type word struct {
	// raw is the word in the manifest, text what the process gets as far as that is known.
	raw, text string
	// variable is the first variable in the word, empty when there is none.
	variable string
	// unknown is where in the text the first variable is whose value is not known; -1 when all are known.
	unknown int
}

// key is the word up to the first equals sign, as the manifest has it: what may be shown.
func (w word) key() string {
	key, _, _ := strings.Cut(w.raw, "=")
	return key
}

// CommandLine is what a container starts, with the variables put in that Kubernetes would put in. It is read the way
// vLLM reads it: by Python's argparse, with underscores in names taken for dashes (vllm/utils/argparse_utils.py,
// FlexibleArgumentParser).
//
// It never guesses. What is unclear about the whole line makes every answer an error; what is unclear about one
// argument only those about that argument.
type CommandLine struct {
	from  Container
	words []word
	// text is each word as the process gets it. A variable that is not known is still there by its name.
	text []string
	// doubt is why nothing on the line is certain; nil when there is no such reason.
	doubt *UnclearError
}

// Parse reads the command line of a container.
func Parse(c Container) *CommandLine {
	out := &CommandLine{from: c}
	for _, raw := range slices.Concat(c.Command, c.Args) {
		w := expand(raw, c.Env)
		out.words, out.text = append(out.words, w), append(out.text, w.text)
	}
	for _, doubt := range []func() *UnclearError{out.program, out.elsewhere, out.expanding} {
		if out.doubt = doubt(); out.doubt != nil {
			break
		}
	}
	return out
}

// Unclear says why nothing on the command line can be read with certainty; nil when single arguments can. It is an
// UnclearError.
func (c *CommandLine) Unclear() error {
	if c.doubt == nil {
		return nil
	}
	return c.doubt
}

// list says which list of the manifest has the word of this index, and where.
func (c *CommandLine) list(word int) (name string, list []string, index int) {
	if word < len(c.from.Command) {
		return InCommand, c.from.Command, word
	}
	return InArgs, c.from.Args, word - len(c.from.Command)
}

// elsewhere is in doubt when arguments may also come from somewhere else than the command line.
func (c *CommandLine) elsewhere() *UnclearError {
	for _, w := range c.words {
		if name, _, _ := splitFlag(w.text); name == "config" {
			return unclear("vLLM also reads a --config file here, and what stands in it is not known: put the " +
				"engine's arguments on the command line")
		}
	}
	for _, v := range c.from.Env {
		if slices.Contains(argumentVariables(), v.Name) && (v.Value != "" || !v.Known) {
			return unclear("the variable %s may hold further arguments of vLLM: put them on the command line", v.Name)
		}
	}
	return nil
}

// argumentVariables are variables by which wrappers add arguments; the first is KServe's. vLLM itself reads none.
func argumentVariables() []string {
	return []string{"VLLM_ADDITIONAL_ARGS", "VLLM_EXTRA_ARGS", "VLLM_ENGINE_ARGS", "VLLM_ARGS", "EXTRA_ARGS"}
}

// expanding is in doubt when a word may become another flag once Kubernetes has put a variable into it whose value is
// not known.
func (c *CommandLine) expanding() *UnclearError {
	for i, w := range c.words {
		key, _, _ := strings.Cut(w.text, "=")
		switch {
		case w.unknown < 0 || w.unknown >= len(key): // known, or the value of a flag whose name is known
		case w.unknown > 0 && !strings.HasPrefix(w.text, "-"): // inside of a value
		case w.unknown == 0 && c.takesValue(i):
		default:
			return unclear(
				"Kubernetes puts a variable into the argument %s, which may make it another flag: write it out",
				w.key(),
			)
		}
	}
	return nil
}

// takesValue says whether the word is certainly a value: the model of "vllm serve", or what follows a flag that needs
// a value. Where a variable holds anything else there, vLLM does not start.
func (c *CommandLine) takesValue(i int) bool {
	if i == 0 {
		return false
	}
	before := c.words[i-1].text
	if before == "serve" {
		return true
	}
	name, _, joined := SplitFlag(before)
	a, known := argument(name)
	return known && !joined && a.Kind != Switch
}

// Direct says that the manifest's own command starts vLLM, with no wrapper of an image between them: then arguments
// come from nowhere else.
func (c *CommandLine) Direct() bool { return startsEngine(c.text[:len(c.from.Command)]) }

// StartsVLLM says whether the words start vLLM, be it behind the entry point of an image.
func (c *CommandLine) StartsVLLM() bool { return startsEngine(c.text) }

// LooksLikeVLLM says whether the container seems to run vLLM: by its image, or by a word anywhere in its command
// line, also in a script. It is a guess.
func (c *CommandLine) LooksLikeVLLM() bool {
	if ImageOfVLLM(c.from.Image) && !runsAnotherModule(c.text) {
		return true
	}
	return slices.ContainsFunc(c.plainWords(), func(w string) bool {
		return path.Base(w) == "vllm" || strings.HasPrefix(w, "vllm.entrypoints")
	})
}

// runsAnotherModule says whether Python is told to run a module that is not vLLM's by its name: an image of vLLM may
// hold other programs, such as Dynamo's frontend.
func runsAnotherModule(words []string) bool {
	lead := leading(words)
	at := slices.Index(lead, "-m")
	return at > 0 && at+1 < len(lead) && isPython(lead[0]) && !strings.Contains(lead[at+1], "vllm")
}
