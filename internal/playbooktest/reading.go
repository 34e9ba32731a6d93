package playbooktest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// readingDoc is what a reading must be.
type readingDoc struct {
	// text is what is written.
	text string
	// noData and failed want no value; why is a part of the error.
	noData, failed bool
	why            string
	bound          incident.Bound
	want           strictyaml.Quantity
}

type toleranceDoc struct {
	// The value, in the same format as without a tolerance.
	Value string `yaml:"value"`
	// The allowed difference, in the same unit.
	Tolerance string `yaml:"tolerance"`
}

// FromYAML reads "70", "at most 300ms" or "≤ 300 ms", "no data", "error: refused", or a value with a tolerance.
func (r *readingDoc) FromYAML(v strictyaml.Value) error {
	if text, ok := v.Text(); ok {
		return r.parse(text)
	}
	var doc toleranceDoc
	if err := v.Decode(&doc); err != nil {
		return err
	}
	if err := r.parse(doc.Value); err != nil {
		return err
	}
	if r.noData || r.failed {
		return fmt.Errorf("%s has no tolerance", r.text)
	}
	off, err := strictyaml.ParseQuantity(doc.Tolerance)
	switch {
	case err != nil:
		return fmt.Errorf("tolerance: %w", err)
	case off.Value < 0, off.Unit != "" && off.Unit != r.want.Unit:
		return fmt.Errorf("tolerance: %s is not a distance from %s", doc.Tolerance, doc.Value)
	}
	r.want.Slack = off.Value
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
	for words, bound := range map[string]incident.Bound{
		"at most ": incident.AtMost, "≤": incident.AtMost, "at least ": incident.AtLeast, "≥": incident.AtLeast,
	} {
		if after, ok := strings.CutPrefix(r.text, words); ok {
			rest, r.bound = after, bound
		}
	}
	var err error
	r.want, err = strictyaml.ParseQuantity(rest)
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
	case r.want.Unit == "" && got.Unit == incident.UnitSeconds && r.want.Value != 0:
		return false, text + " (write the expectation with its unit, such as 7.2s)"
	case r.want.Unit != "" && got.Unit != "" && r.want.Unit != got.Unit:
		return false, text + fmt.Sprintf(" (the signal is in %s)", strings.ReplaceAll(string(got.Unit), "_", " "))
	case got.Bound != r.bound:
		return false, text
	}
	// What the arithmetic of floats adds is no difference.
	off := math.Abs(*got.Value - r.want.Value)
	if off <= r.want.Slack+1e-9*max(math.Abs(*got.Value), math.Abs(r.want.Value)) {
		return true, text
	}
	if shown := incident.FormatValue(*got.Value, got.Unit); shown == incident.FormatValue(r.want.Value, got.Unit) {
		text += " (exactly " + strconv.FormatFloat(*got.Value, 'g', 8, 64) + ")"
	}
	return false, text
}
