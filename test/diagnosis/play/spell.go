package play

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// The dialects: native is as vLLM of that version exports it, the others are the names of internal/vllm's spellings.
const (
	native     = "native"
	underscore = "underscore"
	ray        = "ray"
	rayColon   = "ray-colon"
	kserve     = "kserve"
	nim        = "nim"
)

// Dialects lists how a Prometheus may spell what is played. KServe's twins come beside the original series.
func Dialects() []string { return []string{native, underscore, ray, rayColon, kserve, nim} }

// spelledBy is the simulator's dialect that a dialect is made of.
func spelledBy(dialect string) fleet.Dialect {
	if dialect == nim {
		return fleet.V0
	}
	return fleet.V1
}

// speller writes series as a Prometheus of the incident has them.
type speller struct {
	incident *Incident
	// name is the cluster's for a pod of the fleet.
	name func(inFleet string) string
	// version is that of a pod, by the fleet's name.
	version func(inFleet string) version
	// done are the series of each one that was seen, by its hash.
	done map[uint64][]labels.Labels
}

// spell returns the series that stand for one of the fleet's: none where it does not exist.
func (s *speller) spell(ls labels.Labels) []labels.Labels {
	id := ls.Hash()
	out, known := s.done[id]
	if !known {
		out = s.write(ls)
		s.done[id] = out
	}
	return out
}

func (s *speller) write(ls labels.Labels) []labels.Labels {
	pod, name := ls.Get("pod"), ls.Get(model.MetricNameLabel)
	if strings.HasSuffix(name, vllm.SuffixCreated) {
		return nil // as the example configuration drops them
	}
	b := labels.NewBuilder(ls)
	if in := s.name(pod); in != "" {
		b.Set("pod", in)
		if !atThat(s.version(pod), ls, b) {
			return nil
		}
	}
	if _, ours := vllm.Canonical(name); !ours || s.incident.Dialect == native {
		return []labels.Labels{b.Labels()}
	}
	all := vllm.Spellings()
	to := all[slices.IndexFunc(all, func(x vllm.Spelling) bool { return x.Name == s.incident.Dialect })]
	spelled, has := to.Spell(name)
	if !has {
		return nil
	}
	plain := b.Labels()
	b.Set(model.MetricNameLabel, spelled)
	switch s.incident.Dialect {
	case kserve:
		return []labels.Labels{plain, b.Labels()}
	case ray, rayColon:
		rayLabels(b, pod)
	}
	return []labels.Labels{b.Labels()}
}

// rayLabels are what Ray's agent adds to each metric.
func rayLabels(b *labels.Builder, pod string) {
	b.Set("WorkerId", fmt.Sprintf("%040x", len(pod)*7919+int(pod[len(pod)-1])))
	b.Set("SessionName", "session_2026-11-15_08-12-44_120031_1").Set("Component", "core_worker").Set("Version", "2.49.1")
	b.Set("NodeAddress", strings.TrimSuffix(b.Get("instance"), ":8000"))
}

// atThat takes away what a version doesn't have yet of what the simulator's dialect has; false for a whole series.
func atThat(v version, ls labels.Labels, b *labels.Builder) bool {
	if v.before(24, 0) {
		b.Del("kv_cache_size_tokens", "kv_cache_max_concurrency")
	}
	switch name := ls.Get(model.MetricNameLabel); {
	case strings.HasSuffix(name, "num_requests_waiting_by_reason"):
		return !v.before(20, 0)
	case strings.HasSuffix(name, "request_success_total"):
		reason := ls.Get("finished_reason")
		return (reason != "error" || !v.before(13, 0)) && (reason != "repetition" || !v.before(17, 0))
	}
	return true
}
