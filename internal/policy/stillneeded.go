package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// sign is a reading of the newest samples that shows a trouble while it is above its limit.
type sign struct {
	signal string
	limit  float64
}

// Limits of pools without a target, and those that hold for each pool. They are the ones of the built-in playbooks,
// where their sources are.
const (
	usualTTFT = 2.5
	usualTPOT = 0.1
	fullCache = 0.95
	hardlyAny = 1 // a single request may wait for its turn in any pool
	noneAtAll = 0
)

// signs are what a change of a knob may be for. A latency that a smaller token budget makes worse is no reason for one.
func signs(step incident.Step, slo incident.SLO) []sign {
	ttft := sign{incident.SignalTTFTLately, cmp.Or(slo.TTFT, usualTTFT)}
	tpot := sign{incident.SignalTPOTLately, cmp.Or(slo.TPOT, usualTPOT)}
	queue := sign{incident.SignalWaitingLately, hardlyAny}
	full := sign{incident.SignalKVUsageMax, fullCache}
	preempted := sign{incident.SignalPreemptionsLately, noneAtAll}
	knob, ok := step.Kind.Knob()
	switch {
	case !ok:
		return nil
	case knob.AgainstLoad():
		return []sign{queue, ttft, tpot, full, preempted}
	case step.Raises():
		return []sign{ttft, queue}
	default:
		return []sign{tpot, full, preempted}
	}
}

// stillNeeded refuses a step against a trouble that the newest samples don't show, whatever the diagnosis says of the
// minutes before. What isn't known shows nothing.
func stillNeeded(in Input) incident.Guardrail {
	const name = "still-needed"
	var seen []string
	for _, s := range signs(in.Step, in.Pool.SLO) {
		r := in.Readings[s.signal]
		if r.HasValue() && r.Bound != incident.AtMost && *r.Value > s.limit {
			return pass(name, "%s is %s, above %s", r.Label(), r.Text(), incident.FormatValue(s.limit, r.Unit))
		}
		seen = append(seen, cmp.Or(r.Label(), s.signal)+": "+r.Text())
	}
	if len(seen) == 0 {
		return pass(name, "the step isn't against a trouble of the engines")
	}
	return refuse(name, "nothing in the newest samples shows that it is still needed: %s", strings.Join(seen, ", "))
}

// side refuses to scale the side of a disaggregated pool that has room, while requests wait for the other one.
func side(in Input) incident.Guardrail {
	const name = "role"
	knob, ok := in.Step.Kind.Knob()
	switch {
	case !ok || !knob.Adds:
		return pass(name, "the step adds no pods")
	case !in.Roles.Split():
		for _, source := range []string{incident.SignalLabeledPrefill, incident.SignalPrefillPods} {
			if r := in.Readings[source]; r.Error != "" {
				return refuse(name, "it isn't known whether prefill and decode run in the same pods (%s)", r.Text())
			}
		}
		return pass(name, "prefill and decode run in the same pods, as far as is known")
	}
	role, why := roleOfWorkload(in)
	w, kv := in.Readings[incident.SignalWaiting], in.Readings[incident.SignalKVUsage]
	switch {
	case why != "":
		return refuse(name, "%s", why)
	case !in.Roles.Whole():
		return refuse(name, "it adds %s pods, and the role of some pods that serve isn't known", role)
	case !w.HasValue() || len(w.Pods) == 0:
		return refuse(name, "it adds %s pods, and it isn't known on which side requests wait (%s)", role, w.Text())
	case !kv.HasValue() || len(kv.Pods) == 0:
		return refuse(name, "it adds %s pods, and it isn't known how full their KV caches are (%s)", role, kv.Text())
	}
	opposite := incident.RolePrefill
	if role == incident.RolePrefill {
		opposite = incident.RoleDecode
	}
	own, other := in.waiting(w, role), in.waiting(w, opposite)
	switch {
	case role == incident.RolePrefill && in.nearlyFull(kv, incident.RoleDecode):
		return refuse(name, "it adds prefill pods, and what waits there waits for decode pods, whose KV caches are full")
	case other > hardlyAny && own <= littleBeside*other && !in.nearlyFull(kv, role):
		return refuse(name, "it adds %s pods, which have room, and requests wait on the %s side", role, opposite)
	}
	return pass(name, "it adds %s pods; %g requests wait there and %g on the %s side", role, own, other, opposite)
}

func (in Input) waiting(w incident.Reading, role incident.Role) float64 {
	sum := 0.0
	for _, p := range w.Pods {
		if in.Roles.Of(p.Pod) == role {
			sum += p.Value
		}
	}
	return sum
}

func (in Input) nearlyFull(kv incident.Reading, role incident.Role) bool {
	return slices.ContainsFunc(kv.Pods, func(p incident.PodValue) bool {
		return in.Roles.Of(p.Pod) == role && p.Value > nearlyFull
	})
}

// When a decode pod leaves the blocks of read prompts on the prefill pods, and how little waits on a side that has room
// by what waits on the other; see the playbook role-starved.
const (
	nearlyFull   = 0.8
	littleBeside = 0.2
)

// roleOfWorkload is what the pods of the step's workload do, or why it isn't known.
func roleOfWorkload(in Input) (role incident.Role, why string) {
	for _, p := range in.Cluster.Pods {
		if p.Terminating || !p.Ready {
			continue
		}
		own := in.Roles.Of(p.Name)
		switch {
		case own == "":
			return "", "it adds pods, and it isn't known whether " + p.Name + " does prefill or decode"
		case role != "" && own != role:
			return "", "it adds pods to a workload with both prefill and decode pods"
		}
		role = own
	}
	if role == "" {
		return "", "it adds pods, and it isn't known whether the workload does prefill or decode"
	}
	return role, ""
}
