package promembed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// maxPoints is Prometheus' own bound for one series of a range query.
const maxPoints = 11_000

var errTruncated = errors.New("results truncated due to limit")

func (p *Prometheus) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for path, f := range map[string]func(*http.Request) (any, annotations.Annotations, error){
		"/api/v1/query": p.query, "/api/v1/query_range": p.queryRange, "/api/v1/series": p.series,
		"/api/v1/labels": p.labelNames,
	} {
		mux.HandleFunc("GET "+path, answering(f))
		mux.HandleFunc("POST "+path, answering(f))
	}
	mux.HandleFunc("GET /api/v1/label/{name}/values", answering(p.labelValues))
	mux.HandleFunc("GET /api/v1/rules", p.ruled(answering(p.listRules)))
	mux.HandleFunc("GET /api/v1/alerts", p.ruled(answering(p.listAlerts)))
	return mux
}

// queryData is the data of an answer to a query.
type queryData struct {
	ResultType parser.ValueType `json:"resultType"`
	Result     parser.Value     `json:"result"`
}

func (p *Prometheus) query(r *http.Request) (any, annotations.Annotations, error) {
	at, err := timeParam(r, "time", time.Now())
	if err != nil {
		return nil, nil, err
	}
	return p.evaluate(r, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return p.engine.NewInstantQuery(ctx, p.samples, o, r.FormValue("query"), at)
	})
}

func (p *Prometheus) queryRange(r *http.Request) (any, annotations.Annotations, error) {
	start, err1 := neededTime(r, "start")
	end, err2 := neededTime(r, "end")
	step, err3 := durationParam(r, "step")
	if err := first(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	switch {
	case end.Before(start):
		return nil, nil, badParam("end", errors.New("end timestamp must not be before start time"))
	case step <= 0:
		return nil, nil,
			badParam("step",
				errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case end.Sub(start)/step > maxPoints:
		return nil, nil,
			badData(errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query " +
				"resolution (?step=XX)"))
	}
	return p.evaluate(r, func(ctx context.Context, o promql.QueryOpts) (promql.Query, error) {
		return p.engine.NewRangeQuery(ctx, p.samples, o, r.FormValue("query"), start, end, step)
	})
}

// evaluate runs a query under its own timeout, with the parameters that both kinds have.
func (p *Prometheus) evaluate(r *http.Request,
	prepare func(context.Context, promql.QueryOpts) (promql.Query, error),
) (any, annotations.Annotations, error) {
	limit, err := limitParam(r)
	if err != nil {
		return nil, nil, err
	}
	ctx := r.Context()
	if r.FormValue("timeout") != "" {
		timeout, err := durationParam(r, "timeout")
		if err != nil {
			return nil, nil, err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var lookback time.Duration
	if text := r.FormValue("lookback_delta"); text != "" {
		if lookback, err = duration(text); err != nil {
			return nil, nil, badData(fmt.Errorf("error parsing lookback delta duration: %w", err))
		}
	}
	q, err := prepare(ctx, promql.NewPrometheusQueryOpts(false, lookback))
	if err != nil {
		return nil, nil, badParam("query", err)
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, res.Warnings, res.Err
	}
	// Close takes the result's memory back.
	result, cut := truncated(res.Value, limit)
	warnings := res.Warnings
	if cut {
		warnings = warnings.Add(errTruncated)
	}
	return queryData{ResultType: result.Type(), Result: result}, warnings, nil
}

// truncated keeps the first series. What it returns is a copy, and never nil: an empty answer is [], not null.
func truncated(v parser.Value, limit int) (parser.Value, bool) {
	switch v := v.(type) {
	case promql.Vector:
		n := bounded(len(v), limit)
		return append(promql.Vector{}, v[:n]...), n < len(v)
	case promql.Matrix:
		n := bounded(len(v), limit)
		out := make(promql.Matrix, n)
		for i, s := range v[:n] {
			s.Floats = slices.Clone(s.Floats)
			out[i] = s
		}
		return out, n < len(v)
	default:
		return v, false
	}
}

func bounded(n, limit int) int {
	if limit > 0 && limit < n {
		return limit
	}
	return n
}

func (p *Prometheus) series(r *http.Request) (any, annotations.Annotations, error) {
	s, err := p.search(r, true)
	if err != nil {
		return nil, nil, err
	}
	sets := make([]storage.SeriesSet, 0, len(s.sets))
	for _, matchers := range s.sets {
		sets = append(sets, s.querier.Select(r.Context(), true, nil, matchers...))
	}
	out := []labels.Labels{}
	merged := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	for merged.Next() {
		out = append(out, merged.At().Labels())
	}
	n := bounded(len(out), s.limit)
	return out[:n], cutWarning(n < len(out)), merged.Err()
}

func (p *Prometheus) labelNames(r *http.Request) (any, annotations.Annotations, error) {
	return p.strings(r, func(q storage.Querier, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(r.Context(), nil, matchers...)
	})
}

func (p *Prometheus) labelValues(r *http.Request) (any, annotations.Annotations, error) {
	name, err := labelParam(r)
	if err != nil {
		return nil, nil, err
	}
	return p.strings(r, func(q storage.Querier, matchers []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(r.Context(), name, nil, matchers...)
	})
}

// strings joins the answers for all sets of matchers, each text once.
func (p *Prometheus) strings(r *http.Request,
	f func(storage.Querier, []*labels.Matcher) ([]string, annotations.Annotations, error)) (any, annotations.Annotations,
	error,
) {
	s, err := p.search(r, false)
	if err != nil {
		return nil, nil, err
	}
	if len(s.sets) == 0 {
		s.sets = append(s.sets, nil)
	}
	out := []string{}
	for _, matchers := range s.sets {
		got, _, err := f(s.querier, matchers)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, got...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	n := bounded(len(out), s.limit)
	return out[:n], cutWarning(n < len(out)), nil
}

func cutWarning(cut bool) annotations.Annotations {
	if !cut {
		return nil
	}
	return annotations.New().Add(errTruncated)
}

// search is what the endpoints that list labels are asked.
type search struct {
	querier storage.Querier
	sets    [][]*labels.Matcher
	limit   int
}

func (p *Prometheus) search(r *http.Request, needsMatch bool) (search, error) {
	if err := r.ParseForm(); err != nil {
		return search{}, badData(fmt.Errorf("error parsing form values: %w", err))
	}
	if needsMatch && len(r.Form["match[]"]) == 0 {
		return search{}, badData(errors.New("no match[] parameter provided"))
	}
	limit, err1 := limitParam(r)
	start, err2 := timeParam(r, "start", minTime())
	end, err3 := timeParam(r, "end", maxTime())
	if err := first(err1, err2, err3); err != nil {
		return search{}, err
	}
	sets, err := p.matchParam(r)
	switch {
	case err != nil && needsMatch: // only /series says which parameter it is
		return search{}, badParam("match[]", err)
	case err != nil:
		return search{}, badData(err)
	}
	q, err := p.samples.Querier(timestamp.FromTime(start), timestamp.FromTime(end))
	return search{querier: q, sets: sets, limit: limit}, err
}
