package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand is the whole tree, cobra's own commands too.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		out = append(out, everyCommand(c)...)
	}
	return out
}

func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var b bytes.Buffer
	cmd.SetOut(&b)
	cmd.InitDefaultHelpFlag()
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEveryHelpHasAnExampleAndFitsIn100Columns(t *testing.T) {
	t.Parallel()
	root := newRoot(terminal{getenv: os.LookupEnv})
	left := examples()
	for _, cmd := range everyCommand(root) {
		name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "vllm-medic"), " ")
		delete(left, name)
		if strings.HasPrefix(name, "completion ") { // cobra's own help shows how
			continue
		}
		text := helpOf(t, cmd)
		if !strings.Contains(text, "\nExamples:\n  vllm-medic ") {
			t.Errorf("the help of %q has no example:\n%s", name, text)
		}
		for line := range strings.Lines(text) {
			if shown(strings.TrimSuffix(line, "\n")) > columns {
				t.Errorf("the help of %q has a long line: %s", name, line)
			}
		}
		if r := strings.TrimPrefix(cmd.Short, "vllm-medic"); r != "" && strings.ToLower(r[:1]) != r[:1] {
			t.Errorf("%q begins with a capital, unlike the others: %s", name, cmd.Short)
		}
	}
	for name := range left {
		t.Errorf("there is no command %q for its example", name)
	}
}

// An example is parsed by the command itself, so that none outlives a flag or an argument.
func TestEveryExampleCanBeCalled(t *testing.T) {
	t.Parallel()
	for name, lines := range examples() {
		for _, line := range lines {
			call, _, _ := strings.Cut(line, " #")
			call, _, _ = strings.Cut(call, " > ")
			root := newRoot(terminal{getenv: os.LookupEnv})
			cmd, rest, err := root.Find(strings.Fields(call)[1:])
			if err != nil || name != "" && !strings.HasPrefix(cmd.CommandPath()+" ", "vllm-medic "+name+" ") {
				t.Errorf("%s: it calls %q: %v", line, cmd.CommandPath(), err)
				continue
			}
			cmd.InitDefaultHelpFlag()
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// What reaches the bot is the same everywhere, and must not drown what a command is called for.
func TestTheFlagsThatReachTheBotComeLast(t *testing.T) {
	t.Parallel()
	root := newRoot(terminal{getenv: os.LookupEnv})
	seen := 0
	for _, cmd := range everyCommand(root) {
		server := cmd.Flags().Lookup("server")
		if server == nil {
			continue
		}
		seen++
		text := helpOf(t, cmd)
		own, last, _ := strings.Cut(text, "\n"+headingBot+":\n")
		if !strings.Contains(last, "--tls-server-name") || !strings.Contains(own, "--help") {
			t.Errorf("%s:\n%s", cmd.CommandPath(), text)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("the help of %s lacks --%s", cmd.CommandPath(), f.Name)
			}
		})
	}
	if seen < 10 {
		t.Errorf("only %d commands ask the bot", seen)
	}
}
