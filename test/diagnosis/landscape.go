package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// LandscapeTime is when a landscape is looked at: long ago for every clock, so that a store takes it for the past.
func LandscapeTime() time.Time { return time.Date(2025, time.November, 19, 10, 30, 0, 0, time.UTC) }

// forty are incidents of every dialect that are small enough to be loaded for a test.
func forty() []string {
	return []string{
		"batch-capped-underscore", "big-batch-native", "burst-that-ended-four-minutes-ago",
		"dead-alert-swapped-router", "dead-all-oom-killed",
		"dead-one-of-two", "deferred-lora-slots", "errors-finished-reason", "gateway-cancels-of-another-route",
		"gpu-memory-exported-labels", "heldout-gpu-memory-without-exporter", "heldout-idle-staging",
		"heldout-light-nim-evening", "heldout-queue-going-down-slowly", "heldout-stutter-at-imports",
		"idle-underscore-weekend", "interference-underscore", "light-load-low-throughput", "light-load-v0",
		"long-answers-underscore", "long-prefill-early-v1", "nixl-expiring-kserve", "nixl-failing-underscore",
		"none-nim-calm", "none-prometheus-gap", "oom-crash-loop", "prefill-saturation-hol",
		"prefill-saturation-ray", "queueing-early-v1", "queueing-fresh-pool", "queueing-nim",
		"renamed-cache-between-names", "simulator-queue", "stalled-frozen-resolved", "stalled-piling",
		"thrash-v0-no-swap", "timeouts-leave-queue-early-v1", "warming-after-deploy", "warming-first-compile",
		"warming-statefulset-rollout",
	}
}

// Landscape puts forty incidents of a corpus side by side into one sink, each as a model of its own that is named after
// the incident, in a namespace that is named after what is wrong with it. All of them are at their end at
// LandscapeTime.
func Landscape(to Sink, corpus []Incident) error {
	for _, name := range forty() {
		i := slices.IndexFunc(corpus, func(inc Incident) bool { return inc.Name == name })
		if i < 0 {
			return fmt.Errorf("the corpus has no incident %q", name)
		}
		inc := corpus[i]
		inc.At = LandscapeTime()
		if err := inc.Generate(asModel{to: to, namespace: inc.Truth, model: inc.Name}); err != nil {
			return err
		}
	}
	return nil
}

// asModel gives the series of an incident the names of a model of its own. Pods are told apart by their names alone
// where a GPU's series are joined to them, so these differ too.
type asModel struct {
	to               Sink
	namespace, model string
}

// Append implements Sink.
func (a asModel) Append(ls labels.Labels, samples []promembed.Sample) error {
	b := labels.NewBuilder(ls)
	ls.Range(func(l labels.Label) {
		switch {
		case l.Name == "pod" || l.Name == "exported_pod":
			b.Set(l.Name, a.model+"-"+l.Value)
		case l.Value == namespace:
			b.Set(l.Name, a.namespace)
		case l.Value == model:
			b.Set(l.Name, a.model)
		}
	})
	return a.to.Append(b.Labels(), samples)
}
