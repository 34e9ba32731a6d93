package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Model is a served model that Prometheus has metrics of.
type Model struct {
	// Name is "llm/llama-70b": the namespace, where there is one, and what vLLM calls the model. Where series come from
	// several clusters, the cluster is in front.
	Name string
	// Labels are matchers that select the model's series. They never have an empty value, so Overlaps says where that is
	// not enough.
	Labels map[string]string
	// Gone says that the model had series in the last hour and has none now; LastSeen is then the time of its newest
	// sample, zero when that is not known.
	Gone     bool
	LastSeen time.Time
	// Overlaps are other models whose series have all of Labels too: a query would read them as well.
	Overlaps []string
}

// ModelName is what vLLM itself calls the model; empty when its series do not say.
func (m Model) ModelName() string { return m.Labels[vllm.LabelModel] }

// modelsSince is how far back a model without series now is still listed: long enough for somebody who was just called,
// and short enough that one which was scaled to zero on purpose leaves the list.
const modelsSince = time.Hour

// labelCluster tells clusters apart where one Prometheus, or Thanos or VictoriaMetrics, has the series of several.
const labelCluster = "cluster"

// sighting is one group of series: the labels that tell models apart, and what metrics they have.
type sighting struct {
	labels map[string]string
	names  []string
	now    bool
}

// Models lists every model of which Prometheus has vLLM metrics with these labels, now or in the last hour, in any
// dialect, by name. What production-stack's router exports counts for no model, and neither does a single metric
// without a prefix: that could be anybody's. No model at all is an empty list. It may be called any number of times.
func (c *Collector) Models(ctx context.Context, match map[string]string) ([]Model, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	if err := promql.CheckMatchers(match); err != nil {
		return nil, err
	}
	at, found := c.Now(), map[string]*sighting{}
	for _, now := range []bool{true, false} {
		if err := c.sight(ctx, found, match, now, at); err != nil {
			return nil, fmt.Errorf("list the models: %w", err)
		}
	}
	var out []Model
	for _, key := range slices.Sorted(maps.Keys(found)) {
		s := found[key]
		d, ok := DialectOf(s.names)
		if !ok {
			continue
		}
		m := Model{Labels: s.labels, Gone: !s.now}
		if m.Gone {
			m.LastSeen = c.lastSeen(ctx, d, m.Labels, at)
		}
		out = append(out, m)
	}
	nameModels(out)
	slices.SortFunc(out, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	markOverlaps(out)
	return out, nil
}

// sight adds what has series now, or had some in the last hour.
func (c *Collector) sight(
	ctx context.Context, found map[string]*sighting, match map[string]string, now bool, at time.Time,
) error {
	query, err := modelsQuery(match, now)
	if err != nil {
		return err
	}
	got, err := c.prom.Instant(ctx, query, at)
	if err != nil {
		return err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return errors.New("the answer is not a list of series")
	}
	for _, s := range vector {
		labels := identity(s.Metric)
		maps.Copy(labels, match)
		key := printMatchers(labels)
		if found[key] == nil {
			found[key] = &sighting{labels: labels}
		}
		f := found[key]
		f.now = f.now || now
		if name := string(s.Metric[model.MetricNameLabel]); !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
	return nil
}

// modelsQuery counts the series of the metrics by which a dialect is recognized, by all labels that may tell models
// apart.
func modelsQuery(match map[string]string, now bool) (string, error) {
	by := []string{model.MetricNameLabel, labelCluster, vllm.LabelModel, model.JobLabel}
	for _, pair := range incident.PodLabels() {
		by = append(by, pair[0])
	}
	telling := "(" + strings.Join(vllm.Telling(), "|") + ")"
	bound := equals(match)
	if _, own := match[vllm.RouterLabel]; !own {
		bound = append(bound, equal(vllm.RouterLabel, ""))
	}
	parts := make([]string, 2)
	for i, pattern := range []string{vllm.PrefixPattern + telling, telling} {
		sel, err := selector(pattern, bound...)
		if err != nil {
			return "", err
		}
		if !now {
			sel = "last_over_time(" + sel + "[" + model.Duration(modelsSince).String() + "])"
		}
		// "or" compares labels and not names.
		parts[i] = `label_replace(count by (` + strings.Join(by, ", ") + `) (` + sel +
			`), "metric", "$1", "__name__", "(.+)")`
	}
	return strings.Join(parts, " or "), nil
}

// identity are the labels of a series that tell its model from others: cluster, namespace and name. A series without a
// model's name is told by its job.
func identity(metric model.Metric) map[string]string {
	out := map[string]string{}
	take := func(label string) bool {
		v := string(metric[model.LabelName(label)])
		if v != "" {
			out[label] = v
		}
		return v != ""
	}
	take(labelCluster)
	for _, pair := range incident.PodLabels() {
		if take(pair[0]) {
			break
		}
	}
	if !take(vllm.LabelModel) {
		take(model.JobLabel)
	}
	return out
}

// nameModels gives each model its name.
func nameModels(all []Model) {
	clusters := map[string]bool{}
	for _, m := range all {
		clusters[m.Labels[labelCluster]] = true
	}
	for i, m := range all {
		var parts []string
		if len(clusters) > 1 {
			parts = append(parts, m.Labels[labelCluster])
		}
		for _, pair := range incident.PodLabels() {
			parts = append(parts, m.Labels[pair[0]])
		}
		parts = append(parts, m.ModelName())
		if m.ModelName() == "" {
			parts = append(parts, "job "+cmp.Or(m.Labels[model.JobLabel], "?")+" (no model_name)")
		}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		all[i].Name = strings.Join(parts, "/")
	}
}

// markOverlaps says of each model which others have all of its labels too.
func markOverlaps(all []Model) {
	for i := range all {
		for j := range all {
			if i != j && within(all[i].Labels, all[j].Labels) {
				all[i].Overlaps = append(all[i].Overlaps, all[j].Name)
			}
		}
	}
}

// within says whether a series with the labels of other would be selected by these.
func within(labels, other map[string]string) bool {
	for name, value := range labels {
		if other[name] != value {
			return false
		}
	}
	return true
}

// lastSeen is the time of the newest sample of a model that has none now.
func (c *Collector) lastSeen(ctx context.Context, d Dialect, labels map[string]string, at time.Time) time.Time {
	query, err := Rewrite(sampleAgeQuery, d, labels)
	if err != nil {
		return time.Time{}
	}
	got, err := c.prom.Instant(ctx,
		fmt.Sprintf("max_over_time((%s)[%s:%s])", query, model.Duration(modelsSince), model.Duration(time.Minute)), at)
	if err != nil {
		c.logger.DebugContext(ctx, "time of the newest sample not read", "err", err)
		return time.Time{}
	}
	v, ok, err := single(got.Value)
	if err != nil || !ok || math.IsNaN(v) {
		return time.Time{}
	}
	return time.UnixMilli(int64(v * 1000)).UTC()
}
