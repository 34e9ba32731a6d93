package evidence

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// labelsMissingOn are the labels that vLLM puts on its metrics but that a given metric cannot carry: some of vLLM's own
// and those of the gateway's recording rule of deploy/prometheus (namespace_httproute:...), by namespace and route.
// Metrics of others (up, DCGM, gateways) are not among them on purpose: without model_name they would be those of every
// pool in the namespace, so for them a matcher that they do not carry means no data.
func labelsMissingOn(name string) []string {
	if isGateway(name) {
		return []string{vllm.LabelModel, vllm.LabelEngine}
	}
	return vllm.LabelsMissing(name)
}

// The labels of the scrape by which vLLM's series and those of other exporters about the same pod can be joined.
// namespace names the same thing on both.
const (
	labelPod       = "pod"
	labelEngine    = "engine"
	labelNamespace = "namespace"
)

// widened says which metrics were read with fewer matchers than the pool has. A route that the pool names is its own.
func widened(metrics []string, pool scope) string {
	var notes []string
	for _, name := range metrics {
		if isGateway(name) && !pool.route.IsZero() {
			continue
		}
		var left []string
		for _, label := range labelsMissingOn(name) {
			if _, has := pool.matchers[label]; has {
				left = append(left, label)
			}
		}
		if len(left) > 0 {
			notes = append(notes,
				name+" has no label "+strings.Join(left, " and ")+": it was read without that matcher and may include other pools")
		}
	}
	return strings.Join(notes, "; ")
}

// unmatched explains why a metric of somebody else may have no data.
func unmatched(metrics []string, matchers map[string]string) string {
	for _, label := range []string{vllm.LabelModel, vllm.LabelEngine} {
		if _, has := matchers[label]; !has {
			continue
		}
		for _, name := range metrics {
			if _, own := vllm.BareName(name); !own && labelsMissingOn(name) == nil {
				return name + " is not vLLM's own and may not carry " + label + ", which this pool's matchers ask for"
			}
		}
	}
	return ""
}
