package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/nearest"
)

// errNoCommand says that no command was given and the help was printed.
var errNoCommand = errors.New("no command")

// newRoot is the command line: every command with its flags. cobra adds help for each, --version and completion.
func newRoot(t terminal) *cobra.Command {
	root := &cobra.Command{
		Use: "vllm-medic",
		Long: "vllm-medic diagnoses vLLM alerts, proposes a fix, and applies it once you approve.\n\n" +
			"Exit codes: 0 success, 1 problems found or command failed, 2 usage error.",
		Version: versionLine(), SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serve(t), sandboxCommand(t), initCommand(t), check(t), diagnose(t), test(t), replayCommand(t),
		drillCommand(t), incidents(t), reportCommand(t), auditCommand(t), pause(t), rbac(t), resume(t), supportBundle(t),
		testAlert(t), version(t))
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Short = "generate the autocompletion script of a shell"
		for _, shell := range c.Commands() {
			shell.Short = "generate the autocompletion script for " + shell.Name()
		}
	}
	complete(root)
	withHelp(root)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return errors.Join(cmd.Help(), errNoCommand)
	}
	return root
}

// complete gives every command the checks that all have: its arguments are those that its usage line names, and only a
// FILE is completed as one, also as the value of a flag.
func complete(cmd *cobra.Command) {
	cmd.Example = exampleOf(strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "vllm-medic"), " "))
	cmd.Args = namedArguments
	if cmd.HasSubCommands() {
		cmd.Args = cobra.ArbitraryArgs
		if cmd.RunE == nil {
			cmd.RunE = needsSubcommand
		}
	}
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if _, has := cmd.GetFlagCompletionFunc(f.Name); has || what == "" || what == "FILE" {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, cobra.NoFileCompletions); err != nil {
			panic(err) // the flag is there, and had none
		}
	})
	for _, below := range cmd.Commands() {
		complete(below)
	}
}

// namedArguments takes as many arguments as the usage line names; FILE... is one or more, and a last [STEP] may be left
// out.
func namedArguments(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	if cmd.Flags().Lookup(listFlag) != nil && cmd.Flags().Changed(listFlag) {
		names = nil
	}
	more := strings.HasSuffix(cmd.Use, "...")
	optional := strings.HasSuffix(cmd.Use, "]") && len(args) == len(names)-1 && len(args) > 0
	switch {
	case optional, len(args) == len(names), more && len(args) > len(names), more && strings.HasPrefix(names[0], "["):
		return nil
	case more:
		return usageError{fmt.Sprintf("%s takes at least one argument, %s; vllm-medic %s --help says more", path(cmd),
			strings.TrimSuffix(names[0], "..."), path(cmd))}
	case len(names) == 0:
		return unexpected(cmd, args[0], "takes no arguments besides its flags")
	case len(names) == 1:
		where := whereTo(names)
		if cmd.Flags().Lookup(listFlag) != nil {
			where = fmt.Sprintf("; %s --%s shows what there is", cmd.CommandPath(), listFlag)
		}
		return usageError{fmt.Sprintf("%s takes one argument, %s; got %d%s", path(cmd), names[0], len(args), where)}
	default:
		return usageError{fmt.Sprintf("%s takes %d arguments, %s; got %d%s", path(cmd), len(names),
			strings.Join(names, " "), len(args), whereTo(names))}
	}
}

// unexpected refuses an argument, which may be a configuration without its flag.
func unexpected(cmd *cobra.Command, arg, why string) error {
	text := fmt.Sprintf("%s %s; got %q", path(cmd), why, arg)
	if cmd.Flags().Lookup("config") != nil && (strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")) {
		text += "; did you mean --config " + arg + "?"
	} else if cmd.Flags().Lookup("pool") != nil {
		text += "; a pool is named with --pool " + arg
	}
	return usageError{text}
}

// whereTo says where the IDs of incidents and steps are found.
func whereTo(names []string) string {
	switch {
	case slices.Contains(names, "STEP"):
		return "; vllm-medic incidents show ID lists the steps"
	case slices.Contains(names, "ID"):
		return "; vllm-medic incidents list has the IDs"
	}
	return ""
}

// path is the command as it is called, without the name of the program.
func path(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "vllm-medic ") }

// needsSubcommand answers for a command that does nothing by itself.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return usageError{fmt.Sprintf("%s needs one of %s", path(cmd), either(subcommands(cmd)))}
}

func subcommands(cmd *cobra.Command) []string {
	var out []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			out = append(out, c.Name())
		}
	}
	return out
}

// unknownCommand names the command that may have been meant, also one below another, or all that there are.
func unknownCommand(cmd *cobra.Command, name string) error {
	prefix := strings.TrimPrefix(cmd.CommandPath()+" ", "vllm-medic ")
	meant := nearest.Name(name, subcommands(cmd))
	for _, c := range cmd.Commands() {
		if slices.Contains(subcommands(c), name) {
			meant = c.Name() + " " + name
		}
	}
	if meant != "" {
		return usageError{fmt.Sprintf("unknown command %q; did you mean %q?", prefix+name, prefix+meant)}
	}
	return usageError{fmt.Sprintf("unknown command %q; the commands are %s", prefix+name,
		strings.Join(subcommands(cmd), ", "))}
}

// helpCommand is cobra's own, but for a command that does not exist: that is wrong usage.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "show the help of a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			of, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return subcommands(of), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			of, rest, err := root.Find(args)
			switch {
			case err != nil:
				return usageError{err.Error()}
			case len(rest) > 0:
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}
