package playbooktest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// quantity is a number as people write it, with its unit, and how far off the truth may be so that the number would still be written so.
type quantity struct {
	value, slack float64
	// unit is what the suffix says; empty without one.
	unit incident.Unit
}

var number = regexp.MustCompile(`^([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-zA-Zµ%/]*)$`)

// parseQuantity reads 70, 7.2s, 85 ms, 97%, 340/s, 4096 tokens and 12 GiB.
func parseQuantity(text string) (quantity, error) {
	m := number.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return quantity{}, fmt.Errorf("%q is not a number with a unit such as 70, 7.2s, 85ms, 97%% or 340/s", text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return quantity{}, fmt.Errorf("%q is not a number: %w", text, err)
	}
	scale, unit, ok := unitOf(m[2])
	if !ok {
		return quantity{}, fmt.Errorf("%q has the unit %q; known are us, ms, s, m, h, %%, /s, tokens, KiB, MiB and GiB", text, m[2])
	}
	_, decimals, _ := strings.Cut(m[1], ".")
	return quantity{value: v * scale, slack: math.Pow10(-len(decimals)) / 2 * scale, unit: unit}, nil
}

func unitOf(suffix string) (scale float64, unit incident.Unit, ok bool) {
	switch suffix {
	case "":
		return 1, "", true
	case "us", "µs":
		return 1e-6, incident.UnitSeconds, true
	case "ms":
		return 1e-3, incident.UnitSeconds, true
	case "s":
		return 1, incident.UnitSeconds, true
	case "m", "min":
		return 60, incident.UnitSeconds, true
	case "h":
		return 3600, incident.UnitSeconds, true
	case "%":
		return 0.01, incident.UnitRatio, true
	case "/s":
		return 1, incident.UnitPerSecond, true
	case "tokens":
		return 1, incident.UnitTokens, true
	case "KiB":
		return 1 << 10, incident.UnitBytes, true
	case "MiB":
		return 1 << 20, incident.UnitBytes, true
	case "GiB":
		return 1 << 30, incident.UnitBytes, true
	default:
		return 0, "", false
	}
}

// readingDoc is what a reading must be.
type readingDoc struct {
	// text is what is written.
	text string
	// noData and failed want no value; why is a part of the error.
	noData, failed bool
	why            string
	bound          incident.Bound
	want           quantity
}

type toleranceDoc struct {
	// The value, as it would be written alone.
	Value string `yaml:"value"`
	// How far off it may be, in the same unit.
	Tolerance string `yaml:"tolerance"`
}

// UnmarshalYAML reads "70", "at most 300ms", "no data", "error: refused", or a value with a tolerance.
func (r *readingDoc) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return r.parse(n.Value)
	}
	var doc toleranceDoc
	if err := n.Load(&doc, yaml.WithKnownFields()); err != nil {
		return err
	}
	if err := r.parse(doc.Value); err != nil {
		return err
	}
	if r.noData || r.failed {
		return fmt.Errorf("%s has no tolerance", r.text)
	}
	off, err := parseQuantity(doc.Tolerance)
	switch {
	case err != nil:
		return fmt.Errorf("tolerance: %w", err)
	case off.value < 0, off.unit != "" && off.unit != r.want.unit:
		return fmt.Errorf("tolerance: %s is not a distance from %s", doc.Tolerance, doc.Value)
	}
	r.want.slack = off.value
	r.text += " ± " + doc.Tolerance
	return nil
}

func (r *readingDoc) parse(text string) error {
	r.text = strings.TrimSpace(text)
	if why, ok := strings.CutPrefix(r.text, "error"); ok && (why == "" || why[0] == ':') {
		r.failed, r.why = true, strings.TrimSpace(strings.TrimPrefix(why, ":"))
		return nil
	}
	if r.noData = r.text == "no data"; r.noData {
		return nil
	}
	rest := r.text
	for words, bound := range map[string]incident.Bound{"at most ": incident.AtMost, "at least ": incident.AtLeast} {
		if after, ok := strings.CutPrefix(r.text, words); ok {
			rest, r.bound = after, bound
		}
	}
	var err error
	r.want, err = parseQuantity(rest)
	return err
}

// matches compares; got is what was read as a person reads it.
func (r readingDoc) matches(got incident.Reading) (ok bool, text string) {
	text = got.Text()
	switch {
	case r.failed:
		return got.Error != "" && strings.Contains(got.Error, r.why), text
	case r.noData:
		return got.Error == "" && got.Value == nil, text
	case !got.HasValue():
		return false, text
	case r.want.unit == "" && got.Unit == incident.UnitSeconds && r.want.value != 0:
		return false, text + " (write the expectation with its unit, such as 7.2s)"
	case r.want.unit != "" && got.Unit != "" && r.want.unit != got.Unit:
		return false, text + fmt.Sprintf(" (the signal is in %s)", strings.ReplaceAll(string(got.Unit), "_", " "))
	case got.Bound != r.bound:
		return false, text
	}
	// What the arithmetic of floats adds is no difference.
	off := math.Abs(*got.Value - r.want.value)
	if off <= r.want.slack+1e-9*max(math.Abs(*got.Value), math.Abs(r.want.value)) {
		return true, text
	}
	if shown := incident.FormatValue(*got.Value, got.Unit); shown == incident.FormatValue(r.want.value, got.Unit) {
		text += " (exactly " + strconv.FormatFloat(*got.Value, 'g', 8, 64) + ")"
	}
	return false, text
}
