package evidence

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func TestWhatIsSpelledIsRecognisedAsThatDialect(t *testing.T) {
	t.Parallel()
	metrics := append([]string{
		"vllm:kv_cache_usage_perc", "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
		"vllm:inter_token_latency_seconds_count",
		"vllm:request_success_total", "vllm:request_queue_time_seconds_count",
	}, func() (out []string) {
		for _, base := range vllm.Telling() {
			if base != "gpu_cache_usage_perc" {
				out = append(out, vllm.CanonicalPrefix+base)
			}
		}
		return out
	}()...)
	seen := map[string]bool{}
	for _, s := range vllm.Spellings() {
		if seen[s.Name] || s.Who == "" {
			t.Errorf("%q is there twice or does not say where it is found", s.Name)
		}
		seen[s.Name] = true
		var names []string
		for _, m := range metrics {
			if name, ok := s.Spell(m); ok {
				names = append(names, name)
			}
		}
		d, ok := DialectOf(names)
		if !ok || d.prefix() != s.Prefix || d.Generation != s.Generation {
			t.Errorf("%s is recognised as %s", s.Name, d)
		}
		for _, m := range metrics {
			if name, ok := s.Spell(m); ok && d.spell(m) != name {
				t.Errorf("%s: %s is spelled %s, and queries ask for %s", s.Name, m, name, d.spell(m))
			}
		}
	}
	for _, foreign := range []string{"up", "DCGM_FI_DEV_GPU_UTIL", "job:vllm:rate"} {
		if got, ok := vllm.Spellings()[4].Spell(foreign); !ok || got != foreign {
			t.Errorf("%s becomes %s", foreign, got)
		}
	}
}

func TestWhatADialectDoesNotHaveIsNotSpelled(t *testing.T) {
	t.Parallel()
	for _, s := range vllm.Spellings() {
		_, hits := s.Spell("vllm:prefix_cache_hits_total")
		_, queue := s.Spell("vllm:request_queue_time_seconds_bucket")
		if want := s.Generation != vllm.V0; hits != want {
			t.Errorf("%s: the prefix cache's hits are there: %v", s.Name, hits)
		}
		if want := s.Name != "nim"; queue != want {
			t.Errorf("%s: queue times are there: %v", s.Name, queue)
		}
	}
}
