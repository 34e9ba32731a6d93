package play

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// blindFolder has one corpus of two incidents, and says how to read it.
func blindFolder(t *testing.T) (write func(text string), read func() Blind) {
	t.Helper()
	dir := t.TempDir()
	write = func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(twoIncidents())
	return write, func() Blind {
		all, err := ReadBlind(dir)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d corpora, %v", len(all), err)
		}
		return all[0]
	}
}

func second() string {
	return strings.Replace(strings.TrimPrefix(sound, "incidents:\n"), "name: x", "name: second", 1)
}

func twoIncidents() string { return sound + second() }

// answers are wrong for the first incident, which would be made worse, and right for the others.
func answers(b Blind) Score {
	var s Score
	for i, inc := range b.Incidents {
		r := Result{Incident: inc, Answer: diagnosis.Answer{Got: inc.Truth}}
		if i == 0 {
			r.Answer.Got = "queueing"
			r.Harm = []Harm{{Deed: "throttle", Title: "Throttle", Why: "for nothing"}}
		}
		s = append(s, r)
	}
	return s
}

func TestTheFirstRunIsWrittenOnce(t *testing.T) {
	t.Parallel()
	_, read := blindFolder(t)
	b := read()
	if err := b.MayRun(); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(answers(b)); err != nil {
		t.Fatal(err)
	}
	again := read()
	if d := cmp.Diff(Count{Incidents: 2, Right: 1, Strict: 1, Harmful: 1}, again.First.Count); d != "" {
		t.Errorf("the record (-want +got):\n%s", d)
	}
	if err := again.MayRun(); !errors.Is(err, errRunBefore) {
		t.Errorf("a second first run may begin: %v", err)
	}
	if err := b.Write(answers(b)); !errors.Is(err, errRunBefore) {
		t.Errorf("a second first run may be written: %v", err)
	}
	if d := cmp.Diff(again.First, read().First); d != "" {
		t.Errorf("the record changed:\n%s", d)
	}
}

func TestABlindCorpusStaysAsItWas(t *testing.T) {
	t.Parallel()
	other, err := Parse("other.yaml", []byte(strings.Replace(sound, "truth: idle", "truth: none", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text     string
		ordinary []Incident
		want     string
		now      int
	}{
		"untouched": {twoIncidents(), nil, "", 2},
		"a label that was changed": {
			strings.Replace(twoIncidents(), "truth: idle", "truth: none", 1), nil, "x has changed since the first run", 2,
		},
		"one that came later": {
			twoIncidents() + strings.Replace(second(), "second", "third", 1), nil, "third was not in the first run", 3,
		},
		"one that is gone":      {"incidents:\n" + second(), nil, "x was in the first run of a, and is neither", 1},
		"one that was moved":    {"incidents:\n" + second(), other, "", 2},
		"a comment in the head": {"# mended\n" + twoIncidents(), nil, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			write, read := blindFolder(t)
			b := read()
			if err := b.Check(nil); err != nil {
				t.Errorf("before its first run: %v", err)
			}
			if err := b.Write(answers(b)); err != nil {
				t.Fatal(err)
			}
			write(c.text)
			b = read()
			err := b.Check(c.ordinary)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if n := len(b.Now(c.ordinary)); n != c.now {
				t.Errorf("%d incidents now, want %d", n, c.now)
			}
		})
	}
}
