package promembed

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// minTime and maxTime are the ends of time for the endpoints that list labels.
func minTime() time.Time { return time.UnixMilli(math.MinInt64 / 2).UTC() }
func maxTime() time.Time { return time.UnixMilli(math.MaxInt64 / 2).UTC() }

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func timeParam(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := instant(text)
	if err != nil {
		return time.Time{}, badParam(name, fmt.Errorf("invalid time value for '%s': %w", name, err))
	}
	return t, nil
}

func neededTime(r *http.Request, name string) (time.Time, error) {
	t, err := instant(r.FormValue(name))
	if err != nil {
		return time.Time{}, badParam(name, err)
	}
	return t, nil
}

// instant reads seconds since 1970 with a fraction, or RFC 3339.
func instant(text string) (time.Time, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < math.MaxInt64/1000 {
		seconds, part := math.Modf(f)
		return time.Unix(int64(seconds), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

func durationParam(r *http.Request, name string) (time.Duration, error) {
	d, err := duration(r.FormValue(name))
	if err != nil {
		return 0, badParam(name, err)
	}
	return d, nil
}

// duration reads seconds with a fraction, or Prometheus' own form (5m).
func duration(text string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if ns := f * float64(time.Second); math.Abs(ns) < math.MaxInt64 {
			return time.Duration(ns), nil
		}
		return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
	}
	d, err := model.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
	}
	return time.Duration(d), nil
}

// limitParam is 0 when there is no limit.
func limitParam(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, badParam("limit", err)
	}
	if n < 0 {
		return 0, badParam("limit", errors.New("limit must be non-negative"))
	}
	return n, nil
}

// labelParam is the label's name in the path, which may be escaped as Prometheus' clients do with names that are not
// ASCII.
func labelParam(r *http.Request) (string, error) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return "", badData(fmt.Errorf("invalid label name: %q", name))
	}
	return name, nil
}

func (p *Prometheus) matchParam(r *http.Request) ([][]*labels.Matcher, error) {
	sets, err := p.parser.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		bound := false
		for _, m := range set {
			bound = bound || !m.Matches("")
		}
		if !bound {
			return nil, errors.New("match[] must contain at least one non-empty matcher")
		}
	}
	return sets, nil
}
