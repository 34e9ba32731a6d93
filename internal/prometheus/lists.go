package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// rulesPath is where Prometheus lists its rules.
const rulesPath = "/api/v1/rules"

// ErrNoRules says that this address answers queries but does not list rules: a proxy that lets only queries pass, or a
// store without a ruler.
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

// Rules are all rules that are loaded.
type Rules struct {
	Alerts []AlertRule
	// Recorded are the expressions of recording rules by name.
	Recorded map[string][]string
}

// Rules lists what is loaded, recording rules too: an alert on one is as alive as what it records. ErrNoRules is in the
// error when rules are not listed at all.
func (c *Client) Rules(ctx context.Context) (Rules, error) {
	var got v1.RulesResult
	_, err := c.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var err error
		got, err = c.lists.Rules(ctx, nil)
		return nil, nil, err
	})
	if status, ok := errors.AsType[*statusError](err); ok && status.unlisted() {
		return Rules{}, fmt.Errorf("%w: %w", ErrNoRules, err)
	}
	if err != nil {
		return Rules{}, fmt.Errorf("list the alert rules: %w", err)
	}
	out := Rules{Recorded: map[string][]string{}}
	for _, g := range got.Groups {
		for _, r := range g.Rules {
			switch r := r.(type) {
			case v1.AlertingRule:
				out.Alerts = append(out.Alerts, alertRule(g, r))
			case v1.RecordingRule:
				out.Recorded[r.Name] = append(out.Recorded[r.Name], r.Query)
			}
		}
	}
	return out, nil
}

func alertRule(g v1.RuleGroup, r v1.AlertingRule) AlertRule {
	out := AlertRule{
		Group: g.Name, File: g.File, Name: r.Name, Expr: r.Query, For: time.Duration(r.Duration * float64(time.Second)),
		Labels: map[string]string{}, Health: string(r.Health), LastError: redact.Line(r.LastError),
	}
	for name, value := range r.Labels {
		out.Labels[string(name)] = string(value)
	}
	return out
}

// unlisted says that the address has no such page, in one of the ways in which proxies say so.
func (e *statusError) unlisted() bool {
	switch e.code {
	case http.StatusForbidden,
		http.StatusNotFound,
		http.StatusMethodNotAllowed,
		http.StatusNotImplemented,
		http.StatusGone:
		return true
	}
	return false
}

// MetricNames lists the names of the metrics that had series under a selector between two times.
func (c *Client) MetricNames(ctx context.Context, selector string, from, to time.Time) ([]string, error) {
	var got model.LabelValues
	_, err := c.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var (
			w   v1.Warnings
			err error
		)
		got, w, _, err = c.lists.LabelValues(ctx, model.MetricNameLabel, []string{selector}, from, to)
		return nil, w, err
	})
	names := make([]string, 0, len(got))
	for _, n := range got {
		names = append(names, string(n))
	}
	return names, err
}

// HasSeries says whether a selector had series between two times. An answer that lacks a part of the data and has no
// series in it is an error.
func (c *Client) HasSeries(ctx context.Context, selector string, from, to time.Time) (bool, error) {
	var got []model.LabelSet
	_, err := c.ask(ctx, func(ctx context.Context) (model.Value, v1.Warnings, error) {
		var (
			w   v1.Warnings
			err error
		)
		got, w, _, err = c.lists.Series(ctx, []string{selector}, from, to, v1.WithLimit(1))
		if len(got) > 0 {
			w = nil // one is enough, and Prometheus warns that there are more
		}
		return nil, w, err
	})
	return err == nil && len(got) > 0, err
}

// lists is the connection for pages whose answer is a list and not the result of a query.
type lists struct{ *connection }

// Do implements api.Client.
func (l lists) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	if strings.HasSuffix(req.URL.Path, rulesPath) {
		// The alerts that fire now are not asked for: during an incident there are thousands.
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&exclude_alerts=true", "&")
	}
	return l.exchange(ctx, req, checkList)
}
