package present

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func TestEveryFindingOfAVerificationHasWordsInTheVoice(t *testing.T) {
	t.Parallel()
	findings := declared[incident.Finding](t, "verdict.go")
	reasons := declared[incident.NoEffect](t, "verdict.go")
	if len(findings) < 8 || len(reasons) < 3 {
		t.Fatalf("only %d findings and %d reasons were found", len(findings), len(reasons))
	}
	for _, f := range findings {
		if finding(f) == "" {
			t.Errorf("%s has no words", f)
		}
		text := Verification(incident.Verification{Comparison: &incident.Comparison{Finding: f, Unconfirmed: true}})
		voice.Check(t, string(f), voice.Message(text))
	}
	for _, n := range reasons {
		if noEffect(n) == "" {
			t.Errorf("%s has no words", n)
		}
		text := Verification(incident.Verification{Comparison: &incident.Comparison{NoEffect: n}})
		voice.Check(t, string(n), voice.Message(text))
	}
}

func TestAVerificationSaysWhatTheReadingsShow(t *testing.T) {
	t.Parallel()
	ttft := func(v float64) incident.Reading {
		return incident.Reading{
			Title: "Time to first token, 95th percentile", Short: "TTFT p95", Value: new(v), Unit: incident.UnitSeconds,
		}
	}
	moved := []incident.Move{{Signal: "ttft_p95", Moved: incident.MovedBetter, Before: ttft(9), After: ttft(2)}}
	for want, c := range map[string]incident.Comparison{
		"All metrics within limits. TTFT p95 9 s → 2 s.": {Finding: incident.FoundHealthy, Moves: moved},
		"The rollout failed. Better, but not within limits yet. TTFT p95 9 s → 2 s.": {
			Finding: incident.FoundBetter, Moves: moved, NoEffect: incident.NoEffectNoRollout,
		},
		"No metric improved. TTFT p95 9 s → 2 s. Could not check whether the change is still in place.": {
			Finding: incident.FoundWorse, Moves: moved, Unconfirmed: true,
		},
		"No data to compare.": {Finding: incident.FoundNoData},
	} {
		v := incident.Verification{Verdict: incident.VerdictRecovered, Comparison: &c, Why: "not this"}
		if got := Verification(v); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	notes := map[string]incident.Note{
		"Fixed: all metrics within limits. TTFT p95 9 s → 2 s.": {
			Kind: incident.NoteVerified, Verdict: incident.VerdictRecovered,
			Check: &incident.Comparison{Finding: incident.FoundHealthy, Moves: moved},
		},
		"Check 2 after the change: improved. Better, but not within limits yet. TTFT p95 9 s → 2 s.": {
			Kind: incident.NoteReading, Verdict: incident.VerdictImproved, Count: 2,
			Check: &incident.Comparison{Finding: incident.FoundBetter, Moves: moved},
		},
	}
	for want, n := range notes {
		if got := Said(n); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAVerificationOfAnOlderVersionSaysItsText(t *testing.T) {
	t.Parallel()
	v := incident.Verification{Verdict: incident.VerdictWorse, Why: "It got worse: Waiting 9 -> 12."}
	if got := Verification(v); got != v.Why {
		t.Errorf("got %q", got)
	}
	for want, n := range map[string]incident.Note{
		"Worse: It got worse.": {Kind: incident.NoteVerified, Verdict: v.Verdict, Why: "It got worse."},
		"Check 1 after the change: worse. It got worse.": {
			Kind: incident.NoteReading, Verdict: v.Verdict, Count: 1, Why: "It got worse.",
		},
	} {
		if got := Said(n); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestWhatWasNotThereIsSaidInWords(t *testing.T) {
	t.Parallel()
	nine := incident.Reading{Title: "Waiting", Value: new(9.0), Unit: incident.UnitCount}
	four := incident.Reading{Title: "Waiting", Value: new(4.0), Unit: incident.UnitCount}
	none := incident.Reading{Title: "Waiting"}
	away := incident.Reading{Title: "Waiting", Error: "timeout"}
	slow := incident.Reading{Title: "Waiting", Error: "refused"}
	for _, tc := range []struct {
		name          string
		before, after incident.Reading
		want          string
	}{
		{"values", nine, four, "Waiting 9 → 4"},
		{"never", none, none, "Waiting had no data before or after"},
		{"gone", nine, none, "Waiting was 9 before and has no data after"},
		{"new", none, nine, "Waiting had no data before and is 9 after"},
		{"an error all along", away, away, "Waiting could not be read before or after (timeout)"},
		{"two errors", away, slow, "Waiting could not be read before (timeout) or after (refused)"},
		{"an error after", nine, away, "Waiting was 9 before and could not be read after (timeout)"},
		{"an error before", away, nine, "Waiting could not be read before (timeout) and is 9 after"},
		{"an error, then nothing", away, none, "Waiting could not be read before (timeout) and has no data after"},
		{"nothing, then an error", none, away, "Waiting had no data before and could not be read after (timeout)"},
		{"never asked for", incident.Reading{}, incident.Reading{}, "waiting had no data before or after"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := moves([]incident.Move{{Signal: "waiting", Before: tc.before, After: tc.after}}, "")
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A signal's name is written as its author writes it, in whatever script.
func TestASentenceBeginsWithNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"队列时间":         "All metrics within limits. 队列时间 9 s → 2 s.",
		"überlast":     "All metrics within limits. überlast 9 s → 2 s.",
		"max_num_seqs": "All metrics within limits. max_num_seqs 9 s → 2 s.",
	} {
		read := func(v float64) incident.Reading {
			return incident.Reading{Title: name, Value: new(v), Unit: incident.UnitSeconds}
		}
		got := Verification(incident.Verification{Comparison: &incident.Comparison{
			Finding: incident.FoundHealthy, Moves: []incident.Move{{Before: read(9), After: read(2)}},
		}})
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := Capital("vLLMHighTTFT firing"); got != "vLLMHighTTFT firing" {
		t.Errorf("an alert is called %q", got)
	}
	if got := Capital("übrig"); got != "Übrig" {
		t.Errorf("capital: %q", got)
	}
}

// What stayed as it was says nothing where it is as it should be, and everything where it is not.
func TestOnlyWhatMovedOrIsOutOfItsLimitsIsNamed(t *testing.T) {
	t.Parallel()
	reading := func(name string, value float64) incident.Reading {
		return incident.Reading{
			Title: name, Value: new(value), Threshold: new(10.0), Direction: incident.HigherIsWorse, Unit: incident.UnitCount,
		}
	}
	got := moves([]incident.Move{
		{Moved: incident.MovedBetter, Before: reading("moved", 40), After: reading("moved", 2)},
		{Moved: incident.MovedNot, Before: reading("fine", 3), After: reading("fine", 3)},
		{Moved: incident.MovedNot, Before: reading("bad", 50), After: reading("bad", 50)},
	}, "")
	if want := "moved 40 → 2; bad 50 → 50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	fine := incident.Move{Moved: incident.MovedNot, Before: reading("fine", 3), After: reading("fine", 3)}
	if got := moves([]incident.Move{fine}, ""); got != "" {
		t.Errorf("got %q for what says nothing", got)
	}
}

// A message of success begins with the number for which the change was made, and not with one that explains it.
func TestAComparisonLeadsWithWhatTheChangeWasDecidedBy(t *testing.T) {
	t.Parallel()
	move := func(signal string, before, after, limit float64, from incident.Origin) incident.Move {
		read := func(v float64) incident.Reading {
			return incident.Reading{
				Title: signal, Value: new(v), Threshold: new(limit), ThresholdFrom: from,
				Direction: incident.HigherIsWorse, Unit: incident.UnitCount,
			}
		}
		return incident.Move{Signal: signal, Moved: incident.MovedBetter, Before: read(before), After: read(after)}
	}
	queue := move("queue_time_p95", 40, 1, 2, "")
	waiting := move("waiting", 90, 1, 5, "")
	ttft := move("ttft_p95", 40, 1, 2, incident.OriginSLO)
	tpot := move("tpot_p95", 1, 1, 2, incident.OriginSLO)
	tpot.Moved = incident.MovedWorse
	own := move("prefill_p95", 3, 1, 2, incident.OriginSLO)
	errors := move("error_ratio", 3, 1, 2, "")
	for name, c := range map[string]struct{ moves, want []incident.Move }{
		"a missed target before its causes": {
			[]incident.Move{queue, waiting, ttft}, []incident.Move{ttft, queue, waiting},
		},
		"then what users feel, then the pool's other targets": {
			[]incident.Move{tpot, queue, own, ttft}, []incident.Move{ttft, tpot, own, queue},
		},
		"requests without an answer before late ones": {
			[]incident.Move{ttft, queue, errors}, []incident.Move{errors, ttft, queue},
		},
		"limits in the order of the playbook": {
			[]incident.Move{queue, waiting}, []incident.Move{queue, waiting},
		},
		"nothing": {nil, nil},
	} {
		got := MovesOf(&incident.Comparison{Moves: c.moves})
		if !slices.EqualFunc(got, c.want, func(a, b incident.Move) bool { return a.Signal == b.Signal }) {
			t.Errorf("%s: %v", name, got)
		}
		if text := Verification(incident.Verification{Comparison: &incident.Comparison{
			Finding: incident.FoundHealthy, Moves: c.moves,
		}}); len(c.want) > 0 && !strings.HasPrefix(text, "All metrics within limits. "+c.want[0].Signal+" ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Under "fixed" or beside what got better, what got worse is told as that; where all of it did, once.
func TestWhatGotWorseIsSaidAmongWhatDidNot(t *testing.T) {
	t.Parallel()
	reading := func(short string, v float64) incident.Reading {
		return incident.Reading{Short: short, Value: &v, Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse}
	}
	better := incident.Move{
		Signal: incident.SignalTTFT, Moved: incident.MovedBetter, Before: reading("TTFT p95", 4.6),
		After: reading("TTFT p95", 1),
	}
	worse := incident.Move{
		Signal: "b", Moved: incident.MovedWorse, Before: reading("Queue time p95", 4), After: reading("Queue time p95", 4.8),
	}
	for _, tt := range []struct {
		found incident.Finding
		moves []incident.Move
		want  string
	}{
		{
			incident.FoundHealthy,
			[]incident.Move{worse, better},
			"All metrics within limits. TTFT p95 4.6 s → 1 s; Queue time p95 4 s → 4.8 s (worse).",
		},
		{
			incident.FoundMixed,
			[]incident.Move{worse, better},
			"Some metrics improved, some got worse. TTFT p95 4.6 s → 1 s; Queue time p95 4 s → 4.8 s (worse).",
		},
		{incident.FoundWorse, []incident.Move{worse}, "No metric improved. Queue time p95 4 s → 4.8 s."},
	} {
		got := Verification(incident.Verification{Comparison: &incident.Comparison{Finding: tt.found, Moves: tt.moves}})
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.found, got, tt.want)
		}
	}
}
