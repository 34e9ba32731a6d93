// Command verdict ends .ci/run: it prints where the time went, a stage on a line, and how the run went in one line,
// which it adds to the log of runs on this machine, and ends with 1 when the run was red. What a test said that failed
// and passed again is added to flakes.log beside it. Its arguments are what failed beside the tests.
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
	var r run
	flag.StringVar(&r.folder, "events", "", "the `folder` with what scripts/test.sh kept of the tests")
	flag.StringVar(&r.tree, "tree", "", "the `hash` of what was tested")
	flag.StringVar(&r.log, "log", "", "the `file` that gets a line for each run")
	flag.StringVar(&r.parts, "parts", "", "the `file` with the parts of the large tests")
	flag.StringVar(&r.flaky, "flaky", "", "the `file` with the tests that are known to be flaky")
	code := flag.Int("code", 0, "how the tests ended")
	seconds := flag.Int("seconds", 0, "how long the run took")
	flag.Parse()
	took := time.Duration(*seconds) * time.Second
	outcome, err := r.ofTests(*code)
	if err == nil {
		err = r.printStages(outcome)
	}
	outcome.Failed = append(outcome.Failed, flag.Args()...)
	if err == nil {
		err = appendTo(r.log, outcome.Record(time.Now(), r.tree, took))
	}
	for _, test := range outcome.Flaky {
		if err == nil {
			err = appendTo(filepath.Join(filepath.Dir(r.log), "flakes.log"), r.tree+" "+test+"\n"+outcome.Said[test])
		}
	}
	if err != nil {
		outcome.Failed = append(outcome.Failed, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	fmt.Println(outcome.Line(took))
	if !outcome.Green() {
		os.Exit(1)
	}
}

// run is what is known of one: a folder, the hash of a tree, and files.
type run struct{ folder, tree, log, parts, flaky string }

// ofTests is the outcome of the tests. Where they ended with another code than 0 and none of them failed, something
// ended them; where all.json is missing none ran. A test that is too large for the run fails when no part has it, and
// one that was flaky before when it is not on the list.
func (r run) ofTests(code int) (gate.Outcome, error) {
	out, err := r.readStage("all")
	if errors.Is(err, fs.ErrNotExist) {
		return gate.Outcome{Failed: []string{"no test ran"}}, nil
	}
	if err != nil {
		return gate.Outcome{}, err
	}
	if code != 0 && out.Green() {
		out.Failed = []string{fmt.Sprintf("the tests, with code %d", code)}
	}
	page, err := os.ReadFile(r.parts)
	if err != nil {
		return out, err
	}
	parts, err := gate.Parts(string(page))
	if err != nil {
		return out, fmt.Errorf("%s: %w", r.parts, err)
	}
	for _, test := range gate.WithoutPart(out.Larger, parts) {
		out.Failed = append(out.Failed, test+" (left out, and in no part of "+r.parts+")")
	}
	log, err := os.ReadFile(r.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if page, err = os.ReadFile(r.flaky); err != nil {
		return out, err
	}
	for _, test := range gate.Unlisted(string(log), string(page), time.Now()) {
		out.Failed = append(out.Failed, test+" (flaky before, and not in "+r.flaky+")")
	}
	return out, nil
}

// readStage reads what go test told in one of the stages, or "all" of it.
func (r run) readStage(stage string) (gate.Outcome, error) {
	f, err := os.Open(filepath.Join(r.folder, stage+".json")) //nolint:gosec // a file that scripts/test.sh made
	if err != nil {
		return gate.Outcome{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return gate.Read(f)
}

// printStages prints the table of the stages; the file times has a line for each that began: its name and its seconds.
func (r run) printStages(all gate.Outcome) error {
	text, err := os.ReadFile(filepath.Join(r.folder, "times"))
	if err != nil {
		return err
	}
	var stages []gate.Stage
	for line := range strings.Lines(string(text)) {
		var seconds int
		var s gate.Stage
		if _, err := fmt.Sscan(line, &s.Name, &seconds); err != nil {
			return fmt.Errorf("the times of the stages: %q: %w", line, err)
		}
		s.Took = time.Duration(seconds) * time.Second
		switch of, err := r.readStage(s.Name); {
		case err == nil:
			s.Tests, s.Larger = of.Tests, len(of.Larger)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case s.Name == "again":
			s.Again = len(all.Failed) + len(all.Flaky)
		}
		stages = append(stages, s)
	}
	fmt.Print(gate.Table(stages))
	return nil
}

// appendTo adds the line to the log, which it makes where there is none.
func appendTo(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // a file that is asked for
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}
