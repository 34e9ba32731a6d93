// Command trial plays what can happen to a fleet of vLLM engines under different hands and prints what came of it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// errUsage marks an error on the command line (exit code 2).
var errUsage = errors.New("usage")

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("trial", flag.ContinueOnError)
	flags.SetOutput(stderr)
	seeds := flags.Int("seeds", 20, "plays of each script under each hand")
	names := flags.String("scripts", "", "names, separated by commas; all when empty")
	list := flags.Bool("list", false, "print the scripts and end")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *seeds < 1 || flags.NArg() > 0 {
		return fmt.Errorf("%w: --seeds must be at least 1, and there are no arguments", errUsage)
	}
	scripts, err := chosen(*names)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *list {
		for _, s := range scripts {
			if _, err := fmt.Fprintf(stdout, "%-16s %s\n", s.Name, s.Summary); err != nil {
				return err
			}
		}
		return nil
	}
	rows, err := trial.Run(scripts, trial.Hands(), *seeds, trial.DefaultSLO())
	if err != nil {
		return err
	}
	return trial.Write(stdout, rows)
}

func chosen(names string) ([]trial.Script, error) {
	if names == "" {
		return trial.Scripts(), nil
	}
	var out []trial.Script
	for name := range strings.SplitSeq(names, ",") {
		s, err := trial.Find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
