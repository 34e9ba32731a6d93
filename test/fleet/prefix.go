package fleet

// prefix is the beginning that some prompts have in common, in the cache of one engine. Running requests that begin
// with it share its blocks.
type prefix struct {
	blocks int
	// users are the running requests that hold the blocks. Without users the blocks are free and still readable until
	// they are handed out again.
	users int
	// released is how many blocks the engine had handed out when the last user left, ahead how many were free then: vLLM
	// hands out free blocks in the order in which they became free.
	released, ahead int
}

// noPrefix is the beginning that no other prompt has.
const noPrefix = -1

// cached is what is left of a prefix in the cache; nil for none.
func (e *engine) cached(id int) *prefix {
	p := e.prefixes[id]
	if p == nil || p.users > 0 {
		return p
	}
	if e.handedOut-p.released >= p.ahead {
		delete(e.prefixes, id)
		return nil
	}
	return p
}

// hit is how many blocks of a waiting request's prompt the cache has. vLLM computes at least one token itself.
func (e *engine) hit(r *request) (p *prefix, blocks int) {
	if e.spec.NoPrefixCaching || r.shared == 0 || e.role == Decode {
		return nil, 0
	}
	if p = e.cached(r.prefix); p == nil {
		return nil, 0
	}
	return p, min(p.blocks, r.shared/blockSize, (r.prompt-1)/blockSize)
}

// borrow lets a request use the blocks that hit found.
func (e *engine) borrow(r *request, p *prefix, blocks int) {
	if blocks == 0 {
		return
	}
	if p.users == 0 {
		e.used += p.blocks
	}
	p.users++
	r.from, r.borrowed = p, blocks
	r.blocks += blocks
}

// keep makes the beginning of a prompt, computed now, usable for others.
func (e *engine) keep(r *request) {
	if e.spec.NoPrefixCaching || e.role == Decode || r.shared < blockSize || r.from != nil || e.cached(r.prefix) != nil {
		return
	}
	p := &prefix{blocks: r.shared / blockSize, users: 1}
	if e.prefixes == nil {
		e.prefixes = map[int]*prefix{}
	}
	e.prefixes[r.prefix] = p
	r.from, r.borrowed = p, p.blocks
}

// release gives back all blocks of a request.
func (e *engine) release(r *request) {
	e.used -= r.blocks - r.borrowed
	if p := r.from; p != nil {
		if p.users--; p.users == 0 {
			e.used -= p.blocks
			p.released, p.ahead = e.handedOut, e.blocks-e.taken()-e.used
		}
	}
	r.blocks, r.borrowed, r.from = 0, 0, nil
}

// dropPrefixes forgets every prefix; those that are in use stay with their users only.
func (e *engine) dropPrefixes() { e.prefixes = nil }
