package evidence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// versions groups the pool's pods by the version of vLLM that they run: by their images where Kubernetes tells each of
// them, else by the names of the metrics that they export. Nil means that there are no two, or that it is not known. It
// asks nothing further of a pool all of whose pods are the workload's and export the same names.
func (c *Collector) versions(
	ctx context.Context, pool incident.Pool, found finding, ev incident.Evidence, known []incident.Pod,
) []incident.ServedVersion {
	serving, images := podsServing(ev), map[string]string{}
	for _, p := range known {
		images[p.Name] = p.Version
	}
	if out := severalVersions(images, serving); out != nil {
		return out
	}
	if !found.dialect.marked() {
		return nil
	}
	by, err := c.marksOf(ctx, found.dialect, pool.Matchers, ev)
	if err != nil {
		c.logger.WarnContext(ctx, "which versions of vLLM the pods run is not known", "pool", pool.Name, "err", err)
		return nil
	}
	return severalVersions(versionsByMarks(by), serving)
}

// severalVersions groups pods by version; nil unless each pod's is known and there are several.
func severalVersions(of map[string]string, serving []string) []incident.ServedVersion {
	by := map[string][]string{}
	for _, pod := range serving {
		v := of[pod]
		if v == "" {
			return nil
		}
		by[v] = append(by[v], pod)
	}
	if len(by) < 2 {
		return nil
	}
	var out []incident.ServedVersion
	for _, v := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[v])
		out = append(out, incident.ServedVersion{Version: v, Pods: by[v]})
	}
	return out
}

// marked says that some engines of the pool export a mark of versions and others don't. A metric with a series for each
// value of a label has a multiple of as many series as engines.
func (d Dialect) marked() bool {
	engines := d.count(d.prefix() + "num_requests_running")
	return slices.ContainsFunc(vllm.Marks(), func(m vllm.Mark) bool {
		n := d.count(d.prefix() + m.Name)
		if m.Name == "num_requests_waiting_by_reason" { // for each of two reasons
			n /= 2
		}
		return n > 0 && n < engines
	})
}

// marksOf asks which marks each pod exports.
func (c *Collector) marksOf(
	ctx context.Context, d Dialect, matchers map[string]string, ev incident.Evidence,
) (map[string][]vllm.Mark, error) {
	known := map[string]vllm.Mark{}
	var names []string
	for _, m := range vllm.Marks() {
		name := d.prefix() + m.Name
		if m.Histogram {
			name += vllm.SuffixCount
		}
		known[name] = m
		names = append(names, name)
	}
	sel, err := selector(strings.Join(names, "|"), equals(matchers)...)
	if err != nil {
		return nil, err
	}
	got, err := c.prom.Instant(ctx, "group by (__name__, "+d.podLabelOr()+") ("+sel+")", ev.At)
	if err != nil {
		return nil, err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return nil, errors.New("the answer is not a list of series")
	}
	out := map[string][]vllm.Mark{}
	for _, s := range vector {
		pod := string(s.Metric[model.LabelName(d.podLabelOr())])
		out[pod] = append(out[pod], known[string(s.Metric[model.MetricNameLabel])])
	}
	return out, nil
}

func (d Dialect) podLabelOr() string {
	if d.podLabel == "" {
		return labelPod
	}
	return d.podLabel
}

// versionsByMarks are the versions that each pod's marks leave possible. A metric that no pod exports may have been
// dropped on the way, so that its absence counts only where another pod has it. Nil where the marks contradict each
// other, or where one version could be in two groups: a setting can show old names, too.
func versionsByMarks(by map[string][]vllm.Mark) map[string]string {
	anywhere := map[vllm.Mark]bool{}
	for _, marks := range by {
		for _, m := range marks {
			anywhere[m] = true
		}
	}
	out := map[string]string{}
	var ranges []vllm.VersionRange
	for pod, marks := range by {
		var r vllm.VersionRange
		for _, m := range vllm.Marks() {
			if anywhere[m] {
				r = r.Narrow(m, slices.Contains(marks, m))
			}
		}
		if r.Empty() {
			return nil
		}
		out[pod] = r.String()
		if !slices.Contains(ranges, r) {
			ranges = append(ranges, r)
		}
	}
	for i, r := range ranges {
		if slices.ContainsFunc(ranges[:i], func(o vllm.VersionRange) bool { return !r.Apart(o) }) {
			return nil
		}
	}
	return out
}
