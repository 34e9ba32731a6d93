package trial_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

func played(t *testing.T, name string, seed uint64, hand trial.NewHand) trial.Measure {
	t.Helper()
	s, err := trial.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := trial.Play(s, seed, hand, trial.DefaultSLO())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What a script says of itself: which hurt when nobody helps, and which are over by themselves or never hurt.
func TestEveryScriptDoesWhatItSays(t *testing.T) {
	t.Parallel()
	calm := map[string]bool{"low-load": true, "caches-dropped": true, "crash": true}
	short := map[string]bool{"spike": true}
	seen := map[string]bool{}
	for _, s := range trial.Scripts() {
		if seen[s.Name] || s.Summary == "" {
			t.Errorf("script %q comes twice or has no summary", s.Name)
		}
		seen[s.Name] = true
		for i := 1; i < len(s.Turns); i++ {
			if s.Turns[i].At < s.Turns[i-1].At {
				t.Errorf("%s: turn %d is before the one before it", s.Name, i)
			}
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			m := played(t, s.Name, 1, trial.Nobody)
			switch {
			case calm[s.Name]:
				if m.Violation > 3 {
					t.Errorf("%+v, want nearly no violation", m)
				}
			case short[s.Name]:
				if m.Violation < 4 || m.Violation > 15 {
					t.Errorf("%+v, want some minutes of violation and an end", m)
				}
			case m.Violation < 10:
				t.Errorf("%+v, want many minutes of violation", m)
			}
			if m.Calls == 0 || m.Lost > m.Calls || m.Changes != 0 {
				t.Errorf("%+v: impossible", m)
			}
			if m.GPU != float64(s.Replicas)*2*s.For.Minutes() {
				t.Errorf("%g GPU-minutes, want those of %d replicas", m.GPU, s.Replicas)
			}
		})
	}
	if len(trial.Loads()) != 5 || len(trial.Faults()) < 12 {
		t.Errorf("%d loads and %d faults, want 5 and at least 12", len(trial.Loads()), len(trial.Faults()))
	}
}

func TestTheSameSeedGivesTheSameMeasure(t *testing.T) {
	t.Parallel()
	first, again := played(t, "surge", 7, trial.HPA), played(t, "surge", 7, trial.HPA)
	if first != again {
		t.Errorf("%+v and %+v", first, again)
	}
	if other := played(t, "surge", 8, trial.HPA); other == first {
		t.Errorf("another seed gives the same %+v", other)
	}
}

// A rival that is worth beating: it helps where requests wait, and costs GPUs.
func TestTheControllerHelpsWhereRequestsWait(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"surge", "creep", "kv-squeeze", "long-outputs"} {
		alone, helped := played(t, name, 2, trial.Nobody), played(t, name, 2, trial.HPA)
		if helped.Violation > .85*alone.Violation || helped.Lost > alone.Lost/2 || helped.GPU <= alone.GPU {
			t.Errorf("%s: %+v alone, %+v with the controller", name, alone, helped)
		}
	}
}

func TestTheControllerDoesNotSeeWhatDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"low-load", "sick-gpu", "crash"} {
		if m := played(t, name, 2, trial.HPA); m.Changes != 0 {
			t.Errorf("%s: %+v, want no change", name, m)
		}
	}
}

// healer deletes the first pod once when clients have felt for some minutes that it is sick.
type healer struct {
	fleet *fleet.Fleet
	from  time.Time
	done  bool
}

func (h *healer) Look(now time.Time) (int, error) {
	if h.done || now.Sub(h.from) < 15*time.Minute {
		return 0, nil
	}
	h.done = true
	return 1, h.fleet.Delete("llama-70b-0")
}

func TestSomebodyWhoKnowsTheCauseEndsIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sick-gpu", "pod-hangs", "pod-stalls"} {
		alone := played(t, name, 1, trial.Nobody)
		healed := played(t, name, 1, func(f *fleet.Fleet, _ trial.Script) (trial.Hand, error) {
			return &healer{fleet: f, from: f.Now()}, nil
		})
		if alone.Violation < 35 || healed.Violation > 13 || healed.Changes != 1 {
			t.Errorf("%s: %+v alone and %+v healed, want it to end with the one change", name, alone, healed)
		}
	}
}

type failing struct{}

var errTired = errors.New("tired")

func (failing) Look(time.Time) (int, error) { return 0, errTired }

func TestAHandThatFailsEndsThePlay(t *testing.T) {
	t.Parallel()
	s, err := trial.Find("low-load")
	if err != nil {
		t.Fatal(err)
	}
	hand := func(*fleet.Fleet, trial.Script) (trial.Hand, error) { return failing{}, nil }
	rows, err := trial.Run([]trial.Script{s}, []trial.NamedHand{{"tired", hand}}, 1, trial.DefaultSLO())
	if !errors.Is(err, errTired) || !strings.Contains(err.Error(), "low-load with seed 1") {
		t.Errorf("%v (%v), want the error with script and seed", err, rows)
	}
	if _, err := trial.Find("nothing"); err == nil || !strings.Contains(err.Error(), "surge") {
		t.Errorf("a script that is not there: %v", err)
	}
}

func TestTheTableShowsMeansWithTheirIntervals(t *testing.T) {
	t.Parallel()
	rows := []trial.Row{
		{Script: "surge", Hand: "nobody", Plays: []trial.Measure{
			{Violation: 40, Calls: 100, Lost: 10, GPU: 270}, {Violation: 44, Calls: 104, Lost: 14, GPU: 270},
		}},
		{Script: "surge", Hand: "HPA", Plays: []trial.Measure{{Violation: 20, Calls: 100, GPU: 500, Changes: 3}}},
	}
	mean, half := rows[0].Mean(func(m trial.Measure) float64 { return m.Violation })
	if mean != 42 || math.Abs(half-25.42) > .01 { // 12.71 * sqrt(8)/sqrt(2)
		t.Errorf("%g ± %g, want 42 ± 25.42", mean, half)
	}
	var out bytes.Buffer
	if err := trial.Write(&out, rows); err != nil {
		t.Fatal(err)
	}
	const want = `script  hand    SLO violated, min  lost calls  of calls  GPU-minutes  changes
surge   nobody  42.0 ± 25.4        12 ± 25     102       270          0.0
        HPA     20.0               0           100       500          3.0
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
