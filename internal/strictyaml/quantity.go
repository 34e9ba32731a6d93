package strictyaml

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Quantity is a number with its unit as people write it: 70, 7.2s, 85 ms, 97%, 340/s, 104k/s, 4096 tokens, 12 GiB,
// 1h30m.
type Quantity struct {
	// Value is in the unit: seconds, a share of 1, each second, tokens or bytes.
	Value float64
	// Slack is how far off the truth may be so that the number would still be written so.
	Slack float64
	// Unit is empty for a number without one.
	Unit incident.Unit
}

// suffix is what a unit means.
type suffix struct {
	text string
	unit incident.Unit
	// The value is the number times factor, or divided by per: 95% is exactly the number 0.95 then.
	factor, per float64
}

func suffixes() []suffix {
	return []suffix{
		{"", "", 1, 1},
		{"us", incident.UnitSeconds, 1, 1e6},
		{"µs", incident.UnitSeconds, 1, 1e6},
		{"ms", incident.UnitSeconds, 1, 1000},
		{"s", incident.UnitSeconds, 1, 1},
		{"m", incident.UnitSeconds, 60, 1},
		{"min", incident.UnitSeconds, 60, 1},
		{"h", incident.UnitSeconds, 3600, 1},
		{"d", incident.UnitSeconds, 86400, 1},
		{"w", incident.UnitSeconds, 7 * 86400, 1},
		{"y", incident.UnitSeconds, 365 * 86400, 1},
		{"%", incident.UnitRatio, 1, 100},
		{"/s", incident.UnitPerSecond, 1, 1},
		{"k/s", incident.UnitPerSecond, 1e3, 1},
		{"M/s", incident.UnitPerSecond, 1e6, 1},
		{"tokens", incident.UnitTokens, 1, 1},
		{"KiB", incident.UnitBytes, 1 << 10, 1},
		{"MiB", incident.UnitBytes, 1 << 20, 1},
		{"GiB", incident.UnitBytes, 1 << 30, 1},
	}
}

// unitNames are the units as they are written, the longest first.
func unitNames() []string {
	var out []string
	for _, s := range suffixes()[1:] {
		out = append(out, s.text)
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// QuantityPattern matches a number with a unit, or several of a duration (1h30m), within a text without spaces in it.
func QuantityPattern() string {
	names := unitNames()
	for i, n := range names {
		names[i] = regexp.QuoteMeta(n)
	}
	return `(?:[0-9]+(?:\.[0-9]+)?(?:` + strings.Join(names, "|") + `))+`
}

var number = regexp.MustCompile(`^([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-zA-Zµ%/]*)$`)

// ParseQuantity reads a number with its unit, a number without one, or a duration.
func ParseQuantity(text string) (Quantity, error) {
	text = strings.TrimSpace(text)
	m := number.FindStringSubmatch(text)
	if m == nil {
		return composed(text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return Quantity{}, fmt.Errorf("%q is not a number: %w", text, err)
	}
	for _, s := range suffixes() {
		if s.text == m[2] {
			_, decimals, _ := strings.Cut(m[1], ".")
			slack := math.Pow10(-len(decimals)) / 2
			return Quantity{Value: v * s.factor / s.per, Slack: slack * s.factor / s.per, Unit: s.unit}, nil
		}
	}
	var known []string
	for _, s := range suffixes()[1:] {
		known = append(known, s.text)
	}
	return Quantity{}, fmt.Errorf("%q has the unit %q; known are %s", text, m[2], strings.Join(known, ", "))
}

var lastUnit = regexp.MustCompile(`[0-9](\.[0-9]+)?([a-z]+)$`)

// composed reads a duration of several parts; it is as precise as the last of them.
func composed(text string) (Quantity, error) {
	m := lastUnit.FindStringSubmatch(text)
	d, err := ParseDuration(text)
	if err != nil || m == nil {
		return Quantity{}, fmt.Errorf("%q is not a number with a unit such as 70, 7.2s, 85ms, 97%% or 340/s", text)
	}
	last, err := ParseQuantity("1" + m[1] + m[2])
	return Quantity{Value: d.Seconds(), Slack: last.Slack, Unit: incident.UnitSeconds}, err
}
