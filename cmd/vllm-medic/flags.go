package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// errHelp says that the help of a command was printed.
var errHelp = errors.New("help")

// parse reads the flags of a command, before and after its arguments, and refuses arguments beyond the named ones.
func parse(fs *flag.FlagSet, args []string, t terminal, names ...string) ([]string, error) {
	rest, err := parseAny(fs, args, t, names...)
	if err == nil && len(rest) != len(names) {
		err = usageError{fmt.Sprintf("%s takes %s; got %d", fs.Name(), describe(names), len(rest))}
	}
	return rest, err
}

// parseAny is parse for a command that takes any number of arguments; names are for its help.
func parseAny(fs *flag.FlagSet, args []string, t terminal, names ...string) ([]string, error) {
	// The package flag would print the mistake and the whole help; one line is enough.
	fs.SetOutput(io.Discard)
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, help(t.out, fs, names)
			}
			return nil, usageError{fmt.Sprintf("%s: %v; vllm-medic %s -h lists the flags", fs.Name(), err, fs.Name())}
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

func describe(names []string) string {
	switch len(names) {
	case 0:
		return "no arguments beside its flags"
	case 1:
		return "one argument, " + names[0]
	default:
		return fmt.Sprintf("%d arguments, %s", len(names), strings.Join(names, " "))
	}
}

func help(w io.Writer, fs *flag.FlagSet, names []string) error {
	say(w, "Usage: vllm-medic %s\n\nFlags:\n", strings.Join(slices.Concat([]string{fs.Name()}, names, []string{"[flags]"}), " "))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fs.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		name := "--" + f.Name
		if len(f.Name) == 1 {
			name = "-" + f.Name
		}
		if f.DefValue != "" && f.DefValue != "false" {
			text += " (default " + f.DefValue + ")"
		}
		say(tw, "  %s\t%s\n", strings.TrimSpace(name+" "+value), text)
	})
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the help: %w", err)
	}
	return errHelp
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

// String is the chosen word.
func (c *choice) String() string { return c.value }

// Set refuses a word that is not allowed.
func (c *choice) Set(v string) error {
	if !slices.Contains(c.allowed, v) {
		return fmt.Errorf("it is %s", either(c.allowed))
	}
	c.value = v
	return nil
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// formatFlag is -o: the command's own form for people, json or yaml.
func formatFlag(fs *flag.FlagSet, human string) *choice {
	c := &choice{value: human, allowed: []string{human, "json", "yaml"}}
	fs.Var(c, "o", "the `FORMAT`: "+either(c.allowed))
	return c
}
