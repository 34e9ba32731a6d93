package gate

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vllm-medic/vllm-medic/test/tools"
)

// uncounted leaves out how many tests there were, and what they said.
var uncounted = cmpopts.IgnoreFields(Outcome{}, "Tests", "Said")

// Each test counts once, however often it ran, and neither those that were left out nor the packages count.
func TestTestsAreCountedOnce(t *testing.T) {
	t.Parallel()
	got, err := Read(told(t, "start p\nfail p T/a\nfail p T\nfail p\nstart p\npass p T/a\npass p T\npass p\n"+
		"start q\npass q T\noutput q U     x_test.go:1: needs VLLM_MEDIC_TESTS=large\nskip q U\npass q"))
	if err != nil || got.Tests != 3 {
		t.Errorf("%d tests, %v", got.Tests, err)
	}
}

// A run is green when each test passed when it ran last, and nothing broke of which no rerun tells.
func TestTheOutcomeIsWhatRanLast(t *testing.T) {
	t.Parallel()
	began := "start p\n"
	for name, tt := range map[string]struct {
		events string
		want   Outcome
	}{
		"all pass": {began + "pass p T\npass p", Outcome{}},
		"one is too large": {
			began + "output p T     x_test.go:1: needs VLLM_MEDIC_TESTS=large\nskip p T\npass p",
			Outcome{Larger: []string{"p T"}},
		},
		"it ran with a larger size": {
			began + "run p T\noutput p T     x_test.go:1: needs VLLM_MEDIC_TESTS=medium\nskip p T\npass p\n" +
				"start p\nrun p T\npass p T\npass p",
			Outcome{},
		},
		"it is larger than that, too": {
			began + "run p T\noutput p T     x_test.go:1: needs VLLM_MEDIC_TESTS=medium\nskip p T\npass p\n" +
				"start p\nrun p T\noutput p T     x_test.go:2: needs VLLM_MEDIC_TESTS=large\nskip p T\npass p",
			Outcome{Larger: []string{"p T"}},
		},
		"one is skipped": {
			began + "output p T     x_test.go:1: later\nskip p T\npass p",
			Outcome{Failed: []string{"p T (skipped)"}},
		},
		"it has no tests":  {"start p\nskip p", Outcome{}},
		"a failure":        {began + "fail p T\nfail p", Outcome{Failed: []string{"p T"}}},
		"a flake":          {began + "fail p T\nfail p\nstart p\npass p T\npass p", Outcome{Flaky: []string{"p T"}}},
		"it passed before": {began + "pass p T\npass p\nstart p\nfail p T\nfail p", Outcome{Failed: []string{"p T"}}},
		"the subtest is named": {
			began + "fail p T/a\npass p T/b\nfail p T\nfail p",
			Outcome{Failed: []string{"p T/a"}},
		},
		"a flake beside a failure": {
			began + "fail p T/a\nfail p T/b\nfail p T\nfail p\nstart p\npass p T/a\npass p T\npass p\n" +
				"start p\nfail p T/b\nfail p T\nfail p", Outcome{Failed: []string{"p T/b"}, Flaky: []string{"p T/a"}},
		},
		"no test failed": {
			began + "pass p T\nfail p\nstart p\npass p T\npass p",
			Outcome{Failed: []string{"p"}},
		},
		"no test ran again": {began + "fail p T\nfail p\nstart p\npass p", Outcome{Failed: []string{"p T"}}},
		"its name is that of another package": {
			began + "fail p T\nfail p\nstart q\npass q T\npass q",
			Outcome{Failed: []string{"p T"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(told(t, tt.events))
			if diff := cmp.Diff(tt.want, got, uncounted); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := Read(strings.NewReader("{}\nok\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that is no event: %v", err)
	}
}

// Of a test that failed and passed again, and of no other, it is kept what it said the first time.
func TestWhatAFlakeSaidIsKept(t *testing.T) {
	t.Parallel()
	got, err := Read(told(t, "start p\nrun p T\nrun p U\noutput p T one\noutput p U other\noutput p T two\n"+
		"fail p T\nfail p U\nfail p\nstart p\nrun p T\noutput p T later\nfail p T\nfail p\n"+
		"start p\nrun p T\noutput p T well\npass p T\npass p"))
	want := map[string]string{"p T": "onetwo"}
	if diff := cmp.Diff(want, got.Said); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// told is what go test tells of these events, one on a line: what happened, the package, the test, and what it said.
func told(t *testing.T, events string) io.Reader {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(events) {
		of := append(strings.SplitN(strings.TrimSpace(line), " ", 4), "", "")
		b, err := json.Marshal(event{of[0], module + of[1], of[2], of[3]})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return &out
}

func TestTheLineSaysHowItWent(t *testing.T) {
	t.Parallel()
	const took = 41*time.Minute + 59*time.Second
	for want, of := range map[string]Outcome{
		"GREEN in 41 min":                        {},
		"GREEN in 41 min, 1 flaky: test/crash T": {Flaky: []string{"test/crash T"}},
		"RED in 41 min: a T, b U, 1 flaky: c V":  {Failed: []string{"a T", "b U"}, Flaky: []string{"c V"}},
		"GREEN in 41 min, 2 skipped by size":     {Larger: []string{"a T", "b U"}},
	} {
		if got := of.Line(took); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	at := time.Date(2026, 11, 30, 3, 4, 5, 0, time.UTC)
	want := "2026-11-30T03:04:05Z 600717de red 2519 a T, b U"
	if got := (Outcome{Failed: []string{"a T", "b U"}}).Record(at, "600717de", took); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a run of the tests does with what fails in each way, on packages that do.
func TestOnlyWhatFailsAndThenPassesIsForgiven(t *testing.T) {
	t.Parallel()
	tools.Binary(t, "gotestsum")
	for pkg, want := range map[string]Outcome{
		"passes": {},
		"flaky":  {Flaky: []string{"flaky TestFlaky/at_first"}},
		"fails":  {Failed: []string{"fails TestFails/always"}},
		"panics": {Failed: []string{"panics TestPanics"}},
		"races":  {Failed: []string{"races TestRaces"}},
		"main":   {Failed: []string{"main"}},
		"broken": {Failed: []string{"broken"}},
	} {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "scripts/test.sh", "small")
			cmd.Dir = filepath.Join("..", "..")
			cmd.Env = append(os.Environ(), "PACKAGES=./test/gate/testdata/"+pkg, "TEST_EVENTS="+dir, "SHUFFLE=1",
				"FRESH=1", "TESTS=", "FLAKY="+filepath.Join(dir, "ran"))
			said, err := cmd.CombinedOutput()
			f, opened := os.Open(filepath.Join(dir, "all.json"))
			if opened != nil {
				t.Fatalf("%v\n%s", opened, said)
			}
			defer func() { _ = f.Close() }() // it was only read
			got, read := Read(f)
			for _, names := range [][]string{got.Failed, got.Flaky} {
				for n := range names {
					names[n] = strings.TrimPrefix(names[n], "test/gate/testdata/")
				}
			}
			if diff := cmp.Diff(want, got, uncounted); diff != "" || read != nil {
				t.Errorf("%v (-want +got):\n%s\n%s", read, diff, said)
			}
			if (err == nil) != want.Green() {
				t.Errorf("the run ended with %v\n%s", err, said)
			}
		})
	}
}
