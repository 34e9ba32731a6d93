package promembed

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxValues bounds the values of one series: at 15 s they last for half a year.
const maxValues = 1_000_000

// valuesHead stands before values when they are parsed on their own: the parser wants a series there.
const valuesHead = "{} "

// Series is one input series in the notation of Prometheus' own unit tests of rules.
type Series struct {
	// Series is a metric with its labels: vllm:num_requests_waiting{pod="a"}.
	Series string
	// Values are the samples, an interval apart: '1 2 3', '0+1x10' (0 to 10), '5x3' (5 four times), '_x5' (five times
	// none), 'stale'.
	Values string
}

// SeriesError is one mistake in a series that was to be loaded.
type SeriesError struct {
	// Index says which of the series, from 0.
	Index int
	// Series is its name as it was given.
	Series string
	// InValues says that the mistake is in the values and not in the name.
	InValues bool
	// Offset is the mistake's place in that text, in bytes from 0.
	Offset int
	// Err is the mistake.
	Err error
}

// Error names the series and the place.
func (e *SeriesError) Error() string {
	part := "name"
	if e.InValues {
		part = "values"
	}
	return fmt.Sprintf("series %d, %s: %s, character %d: %v", e.Index+1, e.Series, part, e.Offset+1, e.Err)
}

// Unwrap is the mistake.
func (e *SeriesError) Unwrap() error { return e.Err }

// Load puts series in whose first value is of start. Several calls add up; for one series each must begin after the
// last one's end. Either all series are loaded or none; the error joins all mistakes, each a *SeriesError when it is in
// a text.
func (p *Prometheus) Load(start time.Time, interval time.Duration, series []Series) error {
	if interval < time.Millisecond {
		return fmt.Errorf("the interval between two values is %v: it must be at least 1 ms", interval)
	}
	batches := make([]batch, 0, len(series))
	var errs []error
	for i, s := range series {
		b, err := p.read(start, interval, s)
		if err != nil {
			err.Index, err.Series = i, s.Series
			errs = append(errs, err)
			continue
		}
		batches = append(batches, b)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return p.samples.add(batches)
}

// read parses one series. The error has all but the series' place among the others.
func (p *Prometheus) read(start time.Time, interval time.Duration, s Series) (batch, *SeriesError) {
	ls, err := p.parser.ParseMetric(s.Series)
	if err != nil {
		at, why := place(err)
		return batch{}, &SeriesError{Offset: max(min(at, len(s.Series)), 0), Err: why}
	}
	if err := named(ls); err != nil {
		return batch{}, &SeriesError{Err: err}
	}
	if at, err := tooMany(s.Values); err != nil {
		return batch{}, &SeriesError{InValues: true, Offset: at, Err: err}
	}
	_, values, err := p.parser.ParseSeriesDesc(valuesHead + s.Values)
	if err != nil {
		at, why := place(err)
		return batch{}, &SeriesError{InValues: true, Offset: max(min(at-len(valuesHead), len(s.Values)), 0), Err: why}
	}
	points, err := pointsOf(start, interval, values)
	if err != nil {
		return batch{}, &SeriesError{InValues: true, Err: err}
	}
	return batch{labels: ls, points: points}, nil
}

func pointsOf(start time.Time, interval time.Duration, values []parser.SequenceValue) ([]point, error) {
	switch {
	case len(values) == 0:
		return nil, errors.New("there is no value: write _ for a time without a sample")
	case len(values) > maxValues:
		return nil, fmt.Errorf("there are %d values, more than %d", len(values), maxValues)
	}
	points := make([]point, 0, len(values))
	for i, v := range values {
		switch {
		case v.Histogram != nil:
			return nil, errors.New("native histograms cannot be loaded: write the series name_bucket, name_sum and name_count")
		case !v.Omitted:
			points = append(points, point{t: start.Add(time.Duration(i) * interval).UnixMilli(), v: v.Value})
		}
	}
	return points, nil
}

// repeats matches the number of repetitions. Inside a name (a label in a native histogram) it would be no harm to match
// too much.
var repeats = regexp.MustCompile(`x([0-9]+)`)

// tooMany finds a repetition that the parser would write out into more memory than there is.
func tooMany(values string) (offset int, err error) {
	total := uint64(0)
	for _, m := range repeats.FindAllStringSubmatchIndex(values, -1) {
		n, err := strconv.ParseUint(values[m[2]:m[3]], 10, 64)
		if err != nil || n > maxValues || total+n > maxValues {
			return m[2], fmt.Errorf("more than %d values", maxValues)
		}
		total += n
	}
	return 0, nil
}

// place takes the position out of the parser's error, in bytes from 0, and what is wrong.
func place(err error) (int, error) {
	if many, ok := errors.AsType[parser.ParseErrors](err); ok && len(many) > 0 {
		return int(many[0].PositionRange.Start), many[0].Err
	}
	if one, ok := errors.AsType[*parser.ParseErr](err); ok {
		return int(one.PositionRange.Start), one.Err
	}
	return 0, err
}

// named refuses a series without a metric's name: nothing could select it by name.
func named(ls labels.Labels) error {
	if ls.Get(model.MetricNameLabel) == "" {
		return errors.New("the series names no metric")
	}
	return nil
}
