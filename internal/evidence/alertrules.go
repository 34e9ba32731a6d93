package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// lookBack is how far back series count when a rule is judged: servers may be away over night.
const lookBack = 24 * time.Hour

// ExaminedRule is a rule with what can be said of it.
type ExaminedRule struct {
	prometheus.AlertRule
	Verdict alertrules.Verdict
}

// AlertRules asks Prometheus for the alert rules that concern vLLM. prometheus.ErrNoRules is in the error when it does
// not list rules at all. It may be called any number of times.
func (c *Collector) AlertRules(ctx context.Context) ([]prometheus.AlertRule, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	loaded, err := c.prom.Rules(ctx)
	return concerningVLLM(loaded), err
}

// ExamineAlertRules judges each alert rule that concerns vLLM by what had series in the last 24 hours.
// prometheus.ErrNoRules is in the error when rules are not listed. What cannot be asked leaves a rule undecided. When
// this Prometheus had no vLLM metrics at all, no rule is judged: scraped is then false.
func (c *Collector) ExamineAlertRules(ctx context.Context) (rules []ExaminedRule, scraped bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	loaded, err := c.prom.Rules(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, r := range concerningVLLM(loaded) {
		rules = append(rules, ExaminedRule{AlertRule: r})
	}
	if len(rules) == 0 {
		return nil, true, nil
	}
	at := c.Now()
	known, scraped, err := c.known(ctx, loaded, at)
	if err != nil || !scraped {
		return rules, scraped, err
	}
	var asks []string
	for name := range known.Metrics {
		if vllm.RouterTwin(name) { // are there series of the engines too
			asks = append(asks, name)
		}
	}
	for _, r := range rules {
		asks = append(asks, r.Expr)
	}
	c.askSeries(ctx, &known, asks, at)
	for i := range rules {
		rules[i].Verdict = c.examine(ctx, rules[i].Expr, known, at)
	}
	return rules, true, nil
}

// examine judges one rule, and its correction in its turn by what has series.
func (c *Collector) examine(ctx context.Context, expr string, known alertrules.Known, at time.Time) alertrules.Verdict {
	v, err := alertrules.Examine(expr, known)
	if err != nil {
		return alertrules.Verdict{Why: []string{err.Error()}}
	}
	if v.Instead == "" {
		return v
	}
	c.askSeries(ctx, &known, []string{v.Instead}, at)
	again, err := alertrules.Examine(expr, known)
	if err != nil {
		return v
	}
	return again
}

// concerningVLLM are the alert rules that concern vLLM.
func concerningVLLM(loaded prometheus.Rules) []prometheus.AlertRule {
	var out []prometheus.AlertRule
	for _, r := range loaded.Alerts {
		if alertrules.Concerns(r.Expr, loaded.Recorded) {
			out = append(out, r)
		}
	}
	return out
}

// known reads which vLLM metrics there were, and their buckets. ok is false when there were none.
func (c *Collector) known(
	ctx context.Context,
	loaded prometheus.Rules,
	at time.Time,
) (k alertrules.Known, ok bool, err error) {
	names, err := c.namesSince(ctx, at)
	if err != nil {
		return k, false, fmt.Errorf("ask for the names of vLLM's metrics: %w", err)
	}
	d, ok := DialectOf(names)
	if !ok {
		return k, false, nil
	}
	k = alertrules.Known{
		Metrics: map[string]alertrules.Presence{}, Complete: true,
		Selectors: map[string]alertrules.Presence{}, Since: "in the last 24 h",
		Prefix: d.prefix(), Recorded: loaded.Recorded,
	}
	for _, n := range names {
		k.Metrics[n] = alertrules.Present
	}
	// Without bounds nothing is judged by them.
	if k.Bounds, err = c.bounds(ctx, at); err != nil {
		c.logger.DebugContext(ctx, "bucket bounds not read", "err", err)
	}
	return k, true, nil
}

// namesSince lists the vLLM metrics of the last day.
func (c *Collector) namesSince(ctx context.Context, at time.Time) ([]string, error) {
	sel, err := selector(vllmNames)
	if err != nil {
		return nil, err
	}
	return c.prom.MetricNames(ctx, sel, at.Add(-lookBack), at)
}

// bounds asks for the finite bucket bounds of the latency histograms, over all servers: where they differ, the union
// judges nobody too hard.
func (c *Collector) bounds(ctx context.Context, at time.Time) (map[string][]float64, error) {
	sel, err := selector(vllm.PrefixPattern + vllm.LatencyPattern)
	if err != nil {
		return nil, err
	}
	got, err := c.prom.Instant(ctx, "group by (__name__, le) ("+sel+")", at)
	if err != nil {
		return nil, err
	}
	vector, ok := got.Value.(model.Vector)
	if !ok {
		return nil, errors.New("the answer is not a list of series")
	}
	out := map[string][]float64{}
	for _, s := range vector {
		le, err := strconv.ParseFloat(string(s.Metric[model.BucketLabel]), 64)
		if err != nil || math.IsInf(le, 0) || math.IsNaN(le) {
			continue
		}
		name := strings.TrimSuffix(string(s.Metric[model.MetricNameLabel]), vllm.SuffixBucket)
		out[name] = append(out[name], le)
	}
	for name := range out {
		slices.Sort(out[name])
	}
	return out, nil
}

// askSeries adds to what is known whether the selectors of these expressions had series. What is not answered stays
// unknown.
func (c *Collector) askSeries(ctx context.Context, known *alertrules.Known, exprs []string, at time.Time) {
	var unasked []string
	for _, expr := range exprs {
		all, err := alertrules.Selectors(expr)
		if err != nil {
			continue // Examine says so
		}
		for _, s := range all {
			if known.Selectors[s] == alertrules.Unasked && !slices.Contains(unasked, s) {
				unasked = append(unasked, s)
			}
		}
	}
	found := make([]alertrules.Presence, len(unasked))
	var wg rescue.Group
	for i, s := range unasked {
		wg.Go(func() { found[i] = c.presence(ctx, s, at.Add(-lookBack), at) })
	}
	wg.Wait()
	for i, s := range unasked {
		known.Selectors[s] = found[i]
	}
}

// presence asks whether a selector had series. No answer proves nothing.
func (c *Collector) presence(ctx context.Context, sel string, from, to time.Time) alertrules.Presence {
	there, err := c.prom.HasSeries(ctx, sel, from, to)
	switch {
	case err != nil:
		c.logger.DebugContext(ctx, "series not asked", "err", err)
		return alertrules.Unasked
	case !there:
		return alertrules.Absent
	}
	return alertrules.Present
}
