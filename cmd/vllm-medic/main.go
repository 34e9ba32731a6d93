// The program vllm-medic is an on-call assistant for teams running vLLM on Kubernetes.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/vllm-medic/vllm-medic/internal/app"
)

// Exit codes: done; a finding or a failure; wrong usage.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
)

func main() {
	app.LogClientGo(slog.New(slog.DiscardHandler)) // commands say what went wrong themselves; serve sends it to its log
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

// env is the value of an environment variable, empty when it is not set.
func (t terminal) env(name string) string {
	v, _ := t.getenv(name)
	return v
}

// usageError says that the command was called wrongly; its text names what would be right.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func run(ctx context.Context, args []string, t terminal) int {
	root := newRoot(t)                        //nolint:contextcheck // each command takes the context of its execution
	root.SetArgs(append([]string{}, args...)) // without arguments of its own, cobra takes those of the process
	return exitCode(root.ExecuteContext(ctx), t)
}

// exitCode says what went wrong, and with which code the program ends.
func exitCode(err error, t terminal) int {
	var wrong usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNoCommand):
		return exitUsage
	case errors.As(err, &wrong):
		say(t.err, "vllm-medic: %s\n", wrong.text)
		return exitUsage
	case errors.Is(err, errFound):
		return exitFail
	case errors.As(err, new(configErrors)):
		say(t.err, "%v\n", err)
		return exitFail
	default:
		say(t.err, "vllm-medic: %v\n", err)
		return exitFail
	}
}

// errFound says that a finding has been printed already.
var errFound = errors.New("found")
