package promql

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// maxLabelValue bounds a matcher's value in bytes. Kubernetes names end at 253; model names can be paths.
const maxLabelValue = 512

// CheckMatchers refuses what cannot be a bounding matcher, see CheckMatcher; the errors come in the order of the names.
func CheckMatchers(matchers map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(matchers)) {
		if err := CheckMatcher(name, matchers[name]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// CheckMatcher refuses an empty value (it would match every series without the label), an over-long one, text that is
// not UTF-8, and names that are no label's, would change which metric is meant, or would leave one bucket of a
// histogram.
func CheckMatcher(name, value string) error {
	switch {
	case !model.LegacyValidation.IsValidLabelName(name), name == model.MetricNameLabel, name == model.BucketLabel,
		name == model.QuantileLabel:
		return fmt.Errorf("matcher %q: this is not the name of a label that can bound a query", redact.Line(name))
	case value == "":
		return fmt.Errorf("matcher %s has no value: it would match every series without that label", name)
	case len(value) > maxLabelValue:
		return fmt.Errorf("matcher %s: its value has %d bytes, more than %d", name, len(value), maxLabelValue)
	case !utf8.ValidString(value):
		return fmt.Errorf("matcher %s: its value is not UTF-8", name)
	}
	return nil
}
