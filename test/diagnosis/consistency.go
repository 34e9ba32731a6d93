package diagnosis

import (
	"fmt"
	"math"
	"slices"
)

// Check says what in an incident is physically impossible. The requests are simulated, so that times add up by
// themselves; what an incident states beside them (cache usage, slots, arguments, versions) is held against them here.
func (inc *Incident) Check() []string {
	out := inc.editionProblems()
	f := inc.simulate()
	for _, pod := range inc.Pods {
		for rank, m := range f.machines[pod] {
			for _, text := range m.problems() {
				out = append(out, fmt.Sprintf("%s/%d: %s", pod, rank, text))
			}
		}
		out = append(out, inc.clusterProblems(pod, f.machines[pod][0])...)
	}
	return out
}

// editionProblems are features that the version does not have.
func (inc *Incident) editionProblems() []string {
	var out []string
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	e := inc.edition()
	say(e.v0 && e.from(11, 0), "the V0 engine was removed in 0.11")
	say(e.v0 && inc.Ranks > 1, "the V0 engine has one rank")
	say(inc.NIXL && !e.from(11, 1), "NIXL's metrics exist from 0.11.1")
	say(inc.Draft > 0 && (e.v0 || !e.from(8, 5)), "the counters of speculative decoding exist from 0.8.5")
	say(inc.Dialect == kserveTwins && !e.from(8, 0), "the twins came with llm-d, after 0.8")
	seqs, budget := inc.Args["max_num_seqs"], inc.Args["max_num_batched_tokens"]
	say(seqs > 0 && budget > 0 && budget < seqs,
		"vLLM does not start with max_num_batched_tokens %g below max_num_seqs %g", budget, seqs)
	for i, p := range inc.Phases {
		all := []Physics{p.Physics}
		for _, x := range p.Only {
			all = append(all, x)
		}
		for _, x := range all {
			say(x.Slots != nil && seqs > 0 && x.Slots.most() > seqs, "phase %d: more slots than max_num_seqs %g", i+1, seqs)
			say(x.KV != nil && (x.KV.most() > 1 || x.KV.least() < 0), "phase %d: a cache usage outside 0 to 1", i+1)
			say(x.ErrorShare != nil && x.ErrorShare.most() > 0 && !e.from(13, 0),
				"phase %d: finished_reason error exists from 0.13", i+1)
			say(x.Deferred != nil && x.Deferred.most() > 0 && !e.from(20, 0), "phase %d: the reason of waiting exists from 0.20",
				i+1)
			say(x.Expired != nil && x.Expired.most() > 0 && (!inc.NIXL || !e.from(15, 0)),
				"phase %d: expired leases are counted by NIXL from 0.15", i+1)
			say(x.External != nil && x.External.most() > 0 && !e.from(11, 1),
				"phase %d: tokens from a connector are counted from 0.11.1", i+1)
			say(x.XferFailed != nil && x.XferFailed.most() > 0 && !inc.NIXL, "phase %d: transfers need nixl", i+1)
			say(x.Fail != nil && x.Fail.most() > 0 && !e.from(8, 3) && !inc.Gateway,
				"phase %d: nobody counts 5xx before 0.8.3 without a gateway", i+1)
			say(x.GPUUtil != nil && (x.GPUUtil.most() > 1 || x.GPUUtil.least() < 0), "phase %d: a GPU busier than wholly", i+1)
		}
	}
	return out
}

// problems hold the simulated requests against what the incident states.
func (m *machine) problems() []string {
	var out []string
	for _, p := range m.exact {
		if !math.IsInf(p.first, 1) && p.first-p.arrived < p.queue+p.prefill-1e-9 {
			out = append(out, "a time to first token below queue and prefill")
			break
		}
		if p.queue < 0 || p.finished < p.first || p.first < p.scheduled {
			out = append(out, "a request that ran backwards")
			break
		}
	}
	running, waiting, usage := m.inBatch(), m.tp.gauge(recWaiting), m.usage()
	if seqs := m.inc.Args["max_num_seqs"]; seqs > 0 && slices.Max(running) > seqs {
		out = append(out, fmt.Sprintf("%g requests run with max_num_seqs %g", slices.Max(running), seqs))
	}
	if v := slices.Min(waiting); v < 0 {
		out = append(out, "fewer than no requests wait")
	}
	out = append(out, m.cacheProblems(running, usage)...)
	out = append(out, m.historyProblems()...)
	out = append(out, m.calmProblems()...)
	return out
}

// tolerance is how far the stated cache usage may be from that of the requests in flight, either way: shared prefixes
// and blocks that are kept for running requests make the two differ in reality too.
const tolerance = 2.6

// cacheProblems compare the stated usage of each phase with the tokens in flight, for one size of the cache.
func (m *machine) cacheProblems(running, usage []float64) []string {
	var out []string
	tokens, capacity := m.tp.counters[recTokens], m.capacity()
	for i, s := range m.tl {
		from, _ := m.tp.step(s.from)
		to, ok := m.tp.step(s.to)
		if !ok {
			to = m.tp.steps
		}
		var held, stated, n float64
		for k := from + 1; k < to; k++ {
			if tokens == nil || running[k] < 3 || m.stalled(float64(k)*m.tp.interval) {
				continue
			}
			held += tokens[k] / m.tp.interval / capacity
			stated += usage[k]
			n++
		}
		if n < 5 {
			continue
		}
		held, stated = held/n, stated/n
		if held > stated*tolerance+0.05 || stated > held*tolerance+0.05 {
			out = append(out,
				fmt.Sprintf("phase %d states a cache usage of %.2f, and the requests in flight fill %.2f of %.0f tokens", i+1,
					stated, held, capacity))
		}
		if s.Preempt.most() > 0 && stated < 0.85 {
			out = append(out, fmt.Sprintf("phase %d preempts at a cache usage of %.2f", i+1, stated))
		}
	}
	return out
}

// historyProblems are about processes: a stall ends only with a new process, and nobody is sent to a dead one.
func (m *machine) historyProblems() []string {
	var out []string
	stalled := false
	for i, s := range m.tl {
		again := s.Restart != nil && *s.Restart || *s.Target == targetDown || *s.Target == targetGone
		if stalled && *s.Stall == None && !again {
			out = append(out, fmt.Sprintf("phase %d ends a stall without a new process", i+1))
		}
		stalled = *s.Stall != None
		if dead := *s.Target == targetDown || *s.Target == targetGone; dead && s.Rate.most() > 0 {
			out = append(out, fmt.Sprintf("phase %d sends requests to a process that is dead", i+1))
		}
	}
	return out
}

// clusterProblems hold what Kubernetes says against what the process did.
func (inc *Incident) clusterProblems(pod string, m *machine) []string {
	if inc.Cluster.Away {
		return nil
	}
	var out []string
	facts := inc.Cluster.Pods[pod]
	end := inc.length()
	if last := *m.tl[len(m.tl)-1].Target; facts.Gone && last != targetGone {
		out = append(out, pod+": Kubernetes has no such pod, and it is scraped")
	}
	if n := len(m.tp.epochs); n > 0 {
		last := m.tp.epochs[n-1]
		young := float64(facts.Age)
		if facts.Crash > 0 {
			young = float64(facts.Crash)
		}
		if !facts.Gone && last.from > 0 && math.IsInf(last.to, 1) && (young == 0 || young+1 < end-last.from) {
			out = append(out,
				fmt.Sprintf("%s: its process began %.0f s before the alert is examined, and the cluster does not know of it", pod,
					end-last.from))
		}
	}
	if facts.Crash > 0 && facts.Restarts == 0 {
		out = append(out, pod+": a crash without a restart")
	}
	return out
}
