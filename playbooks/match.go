package playbooks

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// selection is what matters for some alerts.
type selection struct {
	// answering are the playbooks that answer the alerts. Their recovery rules say when the trouble is over.
	answering []*playbook
	// named are those of them that answer an alert by its name, as opposed to being asked because nothing better is known.
	// What they forbid holds.
	named []*playbook
	// diagnoses are those of the answering playbooks, those that they also weigh, and those that are always weighed, by
	// rank.
	diagnoses []*diagnosis
	// reached are those of them to which the alerts lead, as opposed to what is weighed for every alert.
	reached map[*diagnosis]bool
	// unknown are the alert names that no playbook answers. For them every playbook is asked.
	unknown []string
}

func (c *Catalog) selection(alertNames []string, slo incident.SLO) selection {
	var s selection
	for _, name := range alertNames {
		known := slices.ContainsFunc(c.playbooks, func(p *playbook) bool { return slices.Contains(p.alerts, name) })
		if !known && !slices.Contains(s.unknown, name) {
			s.unknown = append(s.unknown, name)
		}
	}
	everything := len(alertNames) == 0 || len(s.unknown) > 0
	s.reached = map[*diagnosis]bool{}
	for _, p := range c.playbooks {
		answers := slices.ContainsFunc(alertNames, func(name string) bool { return slices.Contains(p.alerts, name) })
		if !answers && !everything {
			continue
		}
		s.answering = append(s.answering, p)
		if answers {
			s.named = append(s.named, p)
		}
		for _, d := range slices.Concat(p.diagnoses, p.also) {
			s.reached[d] = s.reached[d] || answers || !d.own || c.setsItself(slo, d.ownTarget)
		}
	}
	for _, d := range c.diagnoses {
		if s.reached[d] || d.always {
			s.diagnoses = append(s.diagnoses, d)
		}
	}
	return s
}

// signals are the names of everything that the selection reads.
func (s selection) signals() map[string]bool {
	out := map[string]bool{}
	add := func(r *rule) {
		if r == nil {
			return
		}
		for _, name := range r.signals {
			out[name] = true
		}
	}
	recovery := slices.Clone(s.answering)
	for _, d := range s.diagnoses {
		add(d.when)
		add(d.inDoubt)
		for _, name := range slices.Concat(d.affected, namedIn(strings.Join(d.headline, " "))) {
			out[name] = true
		}
		for _, q := range d.compare {
			out[q.of] = true
		}
		for _, st := range d.steps {
			add(st.condition)
			if knob, ok := st.request.Kind.Knob(); ok {
				for _, name := range knob.Asks() {
					out[name] = true
				}
			}
			for _, size := range []string{st.times, st.of} {
				if size != "" {
					out[size] = true
				}
			}
			for _, name := range namedIn(st.request.Advice) {
				out[name] = true
			}
		}
		recovery = append(recovery, d.owner)
	}
	for _, p := range recovery {
		for _, h := range p.healthy {
			add(h.rule)
			add(h.or)
		}
	}
	for _, p := range s.answering {
		for _, name := range p.reads {
			out[name] = true
		}
	}
	return out
}

// alertNames are the names of alerts, each once. Tests are about nothing.
func alertNames(alerts []incident.Alert) []string {
	var out []string
	for _, a := range alerts {
		if name := a.Name(); !a.Test() && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
