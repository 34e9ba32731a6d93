package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// rulesPath is where Prometheus lists its rules.
const rulesPath = "/api/v1/rules"

// lookBack is how far back series count when a rule is judged: servers may be away over night.
const lookBack = 24 * time.Hour

// ErrNoRules says that this address answers queries but does not list rules: a proxy that lets only queries pass, or a store without a ruler.
var ErrNoRules = errors.New("this address does not list alert rules")

// AlertRule is an alert rule that Prometheus has loaded.
type AlertRule struct {
	Group, File, Name string
	// Expr is PromQL as Prometheus prints it.
	Expr string
	// For is how long it must be true before the alert fires.
	For time.Duration
	// Labels are what the rule adds to an alert; values may be templates.
	Labels map[string]string
	// Health is Prometheus' "ok", "err" or "unknown"; LastError says why it could not be evaluated.
	Health, LastError string
}

// ExaminedRule is a rule with what can be said of it.
type ExaminedRule struct {
	AlertRule
	Verdict alertrules.Verdict
}

// ruleBook is everything that is loaded.
type ruleBook struct {
	alerts []AlertRule
	// recorded are the expressions of recording rules by name.
	recorded map[string][]string
}

// AlertRules asks Prometheus for the alert rules that concern vLLM. ErrNoRules is in the error when it does not list rules at all. It may be called
// any number of times.
func (c *Collector) AlertRules(ctx context.Context) ([]AlertRule, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	book, err := c.rules(ctx)
	return book.vllm(), err
}

// ExamineAlertRules judges each alert rule that concerns vLLM by what had series in the last 24 hours. ErrNoRules is in the error when rules are not
// listed. What cannot be asked leaves a rule undecided. When this Prometheus had no vLLM metrics at all, no rule is judged: scraped is then false.
func (c *Collector) ExamineAlertRules(ctx context.Context) (rules []ExaminedRule, scraped bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Deadline, &deadlineError{limit: c.cfg.Deadline})
	defer cancel()
	book, err := c.rules(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, r := range book.vllm() {
		rules = append(rules, ExaminedRule{AlertRule: r})
	}
	if len(rules) == 0 {
		return nil, true, nil
	}
	at := c.now()
	known, scraped, err := c.known(ctx, book, at)
	if err != nil || !scraped {
		return rules, scraped, err
	}
	var asks []string
	for name := range known.Metrics {
		if alertrules.RouterTwin(name) { // are there series of the engines too
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

// rules reads everything that is loaded, recording rules too: an alert on one is as alive as what it records.
func (c *Collector) rules(ctx context.Context) (ruleBook, error) {
	var got v1.RulesResult
	api := v1.NewAPI(lists{c.ask.client})
	_, err := c.ask.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var err error
		got, err = api.Rules(ctx, nil)
		return nil, nil, err
	})
	if status, ok := errors.AsType[*statusError](err); ok && status.unlisted() {
		return ruleBook{}, fmt.Errorf("%w: %w", ErrNoRules, err)
	}
	if err != nil {
		return ruleBook{}, fmt.Errorf("list the alert rules: %w", err)
	}
	book := ruleBook{recorded: map[string][]string{}}
	for _, g := range got.Groups {
		for _, r := range g.Rules {
			switch r := r.(type) {
			case v1.AlertingRule:
				book.alerts = append(book.alerts, alertRule(g, r))
			case v1.RecordingRule:
				book.recorded[r.Name] = append(book.recorded[r.Name], r.Query)
			}
		}
	}
	return book, nil
}

func alertRule(g v1.RuleGroup, r v1.AlertingRule) AlertRule {
	out := AlertRule{
		Group: g.Name, File: g.File, Name: r.Name, Expr: r.Query, For: time.Duration(r.Duration * float64(time.Second)),
		Labels: map[string]string{}, Health: string(r.Health), LastError: cut(r.LastError),
	}
	for name, value := range r.Labels {
		out.Labels[string(name)] = string(value)
	}
	return out
}

// vllm are the alert rules that concern vLLM.
func (b ruleBook) vllm() []AlertRule {
	var out []AlertRule
	for _, r := range b.alerts {
		if alertrules.Concerns(r.Expr, b.recorded) {
			out = append(out, r)
		}
	}
	return out
}

// unlisted says that the address has no such page, in one of the ways in which proxies say so.
func (e *statusError) unlisted() bool {
	switch e.code {
	case http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusGone:
		return true
	}
	return false
}

// known reads which vLLM metrics there were, and their buckets. ok is false when there were none.
func (c *Collector) known(ctx context.Context, book ruleBook, at time.Time) (k alertrules.Known, ok bool, err error) {
	names, err := c.namesSince(ctx, at)
	if err != nil {
		return k, false, fmt.Errorf("ask for the names of vLLM's metrics: %w", err)
	}
	d, ok := DialectOf(names)
	if !ok {
		return k, false, nil
	}
	k = alertrules.Known{
		Metrics: map[string]alertrules.Presence{}, Complete: true, Selectors: map[string]alertrules.Presence{}, Since: "in the last 24 h",
		Prefix: d.prefix(), Recorded: book.recorded,
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
	var got model.LabelValues
	api := v1.NewAPI(lists{c.ask.client})
	_, err = c.ask.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var (
			w   v1.Warnings
			err error
		)
		got, w, _, err = api.LabelValues(ctx, model.MetricNameLabel, []string{sel}, at.Add(-lookBack), at)
		return nil, w, err
	})
	names := make([]string, 0, len(got))
	for _, n := range got {
		names = append(names, string(n))
	}
	return names, err
}

// bounds asks for the finite bucket bounds of the latency histograms, over all servers: where they differ, the union judges nobody too hard.
func (c *Collector) bounds(ctx context.Context, at time.Time) (map[string][]float64, error) {
	sel, err := selector("(kserve_)?(ray_)?vllm[:_]" + bucketNames)
	if err != nil {
		return nil, err
	}
	got, err := c.ask.instant(ctx, "group by (__name__, le) ("+sel+")", at)
	if err != nil {
		return nil, err
	}
	vector, ok := got.value.(model.Vector)
	if !ok {
		return nil, errors.New("the answer is not a list of series")
	}
	out := map[string][]float64{}
	for _, s := range vector {
		le, err := strconv.ParseFloat(string(s.Metric[model.BucketLabel]), 64)
		if err != nil || math.IsInf(le, 0) || math.IsNaN(le) {
			continue
		}
		name := strings.TrimSuffix(string(s.Metric[model.MetricNameLabel]), "_bucket")
		out[name] = append(out[name], le)
	}
	for name := range out {
		slices.Sort(out[name])
	}
	return out, nil
}

// askSeries adds to what is known whether the selectors of these expressions had series. What is not answered stays unknown.
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

// presence asks whether a selector had series. No answer, and an answer that lacks a part of the data without a series in it, prove nothing.
func (c *Collector) presence(ctx context.Context, sel string, from, to time.Time) alertrules.Presence {
	var got []model.LabelSet
	api := v1.NewAPI(lists{c.ask.client})
	_, err := c.ask.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var (
			w   v1.Warnings
			err error
		)
		got, w, _, err = api.Series(ctx, []string{sel}, from, to, v1.WithLimit(1))
		if len(got) > 0 {
			w = nil // one is enough, and Prometheus warns that there are more
		}
		return nil, w, err
	})
	switch {
	case err != nil:
		c.logger.DebugContext(ctx, "series not asked", "err", err)
		return alertrules.Unasked
	case len(got) == 0:
		return alertrules.Absent
	}
	return alertrules.Present
}

// lists is the client for pages whose answer is a list and not the result of a query.
type lists struct{ *client }

// Do implements api.Client.
func (l lists) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	if strings.HasSuffix(req.URL.Path, rulesPath) {
		// The alerts that fire now are not asked for: during an incident there are thousands.
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&exclude_alerts=true", "&")
	}
	req, err := l.withParams(req.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	resp, err := l.http.Do(req) //nolint:gosec // the address is the operator's configuration
	if err != nil {
		return nil, nil, networkError(ctx, err)
	}
	body, err := l.read(resp)
	if err != nil {
		return resp, nil, networkError(ctx, err)
	}
	if resp.StatusCode/100 != 2 {
		return resp, nil, newStatusError(resp, body)
	}
	return resp, body, checkList(resp, body)
}

// checkList refuses what could be taken for an empty list.
func checkList(resp *http.Response, body []byte) error {
	var env envelope
	if err := json.Unmarshal(body, &env); err != nil {
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		return fmt.Errorf("the answer is not JSON (Content-Type %q): check that prometheus.url is Prometheus and not a login page", cut(kind))
	}
	switch {
	case env.Status == "error":
		return fmt.Errorf("prometheus answered an error: %s: %s", cut(env.ErrorType), cut(env.Error))
	case env.Status != "success":
		return errors.New("the answer has no status: check that prometheus.url is Prometheus")
	case env.IsPartial:
		return fmt.Errorf("%w: isPartial is set, a part of the storage did not answer", errPartial)
	case len(env.Data) == 0 || string(env.Data) == "null":
		return errors.New("the answer has no list, which is not the same as an empty one")
	}
	return nil
}
