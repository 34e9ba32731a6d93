package actions

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// commandLine is what a container starts, as its manifest has it: command first, then args.
type commandLine struct {
	command, args []string
}

// words are all arguments in the order in which vLLM gets them.
func (c commandLine) words() []string { return slices.Concat(c.command, c.args) }

// list says which list of the manifest has the word of this index, and where.
func (c commandLine) list(word int) (name string, list []string, index int) {
	if word < len(c.command) {
		return "command", c.command, word
	}
	return "args", c.args, word - len(c.command)
}

// flag is one occurrence of a flag.
type flag struct {
	// name is the index of the word that has the name, value of the one that has the value: the same when they are joined by "=".
	name, value int
	// text is the value as it is written, key the name as it is written.
	key, text string
}

func (f flag) joined() bool { return f.name == f.value }

// String is the flag as it is written.
func (f flag) String() string { return f.with(f.text) }

// with is the flag with another value, written the same way.
func (f flag) with(value string) string {
	if f.joined() {
		return f.key + "=" + value
	}
	return f.key + " " + value
}

// splitFlag returns the name of a flag with dashes, as vLLM compares it: underscores up to the first dot count as dashes
// (vllm/utils/argparse_utils.py, FlexibleArgumentParser.parse_args). name is empty when the word is no long flag.
func splitFlag(word string) (name, value string, joined bool) {
	if !strings.HasPrefix(word, "--") {
		return "", "", false
	}
	key, value, joined := strings.Cut(word[2:], "=")
	head, tail, dotted := strings.Cut(key, ".")
	name = strings.ReplaceAll(head, "_", "-")
	if dotted {
		name += "." + tail
	}
	return name, value, joined
}

// flags finds every occurrence of a flag that takes a value, in order; the last one counts. What cannot be read with certainty is refused: a flag
// without a value, one that is abbreviated (which argparse allows), and a value that Kubernetes puts in from a variable.
func flags(words []string, name string) ([]flag, error) {
	var out []flag
	for i, w := range words {
		got, value, joined := splitFlag(w)
		if got != name {
			if got != "" && strings.HasPrefix(name, got) {
				return nil, refused("%s is an abbreviation of --%s, or of another flag: write it out", keyOf(w), name)
			}
			continue
		}
		f := flag{name: i, value: i, key: keyOf(w), text: value}
		if !joined {
			if i+1 >= len(words) || strings.HasPrefix(words[i+1], "-") {
				return nil, refused("%s has no value", f.key)
			}
			f.value, f.text = i+1, words[i+1]
		}
		if strings.Contains(f.text, "$(") {
			return nil, refused("the value of %s comes from a variable (%s): it has to be changed where the variable is set", f.key, f.text)
		}
		out = append(out, f)
	}
	return out, nil
}

func keyOf(word string) string {
	key, _, _ := strings.Cut(word, "=")
	return key
}

// lastFlag is the occurrence that counts; found is false when there is none.
func lastFlag(words []string, name string) (f flag, found bool, err error) {
	all, err := flags(words, name)
	if err != nil || len(all) == 0 {
		return flag{}, false, err
	}
	return all[len(all)-1], true, nil
}

// has says whether a flag is there, in any form.
func has(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		got, _, _ := splitFlag(w)
		return got == name
	})
}

// onOff reads a flag that switches: --NAME, --NAME=true, --NAME true, --no-NAME. The last one counts. known is false when it is not there.
func onOff(words []string, name string) (on, known bool, err error) {
	for i, w := range words {
		got, value, joined := splitFlag(w)
		switch got {
		case "no-" + name:
			if joined {
				return false, false, refused("%s takes no value", keyOf(w))
			}
			on, known = false, true
			continue
		case name:
		default:
			if len(got) > len("enable-") && (strings.HasPrefix(name, got) || strings.HasPrefix("no-"+name, got)) {
				return false, false, refused("%s is an abbreviation of --%s: write it out", keyOf(w), name)
			}
			continue
		}
		if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			value = words[i+1]
		}
		switch strings.ToLower(value) {
		case "", "true":
			on, known = true, true
		case "false":
			on, known = false, true
		default:
			return false, false, refused("whether %s is on cannot be read from %q", keyOf(w), value)
		}
	}
	return on, known, nil
}

// withValue returns the list of the manifest that has the flag's value, with another value in it. All other words stay as they are, byte for byte.
func (c commandLine) withValue(f flag, value string) (name string, before, after []string) {
	name, before, i := c.list(f.value)
	after = slices.Clone(before)
	after[i] = value
	if f.joined() {
		after[i] = f.key + "=" + value
	}
	return name, before, after
}

// end is the list of the manifest that a flag is added to: args, or command where there are no args.
func (c commandLine) end() (name string, list []string) {
	if len(c.args) > 0 {
		return "args", c.args
	}
	return "command", c.command
}

// withAdded returns the list of the manifest that ends the command line, with one more word at its end.
func (c commandLine) withAdded(word string) (name string, after []string) {
	name, before := c.end()
	return name, append(slices.Clone(before), word)
}

// without returns the list of the manifest that has the flag, with neither the flag nor its value. What is in two lists is refused.
func (c commandLine) without(f flag) (name string, after []string, err error) {
	name, before, from := c.list(f.name)
	if last, _, _ := c.list(f.value); last != name {
		return "", nil, refused("%s is at the end of command and its value at the beginning of args: take it away by hand", f.key)
	}
	return name, slices.Delete(slices.Clone(before), from, from+f.value-f.name+1), nil
}

// secretValues are the words that must never be shown: the values of flags, and of variables, whose name speaks of a secret.
func (c commandLine) secretValues(env []variable) []string {
	var out []string
	add := func(s string) {
		if len(s) > 3 {
			out = append(out, s)
		}
	}
	hidden := false
	for _, w := range c.words() {
		if strings.HasPrefix(w, "-") {
			_, value, joined := splitFlag(w)
			hidden = speaksOfSecret(keyOf(w))
			if hidden && joined {
				add(value)
			}
			continue
		}
		if hidden {
			add(w)
		}
	}
	for _, v := range env {
		if speaksOfSecret(v.name) {
			add(v.value)
		}
	}
	return out
}

func speaksOfSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "password", "credential"}, func(s string) bool {
		// max_num_batched_tokens and its kin are no secrets.
		return strings.Contains(strings.ReplaceAll(name, "tokens", ""), s)
	})
}

// variable is an environment variable of the container. known is false when its value is in a Secret, a ConfigMap or a field.
type variable struct {
	name, value string
	known       bool
}

// lookUp finds a variable; the last of a name counts, as for Kubernetes.
func lookUp(env []variable, name string) (variable, bool) {
	for _, v := range slices.Backward(env) {
		if v.name == name {
			return v, true
		}
	}
	return variable{}, false
}

// unreadable says why a command line cannot be read with certainty; nil when it can.
func (c commandLine) unreadable(env []variable) *incident.RefusedError {
	if err := c.program(); err != nil {
		return err
	}
	if err := c.elsewhere(env); err != nil {
		return err
	}
	return c.expanding(env)
}
