package playbooks

import (
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// maxHeadline is how long a headline may be as it is written: with a pool's name and its values it still is one line of
// a message.
const maxHeadline = 120

// found is what a headline can be made of.
type found struct {
	catalog  *Catalog
	evidence incident.Evidence
	readings map[string]incident.Reading
	affected []incident.AffectedPod
	compare  []compared
}

// headlineWords are what a headline can name beside signals. Each is empty where it is not known.
func headlineWords() map[string]func(found) string {
	return map[string]func(found) string{
		"pods":     func(f found) string { return incident.PodWords(f.affected) },
		"are":      func(f found) string { return plural(len(f.affected), "is", "are") },
		"affected": func(f found) string { return counted(len(f.affected)) },
		"others":   found.othersText,
		"ready":    func(f found) string { return f.evidence.Cluster.ReadyText() },
		"felt":     found.feltText,
		"silence":  found.silenceText,
		"rules":    found.rulesText,
	}
}

// headlines reads the headline of a diagnosis: the first of its lines whose values are all known is taken.
func (l *loader) headlines(at strictyaml.Value, list []string) []string {
	out := l.repeated(at, "headline", list)
	words := slices.Sorted(maps.Keys(headlineWords()))
	for i, line := range list {
		entry := at.Key("headline").Item(i)
		if utf8.RuneCountInString(line) > maxHeadline || !printable(line) {
			l.add(entry.Problem("headline: a line is text of at most %d characters that can be seen", maxHeadline))
		}
		for _, name := range namedIn(line) {
			_, signal := l.catalog.byName[name]
			if !signal && !slices.Contains(words, name) && !l.anyBroken() {
				l.add(entry.Problem("%s", strictyaml.NotThere("signal", name, slices.Concat(words, l.catalog.SignalNames()))))
			}
		}
	}
	return out
}

// headline is the first line whose values are all known; empty where none is.
func (f found) headline(lines []string) string {
	for _, line := range lines {
		known := true
		text := placeholder().ReplaceAllStringFunc(line, func(m string) string {
			value := f.value(m[1 : len(m)-1])
			known = known && value != ""
			return value
		})
		if known {
			return text
		}
	}
	return ""
}

func (f found) value(name string) string {
	if word, ok := headlineWords()[name]; ok {
		return word(f)
	}
	if r := f.readings[name]; r.HasValue() {
		return r.Text()
	}
	return ""
}

func counted(n int) string {
	if n == 0 {
		return ""
	}
	return incident.FormatValue(float64(n), incident.UnitCount)
}

func plural(n int, one, more string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return one
	}
	return more
}

// othersText is "the other 7 are healthy"; a diagnosis that compares pods holds only where the others are.
func (f found) othersText() string {
	for _, q := range f.compare {
		name := q.of
		if p, apart := f.catalog.peers[name]; apart {
			name = p.apart[0].of
		}
		if _, others := sides(f.evidence, f.evidence.Readings[name].Pods, f.affected); len(others) > 0 {
			return plural(len(others), "the other one is", "the other "+counted(len(others))+" are")
		}
	}
	return ""
}

// feltText is the latency that users feel most directly and that misses its target: "TTFT p95 9.6 s".
func (f found) feltText() string {
	for _, name := range []string{incident.SignalTTFT, incident.SignalTPOT, incident.SignalE2E} {
		r := f.readings[name]
		if r.HasValue() && r.Threshold != nil && r.ThresholdFrom == incident.OriginSLO && *r.Value > *r.Threshold {
			return r.Label() + " " + r.Text()
		}
	}
	return ""
}

// silenceText is for how long requests have been without tokens at least, "6 min": since the window before the first
// reading of zero, and not since before there were requests. Empty where there are tokens, or the past is not known.
func (f found) silenceText() string {
	tokens, running := f.readings[incident.SignalGenerated], f.readings[incident.SignalRunning]
	none := func(v float64) bool { return v <= 0 }
	if !tokens.HasValue() || !none(*tokens.Value) {
		return ""
	}
	since := f.holdsSince(tokens, none)
	busy := f.holdsSince(running, func(v float64) bool { return v > 0 })
	if since.IsZero() || busy.IsZero() {
		return ""
	}
	if since = since.Add(-f.catalog.window); busy.After(since) {
		since = busy
	}
	lasts := f.evidence.At.Sub(since).Truncate(time.Minute)
	if lasts <= 0 {
		return ""
	}
	return incident.FormatDuration(lasts)
}

// holdsSince is the first point from which on a reading's past is so without a break; zero where there is none.
func (f found) holdsSince(r incident.Reading, so func(float64) bool) (since time.Time) {
	for _, p := range slices.Backward(r.Series) {
		if p.At.After(f.evidence.At) {
			continue
		}
		if !so(p.Value) { // NaN is no value
			break
		}
		since = p.At
	}
	return since
}

// rulesText names the alerts whose rules cannot see the pool.
func (f found) rulesText() string {
	var out []string
	for _, d := range f.evidence.DeadAlerts {
		if d.Alert != "" && !slices.Contains(out, d.Alert) {
			out = append(out, d.Alert)
		}
	}
	switch len(out) {
	case 0:
		return ""
	case 1:
		return "the rule of " + out[0]
	}
	return fmt.Sprintf("the rules of %s and %s", out[0], few(out[1:]))
}
