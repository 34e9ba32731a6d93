package present

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Price is what a step costs, from the newest readings and from this pool's own pods, as sentences; empty where that is
// not known. The step's own words say what a step of its kind costs anywhere.
func Price(inc incident.Incident, s incident.Step) string {
	switch s.Kind { //nolint:exhaustive // the others are priced by their own words alone
	case incident.StepThrottle:
		if share, ok := RejectedBy(inc.Readings, s); ok {
			return Capital(OneIn(share)) + " would be rejected."
		}
	case incident.StepReplicas:
		return capacity(inc.Cluster, s)
	}
	return ""
}

// RejectedBy is the share of requests that a limit on parallel requests would turn away at the load of now, from 0 to
// 1. At most as many finish as do now, and fewer where the limit is below what runs: by Little's law what finishes
// goes with what runs, as long as each takes as long as before. They take less time in a smaller batch, so it is
// rather too much than too little. ok is false where arrivals, finished requests or the running ones have no exact
// value, and for any other limit.
func RejectedBy(readings map[string]incident.Reading, s incident.Step) (share float64, ok bool) {
	arrive, okArrive := exactly(readings[incident.SignalArrivals])
	finish, okFinish := exactly(readings[incident.SignalFinished])
	run, okRun := exactly(readings[incident.SignalRunning])
	limit, err := strconv.ParseFloat(s.To.Text, 64)
	if !okArrive || !okFinish || !okRun || err != nil || !s.To.Present || arrive <= 0 || run <= 0 ||
		!incident.LimitsInFlight(s.Target.Setting) {
		return 0, false
	}
	if left, ok := exactly(readings[incident.SignalAbandoned]); ok && left < 1 {
		finish /= 1 - left // they leave room as those do that finish
	}
	served := finish * min(1, limit/run)
	return min(1, max(0, 1-served/arrive)), true
}

func exactly(r incident.Reading) (float64, bool) {
	if !r.HasValue() || r.Bound != incident.Exact {
		return 0, false
	}
	return *r.Value, true
}

// OneIn is a share in words that do not waver with each look: "about 1 in 3 requests".
func OneIn(share float64) string {
	for _, s := range []struct {
		below float64
		words string
	}{
		{0.02, "hardly any request"},
		{0.075, "about 1 in 20 requests"},
		{0.15, "about 1 in 10 requests"},
		{0.225, "about 1 in 5 requests"},
		{0.29, "about 1 in 4 requests"},
		{0.42, "about 1 in 3 requests"},
		{0.58, "about half of the requests"},
		{0.71, "about 2 in 3 requests"},
		{0.85, "about 3 in 4 requests"},
	} {
		if share < s.below {
			return s.words
		}
	}
	return "nearly all requests"
}

// Rejected is what the gateway turned away before and after a throttle, without a full stop: "Rejected by the gateway
// 0% → 22%". Empty of other changes.
func Rejected(c *incident.Comparison) string {
	switch {
	case c == nil || c.Rejected == nil || c.NoEffect != "":
		return ""
	case !c.Rejected.After.HasValue():
		return "What the gateway rejects isn't measured"
	case !c.Rejected.Before.HasValue():
		return "Rejected by the gateway now: " + c.Rejected.After.Text()
	}
	return "Rejected by the gateway " + c.Rejected.Before.Text() + " → " + c.Rejected.After.Text()
}

// manyRejected is the share of requests from which on a pool that turns them away isn't called healthy, however fast
// the others are served: every third. It is our own.
const manyRejected = 1.0 / 3

// turnsAway says which share a throttle of ours rejects by the newest reading, where that is too many to call the pool
// healthy.
func turnsAway(inc incident.Incident) (incident.Reading, bool) {
	r := inc.Readings[incident.SignalRejected]
	share, ok := exactly(r)
	throttled := slices.ContainsFunc(inc.Mitigations(), func(s incident.Step) bool {
		return s.Kind == incident.StepThrottle
	})
	return r, ok && throttled && share >= manyRejected
}

// Priced says that the price of a step is a number, which says more than the step's own words on what it costs.
func Priced(inc incident.Incident, s incident.Step) bool {
	switch s.Kind { //nolint:exhaustive // the others have no price
	case incident.StepThrottle:
		_, ok := RejectedBy(inc.Readings, s)
		return ok
	case incident.StepReplicas:
		_, each := morePods(inc.Cluster, s)
		return each > 0
	}
	return false
}

// OwnCost is what any such step costs, in the step's own words, next to its price: empty where the number of GPUs says
// the same.
func OwnCost(inc incident.Incident, s incident.Step) string {
	if s.Kind == incident.StepReplicas && Priced(inc, s) {
		return ""
	}
	return s.Cost
}

// capacity says how many GPUs more pods take, and how long the pods of the pool took from their start until they
// served.
func capacity(c incident.Cluster, s incident.Step) string {
	more, each := morePods(c, s)
	if more == 0 {
		return ""
	}
	var took []time.Duration
	for _, p := range c.Pods {
		if p.ServedAfter > 0 {
			took = append(took, p.ServedAfter)
		}
	}
	var text string
	if each > 0 {
		text = fmt.Sprintf("Needs %s (%s × %d).", Counted(int(more*each), "more GPU"), Counted(int(more), "pod"), each)
	}
	if len(took) > 0 {
		slices.Sort(took)
		text += " Pods of this pool took " + incident.FormatDuration(took[len(took)/2].Round(time.Second)) + " to serve."
	}
	return strings.TrimSpace(text)
}

// morePods are the pods that a step adds, and how many GPUs each takes: 0 where that isn't known, as of a kind a
// replica of which may be a group of pods.
func morePods(c incident.Cluster, s incident.Step) (more, each int64) {
	from, errFrom := strconv.ParseInt(s.From.Text, 10, 64)
	to, errTo := strconv.ParseInt(s.To.Text, 10, 64)
	if errFrom != nil || errTo != nil || to <= from || s.Target.Setting != incident.SettingReplicas {
		return 0, 0
	}
	if strings.HasPrefix(s.Target.APIVersion, "apps/") {
		for _, p := range c.Pods {
			each = max(each, p.GPUs)
		}
	}
	return to - from, each
}
