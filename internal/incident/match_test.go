package incident

import "testing"

func named(name string, match map[string]string) Pool { return Pool{Name: name, Match: match} }

func TestTheMostSpecificPoolWins(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	pools := []Pool{
		named("everything of nobody", nil),
		named("namespace", labels{"namespace": "llm"}),
		named("model", labels{"namespace": "llm", "model_name": "llama"}),
		named("canary", labels{"namespace": "llm", "model_name": "llama", "track": "canary"}),
	}
	for _, tt := range []struct {
		labels labels
		want   string
	}{
		{labels{"namespace": "llm"}, "namespace"},
		{labels{"namespace": "llm", "model_name": "qwen"}, "namespace"},
		{labels{"namespace": "llm", "model_name": "llama"}, "model"},
		{labels{"namespace": "llm", "model_name": "llama", "track": "canary", "pod": "x"}, "canary"},
		{labels{"model_name": "llama"}, ""},
		{labels{"namespace": "LLM"}, ""},
		{nil, ""},
	} {
		got, ok := MatchPool(pools, tt.labels)
		if got.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%v leads to %q (%v), want %q", tt.labels, got.Name, ok, tt.want)
		}
	}
}

func TestPoolsThatCannotBeToldApartAreAmbiguous(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	for _, tt := range []struct {
		name string
		a, b labels
		want bool
	}{
		{"the same", labels{"model_name": "x"}, labels{"model_name": "x"}, true},
		{"other labels", labels{"model_name": "x"}, labels{"namespace": "y"}, true},
		{"values contradict", labels{"model": "x", "namespace": "n"}, labels{"model": "y", "namespace": "n"}, false},
		{"one is more specific", labels{"model_name": "x"}, labels{"model_name": "x", "namespace": "n"}, false},
		{"one matches nothing", nil, labels{"model_name": "x"}, false},
		{"both match nothing", nil, nil, false},
	} {
		for _, swap := range []bool{false, true} {
			a, b := named("a", tt.a), named("b", tt.b)
			if swap {
				a, b = b, a
			}
			if got := Ambiguous(a, b); got != tt.want {
				t.Errorf("%s: ambiguous %v, want %v", tt.name, got, tt.want)
			}
		}
	}
}
