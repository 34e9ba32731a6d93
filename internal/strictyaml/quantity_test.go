package strictyaml

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDurationsAreWrittenAsPrometheusWritesThem(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(DurationPattern)
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "2500ms": 2500 * time.Millisecond, "30s": 30 * time.Second,
		"1h30m": 90 * time.Minute,
		"1d":    24 * time.Hour, "1d12h": 36 * time.Hour, "2w": 14 * 24 * time.Hour, "1y": 365 * 24 * time.Hour,
		"90m": 90 * time.Minute,
		// Go writes these, and files of before have them.
		"1.5h": 90 * time.Minute, "0.25s": 250 * time.Millisecond, "30m1h": 90 * time.Minute, "10m0s": 10 * time.Minute,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%s: got %v and %v, want %v", text, got, err, want)
		}
		if !pattern.MatchString(text) {
			t.Errorf("%s: the pattern of the schemas does not take it", text)
		}
		again, err := ParseDuration(Duration(got).String())
		if err != nil || again != got {
			t.Errorf("%s is printed as %s, which is %v, %v", text, Duration(got), again, err)
		}
	}
	for text, want := range map[string]string{
		"":          `"" is not a duration`,
		"30":        `"30" has no unit; write 30ms for milliseconds, 30s for seconds, 30m for minutes`,
		"2.5":       `"2.5" has no unit; write 2.5ms`,
		"2500 ms":   `"2500 ms" is not a duration; write 2500ms, without a space`,
		"1h 30m":    `write 1h30m, without a space`,
		"2 days":    `"2 days" is not a duration; write 2d`,
		"10min":     `"10min" is not a duration; write 10m`,
		"3 seconds": `"3 seconds" is not a duration; write 3s`,
		"1.5 hours": `write 1.5h`,
		"1 fortnight": `"1 fortnight" is not a duration; write it with a unit (ms, s, m, h, d, w), such as 500ms, ` +
			`30s or 5m`,
		"soon":            `"soon" is not a duration`,
		"1M":              `"1M" is not a duration`,
		"-1s":             `"-1s" is negative`,
		"-1d":             `"-1d" is not a duration`,
		"99999999999999y": `is not a duration`,
	} {
		if got, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) || got != 0 {
			t.Errorf("%q: got %v and %v, want %s", text, got, err, want)
		}
	}
}

func near(a, b float64) bool { return a == b || (a-b)/b < 1e-12 && (b-a)/b < 1e-12 }

func TestQuantitiesAreAsPreciseAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Quantity{
		"70": {70, .5, ""}, "7.2s": {7.2, .05, "seconds"}, "85 ms": {.085, .0005, "seconds"}, "97%": {.97, .005, "ratio"},
		"97.50 %": {.975, .00005, "ratio"}, "340/s": {340, .5, "per_second"}, "4096 tokens": {4096, .5, "tokens"},
		"104k/s": {104e3, 500, "per_second"}, "2.5M/s": {2.5e6, 5e4, "per_second"},
		"2m": {120, 30, "seconds"}, "10 min": {600, 30, "seconds"}, "1d": {86400, 43200, "seconds"}, "1h30m": {
			5400, 30,
			"seconds",
		},
		"2m2.5s": {122.5, .05, "seconds"}, "1.5GiB": {1.5 * (1 << 30), .05 * (1 << 30), "bytes"}, "-3": {
			-3, .5,
			"",
		}, ".5s": {.5, .05, "seconds"},
	} {
		got, err := ParseQuantity(text)
		if diff := cmp.Diff(want, got, cmp.Comparer(near)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "s", "seven", "7 parsecs", "1e3", "NaN", "7,2s", "1h%", "95%5s"} {
		if got, err := ParseQuantity(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

// What the pattern finds in a rule is what is parsed.
func TestEachUnitIsFoundInARule(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(QuantityPattern())
	for _, unit := range append(unitNames(), "h30m") {
		text := "12.5" + unit
		if got := pattern.FindString("x > " + text + ")"); got != text {
			t.Errorf("%s: found %q", text, got)
		}
		if _, err := ParseQuantity(text); err != nil {
			t.Error(err)
		}
	}
}
