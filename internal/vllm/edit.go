package vllm

import (
	"fmt"
	"slices"
	"strings"
)

// Edit is one list of the manifest, as it is and as it should be. All other words stay as they are, byte for byte.
type Edit struct {
	// List is InCommand or InArgs.
	List          string
	Before, After []string
}

// Place says where the value of a flag is: the list of the manifest, and the word in it. Where a variable stands in
// the flag or its value, that is where the variable is put in, and not where the value is from.
func (c *CommandLine) Place(f Flag) (list string, index int) {
	list, _, index = c.list(f.value)
	return list, index
}

// Set puts another value into a flag. The value must be one that is no flag and has no $ in it, such as a number. A
// flag with a variable in it is refused: its value belongs where the variable is set.
func (c *CommandLine) Set(f Flag, value string) (Edit, error) {
	if no := f.Fixed(); no != nil {
		return Edit{}, no
	}
	name, before, i := c.list(f.value)
	after := slices.Clone(before)
	after[i] = value
	if f.joined() {
		after[i] = f.Key + "=" + value
	}
	return Edit{List: name, Before: before, After: after}, nil
}

// End is the list of the manifest that a flag is added to: args, or command where there are no args.
func (c *CommandLine) End() string {
	if len(c.from.Args) > 0 {
		return InArgs
	}
	return InCommand
}

// Add puts one more word at the end of the command line.
func (c *CommandLine) Add(word string) Edit {
	name, before := InCommand, c.from.Command
	if c.End() == InArgs {
		name, before = InArgs, c.from.Args
	}
	return Edit{List: name, Before: before, After: append(slices.Clone(before), word)}
}

// Remove takes a flag and its value away. What is in two lists is refused, and so is what a variable brings.
func (c *CommandLine) Remove(f Flag) (Edit, error) {
	name, before, from := c.list(f.name)
	if last, _, _ := c.list(f.value); last != name {
		return Edit{}, unclear(
			"%s is at the end of command and its value at the beginning of args: take it away by hand", f.Key,
		)
	}
	if no := f.Fixed(); no != nil {
		return Edit{}, no
	}
	return Edit{
		List: name, Before: before, After: slices.Delete(slices.Clone(before), from, from+f.value-f.name+1),
	}, nil
}

// Unseen refuses to take an argument for absent where the environment may give it: wrappers make flags of variables,
// and what envFrom brings is in other objects. vLLM itself makes none, so where the manifest starts it directly,
// unseen variables do not matter; one that mentions the argument was put there for something. The error is an
// UnclearError.
func (c *CommandLine) Unseen(name string) error {
	a, _ := argument(name)
	for _, v := range c.from.Env {
		if a.in(strings.ToLower(v.Name)) || a.in(v.Value) {
			return unclear("--%s is not among the arguments, and the variable %s may give it", a.Name, v.Name)
		}
	}
	if c.from.EnvFrom && !c.Direct() {
		return unclear(
			"--%s is not among the arguments, and the variables that envFrom brings may give it: they cannot be seen",
			a.Name,
		)
	}
	return nil
}

// Written is how an argument is added: --NAME=VALUE.
func Written(name, value string) string { return fmt.Sprintf("--%s=%s", name, value) }
