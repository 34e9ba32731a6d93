package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// marks are those of these names.
func marks(t *testing.T, names ...string) []vllm.Mark {
	t.Helper()
	var out []vllm.Mark
	for _, m := range vllm.Marks() {
		for _, name := range names {
			if m.Name == name {
				out = append(out, m)
			}
		}
	}
	if len(out) != len(names) {
		t.Fatalf("%v are not all marks", names)
	}
	return out
}

func TestVersionsAreToldByTheNamesThatOnlySomePodsExport(t *testing.T) {
	t.Parallel()
	const usage, tokens, oldTokens, reasons = "kv_cache_usage_perc", "inter_token_latency_seconds",
		"time_per_output_token_seconds", "num_requests_waiting_by_reason"
	for _, tt := range []struct {
		name string
		by   map[string][]vllm.Mark
		want map[string]string
	}{
		{
			"a rename",
			map[string][]vllm.Mark{"a": marks(t, usage, oldTokens), "b": marks(t, usage, tokens)},
			map[string]string{"a": "0.9.2 or later, before 0.10.2", "b": "0.10.2 or later"},
		},
		{
			"a metric that is new",
			map[string][]vllm.Mark{"a": marks(t, usage, tokens), "b": marks(t, usage, tokens, reasons)},
			map[string]string{"a": "0.10.2 or later, before 0.20", "b": "0.20 or later"},
		},
		{
			"what no pod exports may be dropped on the way",
			map[string][]vllm.Mark{"a": marks(t, tokens), "b": marks(t, tokens, reasons)},
			map[string]string{"a": "0.10.2 or later, before 0.20", "b": "0.20 or later"},
		},
		{
			"an old name that a setting shows is no other version",
			map[string][]vllm.Mark{"a": marks(t, usage, tokens, oldTokens), "b": marks(t, usage, tokens)},
			nil,
		},
		{
			"what contradicts itself is no version",
			map[string][]vllm.Mark{"a": marks(t, oldTokens, reasons), "b": marks(t, usage, tokens)},
			nil,
		},
	} {
		if d := cmp.Diff(tt.want, versionsByMarks(tt.by)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestVersionsAreKnownOfEveryPodOrNotAtAll(t *testing.T) {
	t.Parallel()
	two := []incident.ServedVersion{
		{Version: "0.23.0", Pods: []string{"a", "c"}}, {Version: "0.24.0", Pods: []string{"b"}},
	}
	for _, tt := range []struct {
		name string
		of   map[string]string
		want []incident.ServedVersion
	}{
		{"two versions", map[string]string{"a": "0.23.0", "b": "0.24.0", "c": "0.23.0", "gone": "0.22.0"}, two},
		{"one version", map[string]string{"a": "0.23.0", "b": "0.23.0", "c": "0.23.0"}, nil},
		{"one pod is not known", map[string]string{"a": "0.23.0", "b": "0.24.0"}, nil},
		{"nothing is known", nil, nil},
	} {
		if d := cmp.Diff(tt.want, severalVersions(tt.of, []string{"c", "a", "b"})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
