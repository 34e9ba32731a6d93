package playbooks_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// small is a catalog of three diagnoses, by rank: deep (rank 1), mine (2) and late (3), with the rules that are given.
func small(t *testing.T, deep, mine, late, step string) *playbooks.Catalog {
	t.Helper()
	signals := `signals:
  - {name: a, title: A, query: sum(a), unit: count, direction: higher_is_worse, source: s}
  - {name: b, title: B, query: sum(b), unit: count, direction: higher_is_worse, source: s}
  - {name: c, title: C, query: sum(c), unit: count, direction: higher_is_worse, source: s}
  - {name: per, title: Per, ratio: {of: a, per: c}, unit: ratio, direction: neutral, source: s}
  - {name: ready, title: Ready, fact: pods_ready, unit: count, direction: neutral, source: s}
`
	text := fmt.Sprintf(`name: p
title: P
alerts: [X]
healthy: [{rule: a <= 1}]
diagnoses:
  - {name: deep, rank: 1, summary: s, source: s, when: %q, steps: [{throttle: {factor: 0.5}, why: w, undo: offer}]}
  - name: mine
    rank: 2
    summary: s
    source: s
    when: %q
    steps:
      - {replicas: {add: 1}, why: w, undo: offer}
      - {manual: {advice: look}, if: %q}
  - {name: late, rank: 3, summary: s, source: s, when: %q, no_action: n}
`, deep, mine, step, late)
	files := []playbooks.File{{Name: "s.yaml", Data: []byte(signals)}, {Name: "p.yaml", Data: []byte(text)}}
	c, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatWasNotReadIsUndecided(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		deep, mine, late, step string
		had                    map[string]float64
		noCluster              bool
		want                   string
		notRead                map[string]string
		possible               []playbooks.Possible
		open                   []string
	}{
		"all was read": {
			"b > 1", "a > 1", "b > 100", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine", nil, nil, nil,
		},
		"a nearer cause asks for what was not read": {
			"c > 1", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			[]playbooks.Possible{{"deep", []string{"c"}}},
			nil,
		},
		"what was not read is present": {
			"present(c)", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			[]playbooks.Possible{{"deep", []string{"c"}}},
			nil,
		},
		"what was not read is absent": {
			"absent(c)", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			[]playbooks.Possible{{"deep", []string{"c"}}},
			nil,
		},
		"a later cause asks for it, which changes nothing": {
			"b > 1", "a > 1", "c > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			nil, nil,
		},
		"a later cause asks for it, and nothing else holds": {
			"b > 1", "a > 9", "c > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"",
			map[string]string{"c": "not read then"},
			[]playbooks.Possible{{"late", []string{"c"}}},
			nil,
		},
		"a ratio of what was not read": {
			"per > 50%", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"per": "not read then"},
			[]playbooks.Possible{{"deep", []string{"per"}}},
			nil,
		},
		"a rule that is false anyhow": {
			"c > 1 && b > 1", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			nil, nil,
		},
		"the condition of a step": {
			"b > 1", "a > 1", "b > 2", "c > 1",
			map[string]float64{"a": 5, "b": 0},
			false,
			"mine",
			map[string]string{"c": "not read then"},
			nil,
			[]string{"look"},
		},
		"the cluster was not kept": {
			"ready < 1", "a > 1", "b > 1", "a > 1",
			map[string]float64{"a": 5, "b": 0},
			true,
			"mine",
			map[string]string{"ready": "not kept"},
			[]playbooks.Possible{{"deep", []string{"ready"}}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := small(t, tt.deep, tt.mine, tt.late, tt.step)
			ev := readings(tt.had)
			ev.Cluster = incident.Cluster{Pods: []incident.Pod{{Name: "x", Ready: true}}}
			maps.DeleteFunc(ev.Readings, func(name string, _ incident.Reading) bool { _, own := tt.had[name]; return !own })
			got := c.Replay(playbooks.Kept{
				Input: playbooks.Input{Alerts: alerts("X"), Evidence: ev}, NoCluster: tt.noCluster,
				Asked: incident.Fingerprints(c.AllSignals()),
			})
			chosen := ""
			if got.Diagnosis != nil {
				chosen = got.Diagnosis.Name
			}
			if chosen != tt.want {
				t.Errorf("the diagnosis is %q: %s", chosen, got.Note)
			}
			if d := cmp.Diff(tt.notRead, got.NotRead, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("not read: -want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.possible, got.Possible, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("possible: -want +got:\n%s", d)
			}
			var open []string
			for _, s := range got.Open {
				open = append(open, s.Request.Advice)
			}
			if d := cmp.Diff(tt.open, open); d != "" {
				t.Errorf("open steps: -want +got:\n%s", d)
			}
		})
	}
}

// A signal of the same name that asks something else is another one. What it read must not count.
func TestAReadingOfAnotherQueryDoesNotCount(t *testing.T) {
	t.Parallel()
	c := small(t, "b > 1", "a > 1", "b > 100", "a > 1")
	asked := incident.Fingerprints(c.AllSignals())
	kept := playbooks.Kept{
		Input: playbooks.Input{Alerts: alerts("X"), Evidence: readings(map[string]float64{"a": 5, "b": 0})}, Asked: asked,
	}
	if got := c.Replay(kept); got.Diagnosis == nil || len(got.NotRead) > 0 {
		t.Fatalf("the same queries: %+v", got.NotRead)
	}
	for name, change := range map[string]func(map[string]string){
		"another query": func(m map[string]string) { m["a"] = "0000" },
		"no query":      func(m map[string]string) { delete(m, "a") }, // it was a fact then, or a ratio
	} {
		other := maps.Clone(asked)
		change(other)
		kept.Asked = other
		got := c.Replay(kept)
		if got.Diagnosis != nil || got.NotRead["a"] != "read with another query then" ||
			len(got.Possible) != 1 || got.Possible[0].Name != "mine" {
			t.Errorf("%s: %+v, not read %v, possible %+v", name, got.Diagnosis, got.NotRead, got.Possible)
		}
	}
	kept.Asked = nil // an older version did not say
	if got := c.Replay(kept); got.Diagnosis == nil || len(got.NotRead) > 0 {
		t.Errorf("where that is not known: %+v, %v", got.Diagnosis, got.NotRead)
	}
}

// A reading with an error, or without data, was read: nothing is left open by the replay.
func TestAFailedReadingWasRead(t *testing.T) {
	t.Parallel()
	c := small(t, "c > 1", "a > 1", "b > 1", "a > 1")
	ev := readings(map[string]float64{"a": 5, "b": 0})
	ev.Readings["c"] = incident.Reading{Signal: "c", Error: "timeout", At: at()}
	got := c.Replay(playbooks.Kept{Input: playbooks.Input{Alerts: alerts("X"), Evidence: ev}})
	if len(got.NotRead) > 0 || len(got.Possible) > 0 || got.Diagnosis == nil {
		t.Errorf("%+v", got)
	}
}

func TestAFingerprintIsOfWhatDecidesAboutTheValue(t *testing.T) {
	t.Parallel()
	s := incident.Signal{Name: "a", Title: "A", Query: "sum(a)", Unit: incident.UnitCount, Floor: 1}
	same := s
	same.Name, same.Title, same.Short, same.Direction, same.Optional = "b", "B", "b", incident.Neutral, true
	if s.Fingerprint() != same.Fingerprint() {
		t.Error("words make another signal")
	}
	for name, change := range map[string]func(*incident.Signal){
		"query": func(s *incident.Signal) { s.Query = "max(a)" }, "pods": func(s *incident.Signal) { s.Pods = "a" },
		"unit": func(s *incident.Signal) { s.Unit = incident.UnitSeconds }, "floor": func(s *incident.Signal) { s.Floor = 2 },
		"ceiling": func(s *incident.Signal) { s.Ceiling = 2 },
		"product": func(s *incident.Signal) { s.Product = []string{"x"} },
	} {
		other := s
		change(&other)
		if other.Fingerprint() == s.Fingerprint() {
			t.Errorf("another %s makes no other signal", name)
		}
	}
}
