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

// Limits of pools without a target, and those that hold for each pool. They are the ones of the built-in playbooks, where
// their sources are.
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
		return pass(name, "prefill and decode run in the same pods")
	}
	role, why := roleOfWorkload(in)
	if why != "" {
		return refuse(name, "%s", why)
	}
	w := in.Readings[incident.SignalWaiting]
	if !w.HasValue() || len(w.Pods) == 0 {
		return refuse(name, "it adds %s pods, and it isn't known on which side requests wait (%s)", role, w.Text())
	}
	own, other := 0.0, 0.0
	for _, p := range w.Pods {
		if in.Roles.Of(p.Pod) == role {
			own += p.Value
		} else {
			other += p.Value
		}
	}
	full := in.Readings[incident.SignalKVUsage].Pods
	room := !slices.ContainsFunc(full, func(p incident.PodValue) bool {
		return in.Roles.Of(p.Pod) == role && p.Value > nearlyFull
	})
	if other > hardlyAny && own <= hardlyAny && room && len(full) > 0 {
		return refuse(name, "it adds %s pods, which have room, and the requests wait on the other side", role)
	}
	return pass(name, "it adds %s pods, the side that needs them", role)
}

// nearlyFull is when a decode pod leaves the blocks of read prompts on the prefill pods; see the playbook role-starved.
const nearlyFull = 0.8

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
