package present

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Limit is what a reading should keep to: "target 2 s" where the pool's SLO says so, else "limit 90%" or
// "limit ≥ 100/s". Empty when nothing was compared with it.
func Limit(r incident.Reading) string {
	if r.Threshold == nil {
		return ""
	}
	// Nothing is less than zero, so a limit of zero asks for more.
	return limit(r.Direction, r.ThresholdFrom, incident.FormatValue(*r.Threshold, r.Unit), *r.Threshold == 0)
}

// limit is Limit for a threshold that is written already, which is over when a value of a signal whose low values are
// bad is equal to it. What has no bad side is compared with a neutral "limit".
func limit(d incident.Direction, from incident.Origin, threshold string, over bool) string {
	text := "limit "
	if from == incident.OriginSLO {
		text = "target "
	}
	switch {
	case d == incident.LowerIsWorse && over:
		text += "> "
	case d == incident.LowerIsWorse:
		text += "≥ "
	}
	return text + threshold
}

// None says that there is nothing at all of what there must be some of: "no output tokens" says more than 0/s beside a
// limit of 0/s.
func None(r incident.Reading) bool {
	return r.HasValue() && *r.Value == 0 && r.Bound == incident.Exact && r.Threshold != nil && *r.Threshold == 0 &&
		r.Direction == incident.LowerIsWorse
}

// Beyond says that a reading is on the bad side of its threshold, whatever the threshold is.
func Beyond(r incident.Reading) bool {
	if !r.HasValue() || r.Threshold == nil {
		return false
	}
	switch r.Direction {
	case incident.HigherIsWorse:
		return *r.Value > *r.Threshold
	case incident.LowerIsWorse:
		return *r.Value < *r.Threshold
	case incident.Neutral:
	}
	return false
}

// Pods are the pods of a reading with the worst first, and what that one is: "worst", or "highest" for a signal without
// a bad side. mark is empty where none stands out: they differ by less than a fifth and are on the same side of the
// limit, or there are none.
func Pods(r incident.Reading) (pods []incident.PodValue, mark string) {
	if len(r.Pods) == 0 {
		return nil, ""
	}
	pods, mark = slices.Clone(r.Pods), "worst"
	slices.SortStableFunc(pods, func(a, b incident.PodValue) int { return cmp.Compare(b.Value, a.Value) })
	switch r.Direction {
	case incident.LowerIsWorse:
		slices.SortStableFunc(pods, func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) })
	case incident.Neutral:
		mark = "highest"
	case incident.HigherIsWorse:
	}
	if first, last := pods[0].Value, pods[len(pods)-1].Value; alike(first, last) && !between(r, first, last) {
		mark = ""
	}
	return pods, mark
}

// outstanding is the share by which one pod must differ from another to be worth naming.
const outstanding = 0.2

// alike says that two values differ by too little to tell pods apart.
func alike(a, b float64) bool {
	return a == b || math.Abs(a-b) < outstanding*max(math.Abs(a), math.Abs(b))
}

// between says that the limit of a reading is between two values: then the difference matters, however small it is.
func between(r incident.Reading, a, b float64) bool {
	return r.Threshold != nil && r.Direction != incident.Neutral && a != b && (a > *r.Threshold) != (b > *r.Threshold)
}

// WorstPod names the pod that stands out: "worst llama-70b-7: 48". Empty where none does.
func WorstPod(r incident.Reading) string {
	pods, mark := Pods(r)
	if mark == "" {
		return ""
	}
	return mark + " " + pods[0].Name() + ": " + incident.FormatValue(pods[0].Value, r.Unit)
}

// Usually compares a reading with its own past: "usually 400 ms, 6.1 sigma above, 380 ms at this hour yesterday". Empty
// when there is no past.
func Usually(r incident.Reading) string {
	b := r.Baseline
	if b == nil || !r.HasValue() {
		return ""
	}
	text := "usually " + incident.FormatValue(b.Mean, r.Unit)
	switch {
	case b.Score == nil:
	case *b.Score < 0:
		text += ", " + sigmas(-*b.Score) + " below"
	default:
		text += ", " + sigmas(*b.Score) + " above"
	}
	if b.Yesterday != nil {
		text += ", " + incident.FormatValue(*b.Yesterday, r.Unit) + " at this hour yesterday"
	}
	return text
}

// sigmas does not count further than the number says something.
func sigmas(score float64) string {
	const most = 100
	if score > most || math.IsNaN(score) {
		return fmt.Sprintf("more than %d sigma", most)
	}
	return fmt.Sprintf("%.1f sigma", score)
}
