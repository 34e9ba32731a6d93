package diagnosis

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

func TestEveryIncidentIsPossible(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	for _, inc := range corpus(t) {
		for _, problem := range inc.Check() {
			t.Error(inc.place.Problem("%s: %s", inc.Name, problem))
		}
	}
}

func TestCorpusCoversEveryTruth(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	if len(all) < 70 {
		t.Errorf("the corpus has %d incidents, fewer than 70", len(all))
	}
	for _, truth := range Truths() {
		var dialects, generations []string
		n := 0
		for _, inc := range all {
			if inc.Truth != truth {
				continue
			}
			n++
			dialects, generations = append(dialects, inc.Dialect), append(generations, inc.Generation)
		}
		slices.Sort(dialects)
		slices.Sort(generations)
		if n < 2 {
			t.Errorf("%s has %d incidents, fewer than 2", truth, n)
		}
		if len(slices.Compact(dialects)) < 2 && len(slices.Compact(generations)) < 2 {
			t.Errorf("%s is there in one dialect and one generation only", truth)
		}
	}
	for _, d := range Dialects() {
		if !slices.ContainsFunc(all, func(i Incident) bool { return i.Dialect == d }) {
			t.Errorf("no incident is in dialect %s", d)
		}
	}
}

// TestCheckRefusesTheImpossible breaks one thing at a time in an incident that is possible.
func TestCheckRefusesTheImpossible(t *testing.T) {
	t.Parallel()
	q := func(v float64) *quantity { return &quantity{from: v, to: v} }
	yes, none, frozen, down := true, None, stallFrozen, targetDown
	for name, breakIt := range map[string]func(*Incident){
		"more run than max_num_seqs": func(i *Incident) { i.Args = map[string]float64{"max_num_seqs": 4} },
		"preemption with room":       func(i *Incident) { i.Phases[0].Preempt = q(0.5) },
		"a usage that nobody fills": func(i *Incident) {
			i.Phases = append(i.Phases, i.Phases[0])
			i.Phases[1].Rate = q(25)
			i.Phases[1].KV = q(0.1)
		},
		"a usage above one":          func(i *Incident) { i.Phases[0].KV = q(1.2) },
		"errors before 0.13":         func(i *Incident) { i.Generation = "0.10.0"; i.Phases[0].ErrorShare = q(0.1) },
		"reasons of waiting in 0.14": func(i *Incident) { i.Generation = "0.14.0"; i.Phases[0].Deferred = q(0.5) },
		"leases without NIXL":        func(i *Incident) { i.Phases[0].Expired = q(0.5) },
		"V0 in 0.24":                 func(i *Incident) { i.Engine = "V0" },
		"a budget below the batch": func(i *Incident) {
			i.Args = map[string]float64{"max_num_seqs": 512, "max_num_batched_tokens": 256}
		},
		"requests to the dead": func(i *Incident) { i.Phases[0].Target = &down },
		"a restart nobody saw": func(i *Incident) {
			i.Phases = append(i.Phases, Phase{For: 120, Physics: Physics{Restart: &yes}})
		},
		"a stall that ends by itself": func(i *Incident) {
			i.Phases = append(i.Phases, Phase{For: 300, Physics: Physics{Stall: &frozen}},
				Phase{For: 60, Physics: Physics{Stall: &none}})
		},
		"a crash without a restart":    func(i *Incident) { i.Cluster.Pods = map[string]PodFacts{"a": {Crash: 60}} },
		"a scraped pod that is gone":   func(i *Incident) { i.Cluster.Pods = map[string]PodFacts{"a": {Gone: true}} },
		"speculation before its count": func(i *Incident) { i.Generation = "0.8.1"; i.Draft = 3 },
	} {
		inc := named(t, "gpu-memory-95-by-design")
		if got := inc.Check(); len(got) > 0 {
			t.Fatalf("the incident is impossible as it is: %q", got)
		}
		breakIt(&inc)
		if len(inc.Check()) == 0 {
			t.Errorf("%s passes", name)
		}
	}
}
