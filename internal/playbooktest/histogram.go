package playbooktest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// The names of the bucket layouts. layoutOld is that of vLLM before 0.8.4 (commit 86fc2321ff).
const (
	layoutV1  = "v1"
	layoutOld = "old"
)

// maxSpanValues bounds what one histogram is written out to.
const maxSpanValues = 100_000

// series writes a histogram out; its last span lasts until at when it does not say. The error is about the span with
// that index, -1 for the whole.
func (h histogramDoc) series(metric labels.Labels, interval, at time.Duration) (out []promembed.Series, span int,
	err error,
) {
	name := metric.Get(model.MetricNameLabel)
	bounds := h.Buckets.Bounds
	if bounds == nil {
		if bounds = vllm.Bounds(name, h.Buckets.Layout == layoutOld); bounds == nil {
			return nil, -1, fmt.Errorf("vLLM has no histogram %s whose buckets are known: give buckets as a list", name)
		}
	}
	if len(h.Spans) == 0 {
		return nil, -1, errors.New("the histogram has no spans, so it would be empty")
	}
	buckets := make([]tape, len(bounds)+1)
	var sum, count tape
	used := time.Duration(0)
	for i, s := range h.Spans {
		length, err := s.length(interval, at-used, i == len(h.Spans)-1)
		if err != nil {
			return nil, i, err
		}
		used += length
		n := int(length / interval)
		inBucket, total, weight, err := s.each(bounds)
		if err != nil {
			return nil, i, err
		}
		for b := range buckets {
			buckets[b].rise(n, inBucket[b])
		}
		count.rise(n, total)
		sum.rise(n, weight)
	}
	write := func(suffix, le string, t tape) {
		b := labels.NewBuilder(metric).Set(model.MetricNameLabel, name+suffix)
		if le != "" {
			b.Set(model.BucketLabel, le)
		}
		out = append(out, promembed.Series{Series: nameOf(b.Labels()), Values: t.String()})
	}
	for i, b := range bounds {
		write("_bucket", formatBound(b), buckets[i])
	}
	write("_bucket", "+Inf", buckets[len(bounds)])
	write("_sum", "", sum)
	write("_count", "", count)
	return out, -1, nil
}

func (s spanDoc) length(interval, left time.Duration, last bool) (time.Duration, error) {
	length := time.Duration(s.For)
	switch {
	case length == 0 && !last:
		return 0, errors.New("for is missing: only the last span may leave it out")
	case length == 0:
		if length = left.Truncate(interval); length <= 0 {
			return 0, errors.New("no time is left for the last span: the earlier ones fill all of it")
		}
	case length%interval != 0:
		return 0, fmt.Errorf("for: %s is not a multiple of the interval %s", s.For, model.Duration(interval))
	}
	if length/interval > maxSpanValues {
		return 0, fmt.Errorf("for: %s is more than %d intervals", model.Duration(length), maxSpanValues)
	}
	return length, nil
}

// each is what one interval adds to each bucket, to the count and to the sum.
func (s spanDoc) each(bounds []float64) (buckets []float64, count, sum float64, err error) {
	buckets = make([]float64, len(bounds)+1)
	for _, text := range slices.Sorted(maps.Keys(s.Observe)) {
		n := s.Observe[text]
		q, err := strictyaml.ParseQuantity(text)
		switch {
		case err != nil:
			return nil, 0, 0, fmt.Errorf("observe: %w", err)
		case q.Unit != "" && q.Unit != incident.UnitSeconds && q.Unit != incident.UnitTokens:
			return nil, 0, 0, fmt.Errorf("observe: %q is neither a time nor a number", text)
		case n < 0 || math.IsNaN(n) || math.IsInf(n, 0):
			return nil, 0, 0, fmt.Errorf("observe: %s: %g is not a number of observations", text, n)
		}
		count, sum = count+n, sum+n*q.Value
		for i := range buckets {
			if i == len(bounds) || q.Value <= bounds[i] {
				buckets[i] += n
			}
		}
	}
	return buckets, count, sum, nil
}

// formatBound is a bound as vLLM's client library writes it: 0.3, 1.0.
func formatBound(b float64) string {
	s := strconv.FormatFloat(b, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// tape is a counter that rises evenly, in Prometheus' notation.
type tape struct {
	parts []string
	last  float64
	begun bool
}

// rise lets it rise by step in each of n intervals. The first value of all is 0, at the start.
func (t *tape) rise(n int, step float64) {
	from := t.last + step
	if !t.begun {
		t.begun, from, n = true, t.last, n+1
	}
	if n < 1 {
		return
	}
	if step == 0 {
		t.parts = append(t.parts, fmt.Sprintf("%sx%d", exact(from), n-1))
	} else {
		t.parts = append(t.parts, fmt.Sprintf("%s+%sx%d", exact(from), exact(step), n-1))
	}
	t.last = from + step*float64(n-1)
}

// String is the notation.
func (t tape) String() string { return strings.Join(t.parts, " ") }

func exact(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
