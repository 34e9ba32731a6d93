// Command verdict ends .ci/run: it prints in one line how the run went, adds the line to the log of runs on this
// machine, and ends with 1 when the run was red. Its arguments are what failed beside the tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/test/gate"
)

func main() {
	events := flag.String("events", "", "the `file` with what go test told; where it is missing nothing was tested")
	code := flag.Int("code", 0, "how the tests ended")
	seconds := flag.Int("seconds", 0, "how long the run took")
	tree := flag.String("tree", "", "the `hash` of what was tested")
	page := flag.String("parts", "", "the `file` with the parts of which each test has to be one that was left out")
	log := flag.String("log", "", "the `file` that gets a line for each run")
	flag.Parse()
	took := time.Duration(*seconds) * time.Second
	outcome, err := readOutcome(*events, *code, flag.Args())
	if err == nil {
		err = partOf(&outcome, *page)
	}
	if err == nil {
		err = appendRecord(*log, outcome.Record(time.Now(), *tree, took))
	}
	if err != nil {
		outcome.Failed = append(outcome.Failed, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	fmt.Println(outcome.Line(took))
	if !outcome.Green() {
		os.Exit(1)
	}
}

// readOutcome returns the outcome of the tests, and of what else failed. Where the tests ended with another code than 0
// and none of them failed, something ended them.
func readOutcome(events string, code int, failed []string) (gate.Outcome, error) {
	f, err := os.Open(events) //nolint:gosec // a file that whoever starts this names
	if errors.Is(err, fs.ErrNotExist) {
		return gate.Outcome{Failed: append([]string{"no test ran"}, failed...)}, nil
	}
	if err != nil {
		return gate.Outcome{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	outcome, err := gate.Read(f)
	if err != nil {
		return gate.Outcome{}, err
	}
	if code != 0 && outcome.Green() {
		outcome.Failed = []string{fmt.Sprintf("the tests, with code %d", code)}
	}
	outcome.Failed = append(outcome.Failed, failed...)
	return outcome, nil
}

// partOf has a test fail that was left out for its size and that no part of the page runs.
func partOf(outcome *gate.Outcome, page string) error {
	text, err := os.ReadFile(page) //nolint:gosec // as above
	if err != nil {
		return err
	}
	parts, err := gate.Parts(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	for _, test := range gate.WithoutPart(outcome.Larger, parts) {
		outcome.Failed = append(outcome.Failed, test+" (left out, and in no part of "+page+")")
	}
	return nil
}

// appendRecord adds the line to the log, which it makes where there is none; no path means no log.
func appendRecord(path, line string) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // as above
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
