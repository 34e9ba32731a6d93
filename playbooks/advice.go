package playbooks

import (
	"math"
	"regexp"
	"strconv"
	"strings"

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

// aside is a value in brackets that the sentence does without.
var aside = regexp.MustCompile(`\s\((?:now|usually) \{[^{}\s]*\}\)`)

// namedIn are the signals that an advice names.
func namedIn(advice string) []string {
	var out []string
	for _, m := range placeholder().FindAllStringSubmatch(advice, -1) {
		out = append(out, m[1])
	}
	return out
}

// filled puts the values in. What is not known is said so: a person must not read a guess.
// What says nothing is left out: "(now {x})" without a value, and what compares pods of which none stands out.
func (c *Catalog) filled(advice string, readings map[string]incident.Reading) string {
	advice = aside.ReplaceAllStringFunc(advice, func(m string) string {
		if name := namedIn(m); !readings[name[0]].HasValue() {
			return ""
		}
		return m
	})
	advice = c.withoutNone(advice, readings)
	return placeholder().ReplaceAllStringFunc(advice, func(m string) string {
		name := m[1 : len(m)-1]
		r := readings[name]
		switch {
		case c.noneApart(name, readings):
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

// noneApart says that the pods of a signal could be compared and none stands out.
func (c *Catalog) noneApart(name string, readings map[string]incident.Reading) bool {
	r := readings[name]
	return r.Value == nil && r.Error == "" && c.compares(name, incident.Evidence{Readings: readings})
}

// listed is one part of a list in an advice: " TPOT p95: {tpot_outliers};".
var listed = regexp.MustCompile(`[^.;:]+: \{([^{}\s]*)\}[.;]`)

// withoutNone leaves out what is only about pods that stand out where none does, as long as the list keeps another
// part.
func (c *Catalog) withoutNone(advice string, readings map[string]incident.Reading) string {
	parts := listed.FindAllStringSubmatchIndex(advice, -1)
	left := len(parts)
	var out strings.Builder
	end, capital := 0, false
	for _, at := range parts {
		part := advice[at[0]:at[1]]
		out.WriteString(advice[end:at[0]])
		end = at[1]
		if c.noneApart(advice[at[2]:at[3]], readings) && left > 1 {
			left--
			text := strings.TrimRight(out.String(), " ")
			if strings.HasSuffix(part, ".") && strings.HasSuffix(text, ";") { // it was the last one
				out.Reset()
				out.WriteString(strings.TrimSuffix(text, ";") + ".")
			}
			capital = capital || strings.HasSuffix(text, ".") || text == ""
			continue
		}
		if capital {
			body := strings.TrimLeft(part, " ")
			part = part[:len(part)-len(body)] + strings.ToUpper(body[:1]) + body[1:]
			capital = false
		}
		out.WriteString(part)
	}
	return out.String() + advice[end:]
}
