package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// underHeading names, on a flag, the heading that its help is under; a flag without it is the command's own.
const underHeading = "vllm-medic/heading"

// Flags that are the same in many commands come last in their help, under these headings.
const (
	headingBot        = "To reach the bot"
	headingPrometheus = "To reach Prometheus"
)

// headed puts the flags that add adds under a heading.
func headed(fs *pflag.FlagSet, heading string, add func()) {
	before := map[string]bool{}
	fs.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add()
	fs.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			if f.Annotations == nil {
				f.Annotations = map[string][]string{}
			}
			f.Annotations[underHeading] = []string{heading}
		}
	})
}

// withHelp gives the program its help: cobra's, in lines that fit, with what reaches the bot or Prometheus last.
func withHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage(cmd.OutOrStderr(), cmd) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := &sheet{to: cmd.OutOrStdout(), width: columns}
		say(out, "%s\n\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
		_ = usage(out, cmd) // a terminal that is gone cannot be told so
	})
}

func usage(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !cmd.HasSubCommands() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	} else {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	for _, heading := range []string{"", headingBot, headingPrometheus} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if strings.Join(f.Annotations[underHeading], "") == heading {
				flags.AddFlag(f)
			}
		})
		if flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", cmp.Or(heading, "Flags"), flags.FlagUsagesWrapped(columns))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
