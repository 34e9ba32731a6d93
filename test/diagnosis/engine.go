package diagnosis

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// Names on a tape: what is recorded, not yet how a version calls it.
const (
	recRunning    = "running"
	recWaiting    = "waiting"
	recPreempted  = "preempted"
	recPrompt     = "prompt tokens"
	recComputed   = "prompt tokens computed"
	recCached     = "prompt tokens cached"
	recExternal   = "prompt tokens from a connector"
	recUncached   = "prompt tokens not cached"
	recQueried    = "prefix queries"
	recHit        = "prefix hits"
	recGenerated  = "generated tokens"
	recDecoded    = "decoded tokens"
	recPreempt    = "preemptions"
	recFinish     = "finished "
	recServed     = "served"
	recFailed     = "failed"
	recLeft       = "left"
	recArrived    = "arrived"
	recXferFail   = "transfers failed"
	recExpired    = "leases expired"
	recTokens     = "tokens in flight"
	recAge        = "age of the process"
	histTTFT      = "ttft"
	histITL       = "itl"
	histTPOT      = "request tpot"
	histE2E       = "e2e"
	histQueue     = "queue"
	histInference = "inference"
	histPrefill   = "prefill"
	histDecode    = "decode"
	histPrompt    = "prompt length"
	histGen       = "generation length"
	histMaxGen    = "max generation"
	histN         = "n"
	histMaxTokens = "max tokens"
	histComputed  = "computed length"
	histIteration = "iteration"
	histXfer      = "xfer"
	histBytes     = "bytes"
)

// machine simulates the requests of one engine.
type machine struct {
	inc     *Incident
	tl      timeline
	tp      *tape
	b       bounds
	rng     *rand.Rand
	budget  float64
	life    epoch
	served  float64 // when the newest request was scheduled
	running finishes
	// shared is what one cache holds, in tokens: the same for all engines of a fleet.
	shared float64
	// exact are the times from request to request, kept for the checks of what was simulated.
	exact []passage
}

// passage is what happened to one request, in seconds from the start. A time that never came is infinite.
type passage struct{ arrived, scheduled, first, finished, queue, prefill float64 }

// finishes are the ends of running requests, the next one first.
type finishes []float64

func (f finishes) Len() int           { return len(f) }
func (f finishes) Less(i, j int) bool { return f[i] < f[j] }
func (f finishes) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }

//nolint:forcetypeassert // container/heap's own shape
func (f *finishes) Push(x any) { *f = append(*f, x.(float64)) }

func (f *finishes) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

func (inc *Incident) machine(pod, rank string) *machine {
	tl := inc.timelineOf(pod, rank)
	interval := float64(inc.Scrape)
	steps := int(inc.length()/interval) + 1
	budget := inc.Args["max_num_batched_tokens"]
	if budget == 0 {
		budget = 8192
	}
	return &machine{
		inc: inc, tl: tl, tp: newTape(steps, interval, tl.epochs()), b: inc.edition().bounds(), budget: budget,
		//nolint:gosec // the same name gives the same incident
		rng: rand.New(rand.NewPCG(seed(inc.Name), seed(pod+"/"+rank))),
	}
}

// seed is FNV-1a: short, and the same on every machine.
func seed(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// run simulates everything.
func (m *machine) run() *tape {
	for _, life := range m.tp.epochs {
		m.life, m.running, m.served = life, nil, life.from
		m.arrivals()
	}
	m.rates()
	m.steps()
	return m.tp
}

// arrivals lets requests come at random, at the rate of the time.
func (m *machine) arrivals() {
	for t := m.life.from; ; {
		s := m.tl.at(t)
		rate := s.value(s.Rate, t)
		if rate < 1e-6 {
			t++
		} else {
			// The mean of two waits: less noise than pure chance, as many clients together have.
			t += (m.rng.ExpFloat64() + m.rng.ExpFloat64()) / 2 / rate
		}
		if t >= m.life.to || t >= m.inc.length() {
			return
		}
		if rate >= 1e-6 {
			m.request(t)
		}
	}
}

func (m *machine) draw(s stretch, sp *spread, t float64) float64 {
	return s.mix(sp, t).draw(m.rng.Float64(), m.rng.Float64())
}

func (m *machine) chance(s stretch, q *quantity, t float64) bool {
	return m.rng.Float64() < s.value(q, t)
}

// request follows one request through the engine.
func (m *machine) request(t float64) {
	s := m.tl.at(t)
	p := passage{arrived: t, scheduled: math.Inf(1), first: math.Inf(1), finished: math.Inf(1)}
	defer func() { m.exact = append(m.exact, p) }()
	prompt, gen := math.Max(1, math.Round(m.draw(s, s.Prompt, t))), math.Max(1, math.Round(m.draw(s, s.Gen, t)))
	queued := t + m.draw(s, s.Overhead, t)
	patience := math.Inf(1)
	if m.chance(s, s.Leave, t) {
		patience = t + m.draw(s, s.Patience, t)
	}
	m.tp.add(recArrived, t, 1)
	start := m.slot(queued + m.draw(s, s.Queue, t))
	limited := m.tl.at(start).Slots != nil
	// A process that stalls or dies takes what it had with it.
	cut := min(m.life.stall, m.life.to)
	if queued >= cut {
		if m.tl.stallAt(t) == stallPiling {
			m.tp.level(recWaiting, queued, min(patience, m.life.to))
		}
		m.left(patience, m.life.to)
		return
	}
	m.tp.level(recWaiting, queued, m.kept(min(start, patience), cut, patience))
	if start >= min(cut, patience) {
		if limited {
			heap.Push(&m.running, start) // the place that it would have had stays free for the next
		}
		m.left(patience, cut)
		return
	}
	p.scheduled, p.queue = start, start-queued
	now := m.tl.at(start)
	hit := 0.0
	if m.inc.PrefixCaching == nil || *m.inc.PrefixCaching {
		hit = math.Floor(prompt*math.Min(0.99, now.value(now.Hit, start)*(0.8+0.4*m.rng.Float64()))/16) * 16
	}
	m.tp.add(recQueried, start, prompt)
	m.tp.add(recHit, start, hit)
	prefill := m.draw(now, now.Prefill, start)
	m.decode(&p, request{
		t: t, queued: queued, start: start, prefill: prefill, prompt: prompt, gen: gen, hit: hit,
		patience: patience, cut: cut,
	})
}

// kept is until when a request counts in a gauge: what a stalled engine held, it goes on to hold; one that still steps
// lets go of requests whose clients went away.
func (m *machine) kept(end, cut, patience float64) float64 {
	switch {
	case end <= cut || cut != m.life.stall:
		return min(end, cut)
	case m.tl.stallAt(cut) == stallPiling:
		return max(cut, min(patience, m.life.to))
	}
	return m.life.to
}

func (m *machine) left(patience, cut float64) {
	if patience < cut {
		m.tp.add(recLeft, patience, 1)
	}
}

// slot is when one of the places is free. Where places are few, nobody overtakes.
func (m *machine) slot(want float64) float64 {
	start := want
	if m.tl.at(want).Slots != nil {
		start = math.Max(want, m.served)
	}
	defer func() { m.served = start }()
	for m.running.Len() > 0 && m.running[0] <= start {
		heap.Pop(&m.running)
	}
	for {
		s := m.tl.at(start)
		if s.Slots == nil || float64(m.running.Len()) < math.Max(1, s.value(s.Slots, start)) {
			return start
		}
		start = math.Max(start, heap.Pop(&m.running).(float64)) //nolint:forcetypeassert // only numbers are pushed
	}
}

// request is one that has been scheduled.
type request struct{ t, queued, start, prefill, prompt, gen, hit, patience, cut float64 }

// decode follows a request from its schedule to its end.
func (m *machine) decode(p *passage, r request) {
	first := r.start + r.prefill
	s := m.tl.at(first)
	itl := s.mix(s.ITL, first).mean() * (0.92 + 0.16*m.rng.Float64())
	waits := m.preemptions(s, first)
	busy := (r.gen - 1) * itl
	end := first + busy
	for _, w := range waits {
		end += w
	}
	gone := min(r.patience, r.cut)
	heap.Push(&m.running, min(end, gone))
	m.tp.level(recRunning, r.start, m.kept(min(end, r.patience), r.cut, r.patience))
	m.hold(r, end, gone)
	if first >= gone {
		m.left(r.patience, r.cut)
		return
	}
	p.first, p.prefill = first, r.prefill
	m.firstToken(r, first)
	m.tokens(r, first, itl, waits, gone)
	if end >= gone {
		m.left(r.patience, r.cut)
		return
	}
	p.finished = end
	m.finish(r, first, end)
}

// hold keeps how many tokens of the cache the running requests fill, for the check of the usage. Blocks from the prefix
// cache are in use too; half of them, say, by several requests at once.
func (m *machine) hold(r request, end, gone float64) {
	to := min(end, gone, m.life.to)
	m.tp.spreadOver(recTokens, r.start, to, (r.prompt-r.hit/2+r.gen/2)*(to-r.start))
}

// preemptions are the waits of one request, each after losing its blocks.
func (m *machine) preemptions(s stretch, t float64) []float64 {
	rate, arriving := s.value(s.Preempt, t), s.value(s.Rate, t)
	if rate <= 0 || arriving <= 0 {
		return nil
	}
	var out []float64
	for expected := rate / arriving; expected > 0; expected-- {
		if m.rng.Float64() < expected {
			out = append(out, m.draw(s, s.PreemptWait, t))
		}
	}
	return out
}

func (m *machine) firstToken(r request, first float64) {
	m.tp.observe(histTTFT, m.b.ttft, first, first-r.t, 1)
	m.tp.add(recPrompt, first, r.prompt)
	s := m.tl.at(first)
	external := min(r.prompt-r.hit, math.Floor(r.prompt*s.value(s.External, first)))
	m.tp.add(recComputed, first, r.prompt-r.hit-external)
	m.tp.add(recExternal, first, external)
	m.tp.add(recUncached, first, r.prompt-r.hit)
	m.tp.add(recCached, first, r.hit)
	m.tp.add(recGenerated, first, 1)
	if m.inc.NIXL {
		took := m.draw(s, s.Xfer, first)
		m.tp.observe(histXfer, xferBounds(), first, took, 1)
		m.tp.observe(histBytes, byteBounds(), first, r.prompt*327680, 1)
	}
}

// tokens writes what comes between the first token and the last, with the holes that preemption tears.
func (m *machine) tokens(r request, first, itl float64, waits []float64, gone float64) {
	cuts := make([]float64, 0, len(waits)+2)
	cuts = append(cuts, 0)
	for range waits {
		cuts = append(cuts, m.rng.Float64())
	}
	cuts = append(cuts, 1)
	slices.Sort(cuts)
	t := first
	for i := 1; i < len(cuts); i++ {
		n := (r.gen - 1) * (cuts[i] - cuts[i-1])
		to := t + n*itl
		if end := min(to, gone); end > t {
			part := n * (end - t) / (to - t)
			m.tp.spreadOver(recGenerated, t, end, part)
			m.tp.spreadOver(recDecoded, t, end, part)
		}
		t = to
		if t >= gone || i > len(waits) {
			break
		}
		m.tp.add(recPreempt, t, 1)
		back := t + waits[i-1]
		// It waits again, and is computed again: one token comes very late.
		m.tp.level(recWaiting, t, min(back, gone))
		m.tp.level(recPreempted, t, min(back, gone))
		m.tp.observe(histITL, m.b.itl, min(back, gone), waits[i-1]+itl, 1)
		t = back
	}
}

func (m *machine) finish(r request, first, end float64) {
	s := m.tl.at(end)
	for name, v := range map[string]float64{
		histE2E: end - r.t, histQueue: r.start - r.queued, histPrefill: first - r.start, histDecode: end - first,
		histInference: end - r.start,
	} {
		m.tp.observe(name, m.b.latency, end, v, 1)
	}
	if r.gen > 1 {
		m.tp.observe(histTPOT, m.b.itl, end, (end-first)/(r.gen-1), 1)
	}
	for name, v := range map[string]float64{
		histPrompt: r.prompt, histGen: r.gen, histMaxGen: r.gen,
		histComputed: r.prompt - r.hit, histMaxTokens: 4096,
	} {
		m.tp.observe(name, m.b.tokens, end, v, 1)
	}
	m.tp.observe(histN, []float64{1, 2, 5, 10, 20}, end, 1, 1)
	reason := "stop"
	switch {
	case m.chance(s, s.ErrorShare, end):
		reason = "error"
	case m.chance(s, s.LengthShare, end):
		reason = "length"
	}
	m.tp.add(recFinish+reason, end, 1)
	m.tp.add(recServed, end, 1)
}
