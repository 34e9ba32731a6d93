package vllm

import (
	"regexp"
	"strings"
)

// Flag is one occurrence of a flag that has a value.
type Flag struct {
	// Key is the flag's name as it is written, dashes included; Value is its value as vLLM gets it.
	Key, Value string
	// Variable names an environment variable that stands in the flag or in its value; empty when both are written out.
	Variable string
	// name is the index of the word that has the name, value of the one that has the value: the same when they are
	// joined by "=".
	name, value int
}

func (f Flag) joined() bool { return f.name == f.value }

// String is the flag as it is written.
func (f Flag) String() string { return f.With(f.Value) }

// With is the flag with another value, written the same way.
func (f Flag) With(value string) string {
	if f.joined() {
		return f.Key + "=" + value
	}
	return f.Key + " " + value
}

// shown is the value as it may be shown: what a variable brings may be a secret.
func (f Flag) shown() string {
	if f.Variable != "" {
		return "$(" + f.Variable + ")"
	}
	return f.Value
}

// Fixed says why the flag cannot be changed on the command line; nil when it can. It is an UnclearError.
func (f Flag) Fixed() error {
	if f.Variable == "" {
		return nil
	}
	return unclear(
		"the value of %s comes from a variable (%s): it has to be changed where the variable is set", f.Key, f.shown(),
	)
}

// Last is the occurrence of an argument that counts, and how many there are; none is no error. An error is an
// UnclearError.
func (c *CommandLine) Last(name string) (last Flag, count int, err error) {
	all, doubt := c.occurrences(name)
	if doubt != nil {
		return Flag{}, 0, doubt
	}
	if len(all) == 0 {
		return Flag{}, 0, nil
	}
	last = all[len(all)-1]
	if c.words[last.value].unknown >= 0 {
		return Flag{}, 0, last.Fixed()
	}
	return last, len(all), nil
}

// occurrences finds all of an argument, in order. A value from a variable that is not known does no harm where a
// later one counts.
func (c *CommandLine) occurrences(name string) ([]Flag, *UnclearError) {
	a, _ := argument(name)
	if doubt := c.doubtAbout(a); doubt != nil {
		return nil, doubt
	}
	var out []Flag
	for i, w := range c.words {
		got, value, joined := SplitFlag(w.text)
		if got != a.Name {
			continue
		}
		f := Flag{name: i, value: i, Key: w.key(), Value: value, Variable: w.variable}
		if !joined {
			if i+1 == len(c.words) || !a.mayBeValue(c.text[i+1]) {
				return nil, unclear("%s has no value", f.Key)
			}
			next := c.words[i+1]
			f.value, f.Value = i+1, next.text
			if f.Variable == "" {
				f.Variable = next.variable
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// mayBeValue says whether argparse takes the word behind a flag for its value.
func (a Argument) mayBeValue(text string) bool {
	return !strings.HasPrefix(text, "-") || a.Auto && text == "-1"
}

// doubtAbout says why this one argument is unclear although the line as a whole is not: an abbreviation, which
// argparse allows, and another place that mentions it. vLLM for Ascend takes settings of the scheduler out of
// --additional-config, for one.
func (c *CommandLine) doubtAbout(a Argument) *UnclearError {
	if c.doubt != nil {
		return c.doubt
	}
	for i, w := range c.words {
		name, _, _ := SplitFlag(w.text)
		switch {
		case abbreviates(w.text, name, a):
			return unclear("%s is an abbreviation of --%s, or of another flag: write it out", w.key(), a.Name)
		case name != a.Name && name != "no-"+a.Name && !c.drafts(i) && a.in(besideName(w.text)):
			return unclear(
				"--%s also stands in an argument that is not the flag itself, so it cannot be changed with certainty",
				a.Name,
			)
		}
	}
	if c.Direct() {
		return nil // vLLM itself reads no argument out of a variable
	}
	for _, v := range c.from.Env {
		if a.in(v.Value) {
			return unclear("the variable %s mentions --%s: it has to be changed there", v.Name, a.Name)
		}
	}
	return nil
}

// drafts says whether the word belongs to the draft model of speculative decoding, which has arguments of the same
// names.
func (c *CommandLine) drafts(i int) bool {
	if isDraft, _ := draftFlag(c.text[i]); isDraft {
		return true
	}
	if i == 0 || strings.HasPrefix(c.text[i], "-") {
		return false
	}
	isDraft, joined := draftFlag(c.text[i-1])
	return isDraft && !joined
}

// draftFlag says whether a word is --speculative-config or a part of it.
func draftFlag(text string) (is, joined bool) {
	name, _, joined := SplitFlag(text)
	head, _, _ := strings.Cut(name, ".")
	return head == speculativeConfig, joined
}

// flagName is how the names of flags are made that have no part of JSON in them.
var flagName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9\-]*$`)

// besideName is what of a word is no flag's name: its value, or all of it.
func besideName(text string) string {
	if name, value, _ := SplitFlag(text); flagName.MatchString(name) {
		return value
	}
	return text
}

// in says whether a text has the argument's name in it, in either spelling.
func (a Argument) in(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, "_", "-"), a.Name)
}

// Has says whether a flag is there, in any form. A flag that only a variable may bring is not.
func (c *CommandLine) Has(name string) bool {
	for _, w := range c.words {
		if got, _, _ := SplitFlag(w.text); got == name {
			return true
		}
	}
	return false
}

// Given is one flag on the command line.
type Given struct {
	// Name is the flag's long name with dashes and without those that it begins with; what is behind a dot stays. Key
	// is the name as it is written.
	Name, Key string
}

// Flags are all flags on the command line, in order.
func (c *CommandLine) Flags() []Given {
	var out []Given
	for _, w := range c.words {
		if name, _, _ := SplitFlag(w.text); name != "" {
			out = append(out, Given{Name: name, Key: w.key()})
		}
	}
	return out
}

// Switched reads an argument that switches: --NAME, --NAME=true, --NAME true, --no-NAME. The last one counts. known
// is false when it is not there. An error is an UnclearError.
func (c *CommandLine) Switched(name string) (on, known bool, err error) {
	a, _ := argument(name)
	if doubt := c.doubtAbout(a); doubt != nil {
		return false, false, doubt
	}
	for i, w := range c.words {
		got, value, joined := SplitFlag(w.text)
		switch {
		case got == "no-"+a.Name && joined:
			return false, false, unclear("%s takes no value", w.key())
		case got == "no-"+a.Name:
			on, known = false, true
		case got == a.Name:
			f := Flag{Value: value, Variable: w.variable}
			if !joined && i+1 < len(c.words) && !strings.HasPrefix(c.text[i+1], "-") {
				f = Flag{Value: c.text[i+1], Variable: c.words[i+1].variable}
			}
			if on, known = readSwitch(f.Value); !known {
				return false, false, unclear("whether %s is on cannot be read from %q", w.key(), f.shown())
			}
		}
	}
	return on, known, nil
}

func readSwitch(value string) (on, ok bool) {
	switch strings.ToLower(value) {
	case "", "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}
