package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Engine is a series by which a scrape tells one engine of a model.
type Engine struct {
	// Labels are all labels of the series.
	Labels map[string]string
	// Namespace and Pod are those that the labels name; empty where they name none.
	Namespace, Pod string
}

// enginesQuery has a series for each engine of a model, in every version of vLLM.
const enginesQuery = "vllm:num_requests_running"

// Engines lists the engines of a model that have series now, by their labels. metric is what their series are called.
// It may be called any number of times.
func (c *Collector) Engines(ctx context.Context, m Model) (engines []Engine, metric string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	d, err := c.Dialect(ctx, incident.Pool{Name: m.Name, Matchers: m.Labels})
	if err != nil {
		return nil, "", err
	}
	query, err := Rewrite(enginesQuery, d, m.Labels)
	if err != nil {
		return nil, "", err
	}
	got, err := c.prom.Instant(ctx, query, c.Now())
	if err != nil {
		return nil, "", fmt.Errorf("list the engines of %s: %w", m.Name, err)
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return nil, "", errors.New("list the engines of " + m.Name + ": the answer is not a list of series")
	}
	for _, s := range vector {
		e := Engine{Labels: map[string]string{}}
		for name, value := range s.Metric {
			if name == model.MetricNameLabel {
				metric = string(value)
				continue
			}
			e.Labels[string(name)] = string(value)
		}
		if p, ok := podIn(func(l string) string { return e.Labels[l] }); ok {
			e.Namespace, e.Pod = p.namespace, p.name
		}
		engines = append(engines, e)
	}
	slices.SortFunc(engines, func(a, b Engine) int {
		return cmp.Compare(printMatchers(a.Labels), printMatchers(b.Labels))
	})
	return engines, metric, nil
}
