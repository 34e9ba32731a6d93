// Package gate reads what go test told of a run, reruns included, and says in one line how it went.
package gate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// module begins the import path of every package of ours.
const module = "github.com/vllm-medic/vllm-medic/"

// Outcome is how a run went. Tests are named as "test/crash TestX/y", what has no test as "test/crash".
type Outcome struct {
	// Failed did not pass when they ran last, broke without a test that failed (no rerun tells more about those), or were
	// skipped for another reason than their size.
	Failed []string
	// Flaky failed, and passed when they ran again.
	Flaky []string
	// Said is what each of those said when it failed first.
	Said map[string]string
	// Tests are how many ended, subtests included, each counted once.
	Tests int
	// Larger was skipped because it is larger than the run, and did not run with a larger size later on.
	Larger []string
}

// testName is that of one of them; its name is empty for what a package says of itself.
type testName struct{ pkg, name string }

func (t testName) String() string {
	return strings.TrimSpace(strings.TrimPrefix(t.pkg, module) + " " + t.name)
}

// event is one of cmd/test2json, as far as it is read.
type event struct {
	Action, Package, Test, Output string
}

func (e event) testName() testName { return testName{e.Package, e.Test} }

// readEvents reads the events. A line that is none is an error.
func readEvents(events io.Reader, read func(event)) error {
	lines := bufio.NewReader(events)
	for n := 1; ; n++ {
		line, end := lines.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return fmt.Errorf("read the events of the tests: %w", end)
		}
		if len(line) == 0 {
			return nil
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the events of the tests, line %d: %w", n, err)
		}
		read(e)
	}
}

// Read reads the events of all runs of a test, the oldest first. A line that is no event is an error.
func Read(events io.Reader) (Outcome, error) {
	failed := map[testName]bool{} // whether it failed when it ran last, for those that ever did
	broken := map[testName]bool{}
	blamed := map[string]bool{}  // packages with a test that failed since they began
	sized := map[testName]bool{} // tests that said that the run is too small for them
	larger, skipped, ended := map[testName]bool{}, map[testName]bool{}, map[testName]bool{}
	saying, said := map[testName]*strings.Builder{}, map[testName]string{} // in this run; when it failed first
	err := readEvents(events, func(e event) {
		t := e.testName()
		if t.name != "" && (e.Action == "pass" || e.Action == "fail") {
			ended[t] = true
		}
		switch {
		case e.Action == "run": // again, maybe with a larger size
			delete(sized, t)
			delete(larger, t)
			saying[t] = &strings.Builder{}
		case e.Action == "output":
			if saying[t] != nil {
				_, _ = saying[t].WriteString(e.Output) // a Builder takes everything
			}
			if _, ok := size.OfSkip(e.Output); ok {
				sized[t] = true
			}
		case e.Action == "skip" && sized[t]:
			larger[t] = true
		case e.Action == "skip" && e.Test != "": // a package without tests is skipped, too
			skipped[t] = true
		case e.Action == "start":
			blamed[e.Package] = false
		case e.Action == "fail" && e.Test != "":
			failed[t], blamed[e.Package] = true, true
			if said[t] == "" && saying[t] != nil {
				said[t] = saying[t].String()
			}
		case e.Action == "fail" && !blamed[e.Package]:
			broken[t] = true
		case e.Action == "pass" && failed[t]:
			failed[t] = false
		}
		if e.Action == "pass" || e.Action == "skip" || e.Action == "fail" {
			delete(saying, t)
		}
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Tests: len(ended), Said: map[string]string{}}
	for _, t := range slices.SortedFunc(maps.Keys(larger), byName) {
		out.Larger = append(out.Larger, t.String())
	}
	for _, t := range slices.SortedFunc(maps.Keys(failed), byName) {
		switch {
		case hasFailedBelow(failed, t):
		case failed[t]:
			out.Failed = append(out.Failed, t.String())
		default:
			out.Flaky = append(out.Flaky, t.String())
			out.Said[t.String()] = said[t]
		}
	}
	for _, t := range slices.SortedFunc(maps.Keys(broken), byName) {
		out.Failed = append(out.Failed, t.String())
	}
	for _, t := range slices.SortedFunc(maps.Keys(skipped), byName) {
		out.Failed = append(out.Failed, t.String()+" (skipped)")
	}
	return out, nil
}

func byName(a, b testName) int { return strings.Compare(a.String(), b.String()) }

// hasFailedBelow says whether it failed because a subtest of it did, which is named in its place.
func hasFailedBelow(failed map[testName]bool, t testName) bool {
	for other, is := range failed {
		if other.pkg == t.pkg && strings.HasPrefix(other.name, t.name+"/") && is == failed[t] {
			return true
		}
	}
	return false
}

// Green says whether nothing failed in the end.
func (o Outcome) Green() bool { return len(o.Failed) == 0 }

// Line is what is read first: "GREEN in 41 min, 1 flaky: test/crash TestX/y" or "RED in 44 min: test/crash TestX/y".
func (o Outcome) Line(took time.Duration) string {
	out := fmt.Sprintf("GREEN in %d min", int(took.Minutes()))
	if !o.Green() {
		out = fmt.Sprintf("RED in %d min: %s", int(took.Minutes()), strings.Join(o.Failed, ", "))
	}
	if len(o.Larger) > 0 {
		out += fmt.Sprintf(", %d skipped by size", len(o.Larger))
	}
	if len(o.Flaky) > 0 {
		out += fmt.Sprintf(", %d flaky: %s", len(o.Flaky), strings.Join(o.Flaky, ", "))
	}
	return out
}

// Record is the line of a log of runs: when it ended, what was tested (the hash of a tree), green or red, seconds, and
// the names of what failed and then passed or did not.
func (o Outcome) Record(ended time.Time, tree string, took time.Duration) string {
	answer := "green"
	if !o.Green() {
		answer = "red"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s", ended.UTC().Format(time.RFC3339), tree, answer,
		int(took.Seconds()), strings.Join(slices.Concat(o.Failed, o.Flaky), ", ")))
}
