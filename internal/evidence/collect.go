package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// snapshot is what one request for a signal brought.
type snapshot struct {
	value   float64
	present bool
	past    []incident.Point
	pods    []incident.PodValue
	// routes is how many routes of the gateway the value may be of; 0 where nobody asked.
	routes float64
	note   string
}

// fetch asks for a signal. A range that ends now has the value of now as its last point, so that past and value share a
// request; when Prometheus refuses the range (too many samples, say), the value is asked for alone: a lost chart must
// not cost the reading.
func (c *Collector) fetch(ctx context.Context, p prepared, opts CollectOptions, at time.Time) (snapshot, error) {
	if opts.History && p.hasPast() {
		got, err := c.past(ctx, p.whole(), at)
		if err == nil {
			var out snapshot
			if out, err = fromSpan(got, p.signal.Direction, at); err == nil {
				return out, nil
			}
		}
		if ctx.Err() != nil {
			return snapshot{}, err
		}
		out, alone := c.fetchNow(ctx, p, at)
		out.note = joinNotes(out.note, "its past could not be read: "+err.Error())
		return out, alone
	}
	return c.fetchNow(ctx, p, at)
}

// hasPast says whether the past of a signal is worth its cost. A mean of an hour at each of twenty points costs
// Prometheus twenty hours, and what many pools do not have is on no chart.
func (p prepared) hasPast() bool {
	if p.signal.Optional || len(p.signal.Product) > 0 {
		return false
	}
	return !costly(p.expr)
}

func (c *Collector) fetchNow(ctx context.Context, p prepared, at time.Time) (snapshot, error) {
	got, err := c.prom.Instant(ctx, p.whole(), at)
	if err != nil {
		return snapshot{}, err
	}
	out := snapshot{note: got.Note}
	if len(p.signal.Product) > 0 {
		out.value, out.present, err = product(got.Value, p.signal.Product)
		return out, err
	}
	parts, err := vectorParts(got.Value)
	if err != nil {
		return out, err
	}
	out.pods = podValues(parts[partPods], p.signal.Direction)
	if n := parts[partRoutes]; len(n) > 0 {
		out.routes = float64(n[0].Value)
	}
	out.value, out.present, err = single(parts[partValue])
	return out, err
}

// past evaluates a query at evenly spaced times up to at.
func (c *Collector) past(ctx context.Context, query string, at time.Time) (prometheus.Answer, error) {
	step := (c.cfg.HistoryWindow / time.Duration(c.cfg.HistoryPoints)).Truncate(time.Millisecond)
	return c.prom.Range(ctx, query, at.Add(-step*time.Duration(c.cfg.HistoryPoints-1)), at, step)
}

// fromSpan takes the answer of a range apart.
func fromSpan(got prometheus.Answer, d incident.Direction, at time.Time) (snapshot, error) {
	out := snapshot{note: got.Note}
	m, ok := got.Value.(model.Matrix)
	if !ok {
		return out, errors.New("the query has no past that can be drawn")
	}
	var own model.Matrix
	var pods model.Vector
	for _, s := range m {
		if partOf(s.Metric) == partValue {
			own = append(own, s)
			continue
		}
		v, ok := lastAt(s, at)
		switch {
		case !ok:
		case partOf(s.Metric) == partRoutes:
			out.routes = float64(v)
		default:
			pods = append(pods, &model.Sample{Metric: s.Metric, Value: v})
		}
	}
	points, err := past(own)
	if err != nil {
		return out, err
	}
	out.past, out.pods = points, podValues(pods, d)
	if len(own) == 1 {
		var v model.SampleValue
		v, out.present = lastAt(own[0], at)
		out.value = float64(v)
	}
	return out, nil
}

// lastAt is the value at exactly that time: an older last point means that there is none now.
func lastAt(s *model.SampleStream, at time.Time) (model.SampleValue, bool) {
	if len(s.Values) == 0 {
		return 0, false
	}
	last := s.Values[len(s.Values)-1]
	return last.Value, last.Timestamp.Time().UnixMilli() == at.UnixMilli()
}

// vectorParts sorts an instant answer by the parts of the request. What carries no part is the value: nothing else was
// asked.
func vectorParts(v model.Value) (map[string]model.Vector, error) {
	if v == nil {
		return nil, errors.New("the answer holds nothing that can be read")
	}
	if s, ok := v.(*model.Scalar); ok {
		return map[string]model.Vector{partValue: {{Value: s.Value}}}, nil
	}
	vector, ok := v.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("the query gives a %s, it must give one number", v.Type())
	}
	out := map[string]model.Vector{}
	for _, s := range vector {
		part := partOf(s.Metric)
		out[part] = append(out[part], s)
	}
	return out, nil
}

func partOf(m model.Metric) string { return cmp.Or(string(m[partLabel]), partValue) }

// podValues are the values of pods or their ranks, the highest first; of very many, the worst. A series without a pod's
// name says nothing about one pod.
func podValues(v model.Vector, d incident.Direction) []incident.PodValue {
	var out []incident.PodValue
	for _, s := range v {
		name := cmp.Or(string(s.Metric[labelPod]), string(s.Metric[model.InstanceLabel]))
		if f := float64(s.Value); name != "" && s.Histogram == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			out = append(out, incident.PodValue{Pod: name, Rank: string(s.Metric[labelEngine]), Value: f})
		}
	}
	slices.SortFunc(out, func(a, b incident.PodValue) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name(), b.Name()))
	})
	if d == incident.LowerIsWorse {
		return out[max(0, len(out)-incident.MaxPodValues):]
	}
	return out[:min(len(out), incident.MaxPodValues)]
}

// product multiplies the numbers in labels and takes the smallest of several series: what every engine has.
func product(v model.Value, names []string) (value float64, ok bool, err error) {
	vector, isVector := v.(model.Vector)
	if !isVector {
		return 0, false, errors.New("the query gives no series whose labels could be read")
	}
	for _, s := range vector {
		p := 1.0
		for _, name := range names {
			f, err := strconv.ParseFloat(string(s.Metric[model.LabelName(name)]), 64)
			if err != nil || !(f > 0) || math.IsInf(f, 0) {
				return 0, false, fmt.Errorf(
					"the label %s is %q and no number above zero",
					name,
					redact.Line(string(s.Metric[model.LabelName(name)])),
				)
			}
			p *= f
		}
		if !ok || p < value {
			value, ok = p, true
		}
	}
	return value, ok, nil
}
