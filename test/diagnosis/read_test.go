package diagnosis

import (
	"math"
	"strings"
	"testing"
)

const sound = `incidents:
- name: x
  truth: idle
  story: Nobody asks.
  source: facts 5
  dialect: native
  generation: "0.24.0"
  pods: [a]
  slo: chat
  alerts: []
  phases:
    - {for: 5m, rate: 1}
`

func TestMistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	if _, err := Parse("x.yaml", []byte(sound)); err != nil {
		t.Fatalf("the sound one is refused: %v", err)
	}
	for _, tc := range []struct{ from, to, want string }{
		{"  slo: chat", "  slow: chat", "x.yaml:9:3: unknown field \"slow\""},
		{"rate: 1", "rat: 1", "x.yaml:12:"},
		{"rate: 1", "rate: fast", `x.yaml:12:`},
		{"rate: 1", "prompt: 500/200", "x.yaml:12:"},
		{"for: 5m", "for: 5", "x.yaml:12:"},
		{"for: 5m, ", "", "x.yaml:2:3: x: phases[0]: for is needed"},
		{"truth: idle", "truth: lazy", `x.yaml:2:3: x: truth "lazy" is not one of`},
		{"slo: chat", "slo: fast", `x.yaml:2:3: x: slo "fast" is not a profile`},
		{`generation: "0.24.0"`, `generation: new`, "x.yaml:2:3: x: generation"},
		{"dialect: native", "dialect: klingon", `x.yaml:2:3: x: dialect "klingon"`},
		{"rate: 1}", "rate: 1, only: {z: {rate: 2}}}", `x.yaml:2:3: x: phases[0].only: "z" is not a pod`},
		{"rate: 1}", "stall: maybe}", `x.yaml:2:3: x: phases[0]: stall "maybe"`},
		{"rate: 1}", "target: away}", `x.yaml:2:3: x: phases[0]: target "away"`},
		{"pods: [a]", "pods: []", "x.yaml:2:3: x: pods is needed"},
		{"story: Nobody asks.", "story: ''", "x.yaml:2:3: x: story is needed"},
		{"alerts: []", "accept: {queueing: ''}\n  alerts: []", "x.yaml:2:3: x: accept: queueing needs its reason"},
		{"- name: x", "- name: [x", "x.yaml:"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(sound, tc.from, tc.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.to, err, tc.want)
		}
	}
}

func TestQuantitiesMoveOverAPhase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]float64{ // at the start, in the middle, at the end
		"3":                   {3, 3, 3},
		"2 -> 6":              {2, 4, 6},
		"40%":                 {0.4, 0.4, 0.4},
		"250ms -> 1s":         {0.25, 0.625, 1},
		"0.9..1.0 every 100s": {0.9, 1.0, 0.9},
	} {
		q, err := parseQuantity(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := [3]float64{q.at(0, 0), q.at(0.5, 50), q.at(1, 100)}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", text, got, want)
				break
			}
		}
	}
}

func TestSpreadsHaveTheirPercentiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text     string
		p50, p95 float64
	}{
		{"200ms/500ms", 0.2, 0.5},
		{"3s", 3, 3},
		{"50% 1s + 50% 9s", 1, 9},
	} {
		s, err := parseSpread(tc.text)
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		m := s.at(0)
		if p50, p95 := m.quantile(0.499),
			m.quantile(0.95); math.Abs(p50-tc.p50) > 0.01*tc.p50 || math.Abs(p95-tc.p95) > 0.01*tc.p95 {
			t.Errorf("%s: %g/%g, want %g/%g", tc.text, p50, p95, tc.p50, tc.p95)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sound)
	f.Add(strings.Replace(sound, "rate: 1", "rate: 2 -> 6, kv: 0.9..1.0 every 90s, itl: 90% 20ms/40ms + 10% 1s/2s", 1))
	f.Add("incidents: [{")
	f.Fuzz(func(t *testing.T, text string) {
		incidents, err := Parse("x.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("a mistake without its place: %v", err)
			}
			return
		}
		for _, inc := range incidents {
			if inc.length() <= 0 {
				t.Errorf("%q is taken for an incident without length", text)
			}
			for _, tl := range []timeline{inc.timelineOf(inc.Pods[0], "0")} {
				tl.epochs()
			}
		}
	})
}
