package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// reconcile starts and ends replicas until there are as many as desired with the arguments of the fleet, as far as that
// can be done now: what a Deployment does. The next chance is when a replica becomes ready.
func (f *Fleet) reconcile() {
	for _, r := range f.replicas {
		if r.ready <= f.now {
			f.built[f.spec(r.args).MaxNumBatchedTokens] = true
		}
	}
	for more := f.managed; more; {
		more = f.reconcileOne()
	}
}

// reconcileOne starts or ends one replica; it says whether there was one.
func (f *Fleet) reconcileOne() bool {
	stale := func(r *replica) bool { return r.pod.Args != nil || !slices.Equal(r.args, f.args) }
	fresh, ready := 0, 0
	for _, r := range f.replicas {
		if !stale(r) {
			fresh++
		}
		if r.ready <= f.now {
			ready++
		}
	}
	surge, unavailable := 1, 0
	if f.opts.NoSurge {
		surge, unavailable = 0, 1
	}
	old := len(f.replicas) - fresh
	switch {
	case fresh > f.desired:
		return f.end(func(r *replica) bool { return !stale(r) })
	case old > 0 && f.end(func(r *replica) bool { return stale(r) && r.ready > f.now }):
		return true
	case fresh < f.desired && (old == 0 || len(f.replicas) < f.desired+surge):
		f.replicas = append(f.replicas, f.newReplica(f.nextPod(), f.args))
		return true
	case old > 0 && (ready > f.desired-unavailable || len(f.replicas) > f.desired+surge):
		return f.end(stale)
	}
	return false
}

// end ends one of the replicas that may go: one that is not ready, else the youngest. It says whether there was one.
func (f *Fleet) end(may func(*replica) bool) bool {
	found := -1
	for i, r := range f.replicas {
		if may(r) && (found < 0 || r.ready > f.now || f.replicas[found].ready <= f.now) {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	f.drop(f.replicas[found])
	f.replicas = slices.Delete(f.replicas, found, found+1)
	return true
}

// nextPod is a pod that nobody named.
func (f *Fleet) nextPod() Pod {
	i := f.started
	f.started++
	return Pod{Name: fmt.Sprintf("%s-%d", f.opts.Model, i), IP: fmt.Sprintf("10.244.%d.%d", 1+i/250%250, 1+i%250)}
}

func (f *Fleet) newReplica(p Pod, args []string) *replica {
	r := &replica{
		pod: p, args: args, dialect: cmp.Or(p.Dialect, f.opts.Dialect), born: f.now, ready: f.now + f.startUp(p, args),
	}
	if f.families[r.dialect] == nil {
		f.families[r.dialect] = spelled(r.dialect.spelling())
	}
	for range f.opts.Ranks {
		e := &engine{
			now: f.now, patience: forever, share: 1, cpu: 1, tally: newTally(r.dialect.spelling().Generation),
			counts: f.opts.CountsAborts,
		}
		e.configure(f.spec(args))
		e.role, e.arriving = p.Role, forever
		e.got = func(req *request) { f.fetched = append(f.fetched, req) }
		e.gone = func(req *request, how ending) { f.gone(r, e, req, how) }
		if told := f.opts.FirstToken; told != nil {
			e.began = func(req *request) { told(e.now+e.outside(), e.now+e.outside()-req.call.arrived) }
		}
		r.ranks = append(r.ranks, e)
	}
	return r
}

// startUp is how long a replica takes until it is ready.
func (f *Fleet) startUp(p Pod, args []string) time.Duration {
	if f.opts.StartUp == 0 {
		return 0
	}
	chance := f.opts.Seed + uint64(f.now)
	for _, c := range []byte(p.Name) {
		chance = mix(chance + uint64(c))
	}
	took := time.Duration(float64(f.opts.StartUp) * (.9 + .2*float64(chance>>11)/(1<<53)))
	if !f.built[f.spec(args).MaxNumBatchedTokens] {
		took += f.opts.Recompile
	}
	return took
}

// drop takes the requests of a replica that ends from their clients.
func (f *Fleet) drop(r *replica) {
	for _, e := range r.ranks {
		e.settle()
		all := slices.Concat(e.running, e.waiting, e.receiving)
		e.running, e.waiting, e.receiving = nil, nil, nil
		for _, req := range all {
			e.gone(req, lost)
		}
	}
	for _, h := range r.frontend.coming {
		h.to.gone(h.req, lost)
	}
	r.frontend.coming = nil
}
