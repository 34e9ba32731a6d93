package strictyaml

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Duration is a length of time as Prometheus writes it: 500ms, 30s, 5m, 1h30m, 2d. It is never negative.
type Duration time.Duration

// DurationPattern matches durations in a JSON Schema.
const DurationPattern = `^(0|([0-9]+(\.[0-9]+)?(ms|[smhdwy]))+)$`

// FromYAML reads a duration with its unit.
func (d *Duration) FromYAML(v Value) error {
	text, ok := v.Text()
	if !ok {
		return errors.New("expected a duration, such as 500ms, 30s or 5m")
	}
	length, err := ParseDuration(text)
	*d = Duration(length)
	return err
}

// String is the duration in the notation in which it is read.
func (d Duration) String() string { return model.Duration(d).String() }

// ParseDuration reads a length of time as Prometheus writes it: whole numbers with the units y, w, d, h, m, s and ms,
// the largest first. What Go writes is taken too, because fractions (1.5h, 0.25s) say what they mean. A number without
// a unit is refused but for 0, and so is less than nothing.
func ParseDuration(text string) (time.Duration, error) {
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, errors.New(durationHint(text))
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

var (
	bareNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	longUnit   = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([a-z]{3,})$`)
)

// durationHint says how to write what was meant. A number without a unit could be seconds or milliseconds, so both are
// shown and none is chosen.
func durationHint(text string) string {
	if bareNumber.MatchString(text) {
		return fmt.Sprintf("%q has no unit; write %[2]sms for milliseconds, %[2]ss for seconds, %[2]sm for minutes", text,
			text)
	}
	if m := longUnit.FindStringSubmatch(text); m != nil {
		short := map[string]string{
			"millisecond": "ms", "sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d", "week": "w",
			"year": "y",
		}[strings.TrimSuffix(m[2], "s")]
		if meant := m[1] + short; parses(meant) {
			return fmt.Sprintf("%q is not a duration; write %s", text, meant)
		}
	}
	if joined := strings.ReplaceAll(text, " ", ""); joined != text && parses(joined) {
		return fmt.Sprintf("%q is not a duration; write %s, without a space", text, joined)
	}
	return fmt.Sprintf("%q is not a duration; write it with a unit (ms, s, m, h, d, w), such as 500ms, 30s or 5m", text)
}

func parses(text string) bool {
	if bareNumber.MatchString(text) {
		return false
	}
	d, err := ParseDuration(text)
	return err == nil && d > 0
}
