package playbooks_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Load takes files from people. Whatever is in them, it gives a catalog that works or problems with a place, and never
// panics.
func FuzzLoad(f *testing.F) {
	files, err := catalog.Files()
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(file.Data)
	}
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(file.Data)
		}
	}
	signals, err := os.ReadFile("testdata/signals.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, given := range [][]playbooks.File{
			{{Name: "fuzz.yaml", Data: data}},
			{{Name: "signals.yaml", Data: signals}, {Name: "fuzz.yaml", Data: data}},
		} {
			c, err := playbooks.Load(given, playbooks.Options{})
			if err == nil {
				got := c.Diagnose(playbooks.Input{Evidence: readings(map[string]float64{"ttft": 9})})
				if got.Diagnosis == nil && got.Note == "" {
					t.Error("no diagnosis and no note")
				}
				continue
			}
			var found strictyaml.Problems
			if !errors.As(err, &found) || len(found) == 0 || c != nil {
				t.Fatalf("got (%v, %v)", c, err)
			}
			lines := 1
			for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // All that YAML knows.
				lines += strings.Count(string(data), lineBreak)
			}
			for _, p := range found {
				if p.Text == "" || p.File == "fuzz.yaml" && (p.Line < 1 || p.Col < 1 || p.Line > lines+1) && len(data) <= 1<<20 {
					t.Errorf("a problem without a place: %#v", p)
				}
			}
		}
	})
}

// Whatever could not be read or is only bounded: a verdict that is told stays the same when those readings turn up and
// the bounds become values. So no diagnosis rests on a reading that is not known. That Prometheus has no data is known,
// and stays.
func FuzzDiagnoseNeverRestsOnWhatIsMissing(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, seed*7919)
	}
	c := builtin(f, playbooks.Options{})
	var names []string
	for _, p := range c.Playbooks() {
		names = append(names, p.Alerts...)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		rng := rand.New(rand.NewPCG(a, b))
		in := playbooks.Input{Evidence: incident.Evidence{Readings: map[string]incident.Reading{}}}
		if rng.IntN(3) > 0 {
			in.Alerts = alerts(names[rng.IntN(len(names))])
		}
		if rng.IntN(2) > 0 {
			in.Pool = chat()
		}
		for _, s := range c.AllSignals() {
			if r, ok := randomReading(rng, s.Unit); ok {
				in.Evidence.Readings[s.Name] = r
			}
		}
		got := c.Diagnose(in)
		checkResult(t, got)
		verdicts := verdictsOf(got)
		for range 8 {
			full := in
			full.Evidence = complete(rng, c, in.Evidence)
			after := verdictsOf(c.Diagnose(full))
			for name, v := range verdicts {
				if v != incident.Undecided && after[name] != v {
					t.Errorf("%s was %s and is %s with every reading there; it rested on one that was missing\nbefore %+v\nafter %+v",
						name, v, after[name], in.Evidence, full.Evidence)
				}
				if after[name] == incident.Undecided && !anyMissing(full.Evidence) {
					t.Errorf("%s is undecided with every reading there", name)
				}
			}
		}
	})
}

func checkResult(t *testing.T, got playbooks.Result) {
	t.Helper()
	if got.Diagnosis == nil && (len(got.Steps) > 0 || got.Note == "") {
		t.Errorf("no diagnosis, %d steps, note %q", len(got.Steps), got.Note)
	}
	if got.Diagnosis != nil && len(got.Diagnosis.Evidence) == 0 {
		t.Errorf("%s has no evidence", got.Diagnosis.Name)
	}
	for _, o := range got.Others {
		if o.Why == "" {
			t.Errorf("%s is %s without a reason", o.Name, o.Verdict)
		}
	}
	switch got.Healthy {
	case incident.True, incident.False, incident.Undecided:
	default:
		t.Errorf("healthy is %q", got.Healthy)
	}
}

func verdictsOf(r playbooks.Result) map[string]incident.Truth {
	out := map[string]incident.Truth{}
	if r.Diagnosis != nil {
		out[r.Diagnosis.Name] = incident.True
	}
	for _, o := range r.Others {
		out[o.Name] = o.Verdict
	}
	return out
}

// randomReading is a value near the thresholds, a bound, no data, an error, a value that is not finite, or nothing at
// all.
func randomReading(rng *rand.Rand, unit incident.Unit) (incident.Reading, bool) {
	v := randomValue(rng, unit)
	switch rng.IntN(12) {
	case 0:
		return incident.Reading{}, false
	case 1:
		return incident.Reading{}, true
	case 2:
		return incident.Reading{Error: "timeout"}, true
	case 3:
		return incident.Reading{Value: &v, Error: "timeout"}, true
	case 4:
		v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		return incident.Reading{Value: &v}, true
	case 5:
		return incident.Reading{Value: &v, Bound: incident.AtMost}, true
	case 6:
		return incident.Reading{Value: &v, Bound: incident.AtLeast}, true
	default:
		return incident.Reading{Value: &v}, true
	}
}

func randomValue(rng *rand.Rand, unit incident.Unit) float64 {
	if rng.IntN(4) == 0 {
		return 0
	}
	switch unit {
	case incident.UnitRatio:
		return rng.Float64()
	case incident.UnitSeconds:
		return math.Exp(rng.Float64()*9 - 5)
	case incident.UnitCount, incident.UnitPerSecond, incident.UnitTokens, incident.UnitBytes:
		return math.Exp(rng.Float64()*8 - 2)
	default:
		return rng.Float64()
	}
}

func anyMissing(ev incident.Evidence) bool {
	for _, r := range ev.Readings {
		if !r.HasValue() {
			return true
		}
	}
	return false
}

// complete gives every reading an exact value that agrees with what was known of it.
func complete(rng *rand.Rand, c *playbooks.Catalog, ev incident.Evidence) incident.Evidence {
	out := incident.Evidence{Readings: map[string]incident.Reading{}}
	for _, s := range c.AllSignals() {
		v := randomValue(rng, s.Unit)
		r, asked := ev.Readings[s.Name]
		if asked && r.Error == "" && (r.Value == nil || math.IsNaN(*r.Value) || math.IsInf(*r.Value, 0)) {
			out.Readings[s.Name] = incident.Reading{}
			continue
		}
		if asked && r.HasValue() && !math.IsNaN(*r.Value) && !math.IsInf(*r.Value, 0) {
			switch r.Bound {
			case incident.Exact:
				v = *r.Value
			case incident.AtMost:
				v = *r.Value * rng.Float64()
			case incident.AtLeast:
				v = *r.Value + rng.Float64()*20
			}
		}
		out.Readings[s.Name] = incident.Reading{Value: &v}
	}
	return out
}
