package fleet

import "time"

// frontend is the CPU of a pod's API server: it tokenizes each prompt before an engine sees it and turns each token of
// an answer into text. With more to do than it has time, what comes later waits for it: requests before the engine,
// tokens behind it. The engine knows nothing of either.
type frontend struct {
	// behind is the work that is left as of asOf, in CPU time; counted are the tokens whose work is in it.
	behind, asOf time.Duration
	counted      uint64
	// coming are the requests that are not tokenized yet, the oldest first.
	coming []handover
}

// handover is a request that its engine gets at a time.
type handover struct {
	at  time.Duration
	to  *engine
	req *request
}

// frontendStep bounds how far engines run ahead of the work that their tokens make for a front end.
const frontendStep = 100 * time.Millisecond

// cpuBound says that the engine's front end is simulated, beside the fixed time of Cost.Frontend.
func (e Engine) cpuBound() bool { return e.PerRequestCPU+e.PerPromptTokenCPU+e.PerTokenCPU > 0 }

// busy is how long a front end is busy with so much work.
func (e *engine) busy(work time.Duration) time.Duration {
	return time.Duration(float64(work) * e.cpu / float64(max(1, e.spec.APIServers)))
}

// catchUp brings the work of a replica's front end up to now.
func (r *replica) catchUp(now time.Duration) {
	var generated uint64
	for _, e := range r.ranks {
		generated += e.tally.generated
	}
	fe, first := &r.frontend, r.ranks[0]
	work := first.busy(time.Duration(generated-fe.counted) * first.spec.PerTokenCPU)
	fe.behind = max(0, fe.behind+work-(now-fe.asOf))
	fe.asOf, fe.counted = now, generated
	for _, e := range r.ranks {
		e.late = fe.behind
	}
}

// take gives a front end a request that its engine will get once it is tokenized.
func (r *replica) take(req *request, to *engine, now time.Duration) {
	r.catchUp(now)
	spec := to.spec
	r.frontend.behind += to.busy(spec.PerRequestCPU + time.Duration(req.prompt)*spec.PerPromptTokenCPU)
	to.coming++
	r.frontend.coming = append(r.frontend.coming, handover{now + r.frontend.behind, to, req})
}

// handOver gives engines the requests that are tokenized by now.
func (r *replica) handOver(now time.Duration) {
	fe := &r.frontend
	for len(fe.coming) > 0 && fe.coming[0].at <= now {
		h := fe.coming[0]
		fe.coming = fe.coming[1:]
		h.to.coming--
		h.req.queued = now
		h.to.enqueue(h.req)
	}
}

// nextFrontend is when a front end has something to do next.
func (f *Fleet) nextFrontend() time.Duration {
	if !f.scenario.Engine.cpuBound() {
		return forever
	}
	at := (f.now/frontendStep + 1) * frontendStep
	for _, r := range f.replicas {
		if len(r.frontend.coming) > 0 {
			at = min(at, max(r.frontend.coming[0].at, f.now))
		}
	}
	return at
}

// frontends does what nextFrontend announced.
func (f *Fleet) frontends() {
	if !f.scenario.Engine.cpuBound() {
		return
	}
	for _, r := range f.replicas {
		r.catchUp(f.now)
		r.handOver(f.now)
	}
}
