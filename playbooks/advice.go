package playbooks

import (
	"math"
	"regexp"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// A manual step's advice may name signals in braces: "set max_num_seqs to at most {safe_max_num_seqs}". A person reads
// the value of the moment there.

func placeholder() *regexp.Regexp { return regexp.MustCompile(`\{([^{}\s]*)\}`) }

func (l *loader) placeholders(at strictyaml.Value, advice string) {
	for _, m := range placeholder().FindAllStringSubmatch(advice, -1) {
		if _, ok := l.catalog.byName[m[1]]; !ok && !l.anyBroken() {
			l.add(at.Problem("%s", strictyaml.NotThere("signal", m[1], l.catalog.SignalNames())))
		}
	}
}

// namedIn are the signals that an advice names.
func namedIn(advice string) []string {
	var out []string
	for _, m := range placeholder().FindAllStringSubmatch(advice, -1) {
		out = append(out, m[1])
	}
	return out
}

// filled puts the values in. What is not known is said so: a person must not read a guess.
func (c *Catalog) filled(advice string, readings map[string]incident.Reading) string {
	return placeholder().ReplaceAllStringFunc(advice, func(m string) string {
		name := m[1 : len(m)-1]
		r := readings[name]
		switch {
		case r.Value == nil && r.Error == "" && c.compares(name, incident.Evidence{Readings: readings}):
			return noOutlier
		case !r.HasValue():
			return "unknown"
		case len(r.Pods) > 0:
			if names := c.podsMeant(name, r); len(names) > 0 {
				return r.Text() + " (" + few(names) + ")"
			}
			return r.Text()
		case r.Unit == incident.UnitCount && *r.Value >= 1 && *r.Value < math.MaxInt32:
			// A limit is rounded towards the careful side. It is what people copy, so its thousands aren't separated.
			return r.Bound.Text(strconv.FormatInt(int64(*r.Value), 10))
		}
		return r.Text()
	})
}
