// The program vllm-medic is the on-call colleague of people who serve models with vLLM on Kubernetes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes: done; a finding or a failure; wrong usage.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv})
	stop()
	os.Exit(code)
}

// terminal is where a command reads and writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) (string, bool)
}

// usageError says that the command was called wrongly; its text names what would be right.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// command is one subcommand.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, t terminal) error
}

func commands() []command {
	return []command{
		{"serve", "run the bot", serve},
		{"check", "check the configuration and the playbooks; all mistakes at once", check},
		{"diagnose", "evidence, diagnosis and plan for one payload or pool; writes nothing", diagnose},
		{"test", "unit tests of playbooks: input series, and what must come out", test},
		{"incidents", "list, show, ack, approve, deny, undo, abort and close incidents", incidents},
		{"pause", "stop all writes, or those of one pool", pause},
		{"resume", "allow writes again", resume},
		{"version", "version, commit, Go, store schema", version},
	}
}

func run(ctx context.Context, args []string, t terminal) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(t.out)
		if len(args) == 0 {
			return exitUsage
		}
		return exitDone
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return report(c.run(ctx, args[1:], t), t)
		}
	}
	return report(usageError{fmt.Sprintf("there is no command %q; vllm-medic help lists them", args[0])}, t)
}

func report(err error, t terminal) int {
	var wrong usageError
	switch {
	case err == nil || errors.Is(err, errHelp):
		return exitDone
	case errors.As(err, &wrong):
		say(t.err, "vllm-medic: %s\n", wrong.text)
		return exitUsage
	case errors.Is(err, errFound):
		return exitFail
	case errors.As(err, new(mistakes)):
		say(t.err, "%v\n", err)
		return exitFail
	default:
		say(t.err, "vllm-medic: %v\n", err)
		return exitFail
	}
}

// errFound says that a finding has been printed already.
var errFound = errors.New("found")

func usage(w io.Writer) {
	say(w, "vllm-medic: from an alert to a verified change, with a human in between.\n\nUsage: vllm-medic COMMAND [flags]\n\n")
	for _, c := range commands() {
		say(w, "  %-10s %s\n", c.name, c.summary)
	}
	say(w, "\nvllm-medic COMMAND -h shows the flags of a command. Exit codes: 0 done, 1 a finding or a failure, 2 wrong usage.\n")
}
