package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// flagError says what is wrong with a flag in one line, and which flag may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if bad, is := errors.AsType[*pflag.InvalidValueError](err); is && errors.As(err, new(*strconv.NumError)) {
		return usageError{fmt.Sprintf("%s: --%s %q is not a number", path(cmd), bad.GetFlag().Name, bad.GetValue())}
	}
	if !ok {
		return usageError{fmt.Sprintf("%s: %v", path(cmd), err)}
	}
	dashes, name := "--", unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		dashes, name = "-", letters // -config is read as letters, and --config is meant
	}
	name, _, _ = strings.Cut(name, "=")
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	hint := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
	if near := nearest.Name(name, known); near != "" {
		hint = "did you mean --" + near + "?"
	}
	text := fmt.Sprintf("unknown flag %s%s; %s", dashes, name, hint)
	if cmd.HasParent() {
		text = path(cmd) + ": " + text
	}
	return usageError{text}
}

// configFlag is --config, by default what VLLM_MEDIC_CONFIG says.
func configFlag(fs *pflag.FlagSet, t terminal) *string {
	return fs.String("config", t.env("VLLM_MEDIC_CONFIG"), "the configuration `FILE`; VLLM_MEDIC_CONFIG sets the default")
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
		return fmt.Errorf("must be %s", either(c.allowed))
	}
	c.value = v
	return nil
}

// Type is what pflag calls the kind of a flag.
func (*choice) Type() string { return "string" }

// choiceFlag adds a flag that takes one of a few words, the first by default, which a shell can complete.
func choiceFlag(cmd *cobra.Command, name, letter, usage string, allowed ...string) *choice {
	c := &choice{value: allowed[0], allowed: allowed}
	cmd.Flags().VarP(c, name, letter, usage)
	if err := cmd.RegisterFlagCompletionFunc(name,
		cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // it was added in the line above
	}
	return c
}

// durationFlag adds a flag that takes a duration as the configuration does, 0 by default.
func durationFlag(fs *pflag.FlagSet, name, usage string) *time.Duration {
	d := new(time.Duration)
	fs.Func(name, usage, func(text string) (err error) {
		*d, err = strictyaml.ParseDuration(text)
		return err
	})
	return d
}

// allFlag is --all, for what people read folded.
func allFlag(fs *pflag.FlagSet) *bool {
	return fs.Bool("all", false, "also print what is folded away: the whole rule, every reading and every other cause")
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// formatFlag is -o: the command's own form for people, json or yaml.
func formatFlag(cmd *cobra.Command, human string) *choice {
	return choiceFlag(cmd, "output", "o", "the `FORMAT`: "+either([]string{human, "json", "yaml"}), human, "json", "yaml")
}
