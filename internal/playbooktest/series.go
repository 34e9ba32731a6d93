package playbooktest

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// start is when the first value of all series is: noon of a Monday, which no test can see but in a time that it prints.
func start() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }

// input is one series with its labels.
type input struct {
	labels labels.Labels
	values string
}

// parseName reads a metric with its labels.
func parseName(text string) (labels.Labels, int, error) {
	ls, err := promql.ParseMetric(text, parser.Options{})
	if many, ok := errors.AsType[parser.ParseErrors](err); ok && len(many) > 0 {
		return ls, max(int(many[0].PositionRange.Start), 0), many[0].Err
	}
	if err == nil && ls.Get(model.MetricNameLabel) == "" {
		err = errors.New("the series names no metric")
	}
	return ls, 0, err
}

// nameOf is a series as people write it.
func nameOf(ls labels.Labels) string {
	name := ls.Get(model.MetricNameLabel)
	if !model.LegacyValidation.IsValidMetricName(name) {
		return ls.String()
	}
	rest := labels.NewBuilder(ls).Del(model.MetricNameLabel).Labels()
	if rest.IsEmpty() {
		return name
	}
	return name + rest.String()
}

// spelled writes all series in a dialect. What does not exist there is left out, and named.
func spelled(in []input, s vllm.Spelling) (out []promembed.Series, without []string) {
	for _, one := range in {
		metric := one.labels.Get(model.MetricNameLabel)
		name, ok := s.Spell(metric)
		if !ok {
			if !slices.Contains(without, metric) {
				without = append(without, metric)
			}
			continue
		}
		ls := labels.NewBuilder(one.labels).Set(model.MetricNameLabel, name).Labels()
		out = append(out, promembed.Series{Series: nameOf(ls), Values: one.values})
	}
	return out, without
}

// spellings are the dialects that a test names. "all" are those in which every series of the test exists.
func (r *reader) spellings(path string, names []string, in []input) []vllm.Spelling {
	all := vllm.Spellings()
	if len(names) == 0 {
		return all[:1]
	}
	var out []vllm.Spelling
	add := func(s vllm.Spelling) {
		if !slices.ContainsFunc(out, func(o vllm.Spelling) bool { return o.Name == s.Name }) {
			out = append(out, s)
		}
	}
	for i, name := range names {
		known := name == "all"
		for _, s := range all {
			_, without := spelled(in, s)
			if s.Name == name || name == "all" && len(without) == 0 {
				known = true
				add(s)
			}
		}
		if !known {
			r.at(indexed(path+".dialects", i), "dialects: %s", strictyaml.NotOneOf(name, append([]string{"all"},
				spellingNames()...)))
		}
	}
	return out
}

func spellingNames() []string {
	var names []string
	for _, s := range vllm.Spellings() {
		names = append(names, s.Name)
	}
	return names
}

// matchers are the labels that bind a pool when the test does not say: those that all series which carry them have in
// common.
func matchers(in []input) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"namespace", "model_name"} {
		values := map[string]bool{}
		for _, one := range in {
			if _, own := vllm.Canonical(one.labels.Get(model.MetricNameLabel)); own {
				if v := one.labels.Get(name); v != "" || name == "namespace" {
					values[v] = true
				}
			}
		}
		for v := range values {
			if len(values) == 1 && v != "" {
				out[name] = v
			}
		}
	}
	return out
}
