package fleet

import (
	"cmp"
	"slices"
	"time"
)

// Role is a pod's part in disaggregated serving.
type Role string

// The roles. A pod without one reads prompts and decodes.
const (
	// Prefill pods read prompts and keep their KV blocks until a decode pod has fetched them.
	Prefill Role = "prefill"
	// Decode pods fetch the blocks of a prompt and decode the answer.
	Decode Role = "decode"
)

// handoff is a request whose prompt a prefill engine has read.
type handoff struct {
	at  time.Duration
	req *request
}

// roleStep bounds how far engines run ahead of requests that change from one to another.
const roleStep = 50 * time.Millisecond

// disaggregated says that some pods have roles.
func (f *Fleet) disaggregated() bool {
	return slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.pod.Role != "" })
}

// lend ends a request on a prefill engine after its first token: its own blocks stay until they are fetched.
func (e *engine) lend(r *request) {
	own := r.blocks - r.borrowed
	e.release(r)
	e.lent += own
	r.lender, r.owed = e, own
}

// repay gives the blocks of a request back to the prefill engine that keeps them. It learns of that in a step, however
// idle it is.
func (r *request) repay() {
	if e := r.lender; e != nil {
		e.lent -= r.owed
		e.tally.kv = e.usage()
		r.lender, r.owed = nil, 0
	}
}

// handOff sends the requests that prefill engines have finished to decode engines, and repays what was fetched.
func (f *Fleet) handOff() {
	for _, r := range f.fetched {
		r.repay()
	}
	f.fetched = f.fetched[:0]
	ready := f.handoffs
	f.handoffs = nil
	slices.SortFunc(ready, func(a, b handoff) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.req.call.chance, b.req.call.chance))
	})
	for _, h := range ready {
		e, on, _ := f.pick(Decode)
		if e == nil {
			h.req.repay()
			f.gateway.lost++
			f.failed(h.req.call, Lost, f.now)
			continue
		}
		r := h.req
		r.arrived, r.remote, r.generated, r.computed, r.admitted = f.now, true, 0, 0, false
		f.deliver(r, e, on)
	}
}

// receive gives a request the blocks for its prompt and begins to fetch what the prefill engine has computed.
func (e *engine) receive(r *request) {
	need := blocksFor(r.known())
	r.blocks, r.remote = need, false
	e.used += need
	e.handedOut += need
	took := e.spec.TransferLatency + time.Duration(r.prompt)*e.spec.PerTransferredToken
	if e.transfer > 0 {
		took = time.Duration(float64(took) * e.transfer)
	}
	r.fetchedAt = max(e.now, r.queued) + took
	e.receiving = append(e.receiving, r)
	e.arriving = min(e.arriving, r.fetchedAt)
	e.tally.transfers.observe(took.Seconds())
}

// received lets the requests run whose blocks have come, as far as there are slots. vLLM computes the prompt's last
// token itself.
func (e *engine) received() {
	if e.now < e.arriving {
		return
	}
	e.arriving = forever
	e.receiving = slices.DeleteFunc(e.receiving, func(r *request) bool {
		if r.fetchedAt > e.now || len(e.running) >= e.spec.MaxNumSeqs {
			e.arriving = min(e.arriving, r.fetchedAt)
			return false
		}
		r.computed = r.prompt - 1
		r.admitted, r.scheduled = true, e.now
		e.running = append(e.running, r)
		e.got(r)
		if !e.spec.NoPrefixCaching {
			e.tally.queried += uint64(r.prompt)
		}
		return true
	})
}
