package diagnosis

import (
	"math"
	"reflect"
	"slices"
)

// stretch is one phase for one engine, with everything that it inherited.
type stretch struct {
	from, to float64 // seconds from the start
	Physics
}

// timeline is what one engine does, from the first phase to the last.
type timeline []stretch

// timelineOf resolves the inheritance: an engine's own settings over its pod's over those of all, each staying until it
// is named again.
func (inc *Incident) timelineOf(pod, rank string) timeline {
	var out timeline
	state, t := ordinary(), 0.0
	for _, p := range inc.Phases {
		state = over(settled(state), p.Physics)
		for _, who := range []string{pod, pod + "/" + rank} {
			if own, ok := p.Only[who]; ok {
				state = over(state, own)
			}
		}
		out = append(out, stretch{from: t, to: t + float64(p.For), Physics: state})
		t += float64(p.For)
		state.Restart = nil
	}
	return out
}

// ordinary is an engine about which nothing is said: it serves nobody.
func ordinary() Physics {
	q := func(v float64) *quantity { return &quantity{from: v, to: v} }
	s := func(p50, p95 float64) *spread {
		m := mix{{share: 1, p50: p50, p95: p95}}
		return &spread{from: m, to: m}
	}
	up, none := targetUp, None
	return Physics{
		Rate: q(0), Prompt: s(600, 1800), Gen: s(180, 450), Hit: q(0.3), Overhead: s(0.004, 0.012), Queue: s(0.004, 0.02),
		Prefill: s(0.09, 0.2), ITL: s(0.024, 0.034), KV: q(0), Preempt: q(0), PreemptWait: s(3, 8), Leave: q(0),
		Patience: s(30, 60),
		Fail:     q(0), ErrorShare: q(0), LengthShare: q(0.15), Deferred: q(0), Xfer: s(0.03, 0.07), XferFailed: q(0),
		Expired: q(0), External: q(0),
		Acceptance: q(0.7), GPUUtil: q(0.7), GPUMem: q(0.92), RSS: q(6), Stall: &none, Target: &up,
	}
}

// over lays what own names over base.
func over(base, own Physics) Physics {
	b, o := reflect.ValueOf(&base).Elem(), reflect.ValueOf(own)
	for i := range o.NumField() {
		if !o.Field(i).IsNil() {
			b.Field(i).Set(o.Field(i))
		}
	}
	return base
}

// settled is what stays of a phase when it has ended.
func settled(p Physics) Physics {
	for _, field := range reflect.ValueOf(&p).Elem().Fields() {
		switch x := field.Interface().(type) {
		case *quantity:
			if x != nil {
				q := x.settled()
				field.Set(reflect.ValueOf(&q))
			}
		case *spread:
			if x != nil {
				s := x.settled()
				field.Set(reflect.ValueOf(&s))
			}
		}
	}
	return p
}

// at finds the stretch of a time; the ends belong to their neighbours.
func (tl timeline) at(t float64) stretch {
	for _, s := range tl {
		if t < s.to {
			return s
		}
	}
	return tl[len(tl)-1]
}

func (s stretch) passed(t float64) float64 {
	return max(0, min(1, (t-s.from)/(s.to-s.from)))
}

func (s stretch) value(q *quantity, t float64) float64 { return q.at(s.passed(t), t) }

func (s stretch) mix(sp *spread, t float64) mix { return sp.at(s.passed(t)) }

// epoch is the life of one process; it stalls at stall and never moves again before its end. Infinity: it does not, and
// it lives on after the investigation.
type epoch struct{ from, to, stall float64 }

// epochs cut the timeline where a process dies or begins.
func (tl timeline) epochs() []epoch {
	var out []epoch
	alive := false
	for _, s := range tl {
		dead := *s.Target == targetDown || *s.Target == targetGone
		again := s.Restart != nil && *s.Restart
		if alive && (dead || again) {
			out[len(out)-1].to = s.from
			alive = false
		}
		if !dead && !alive {
			out = append(out, epoch{from: s.from, to: math.Inf(1), stall: math.Inf(1)})
			alive = true
		}
		if e := len(out) - 1; alive && *s.Stall != None && math.IsInf(out[e].stall, 1) {
			out[e].stall = s.from
		}
	}
	// A stall that ends without a new process is not one that this generator knows; Check refuses it.
	return out
}

// stallAt says how the engine stalls at a time.
func (tl timeline) stallAt(t float64) string { return *tl.at(t).Stall }

// connected says that a KV connector supplies tokens of prompts in some phase.
func (inc *Incident) connected() bool {
	return slices.ContainsFunc(inc.Phases, func(p Phase) bool { return p.External != nil && p.External.most() > 0 })
}
