package playbooks

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// The words that stand for ranges in a query: of every rate, and of what must be so still.
const (
	windowToken = "$window"
	recentToken = "$recent"
)

// longestRecent is the range of what must be so still; in a window of less than five minutes, two fifths of it. Two
// minutes hold at least two samples of a scrape each minute, and are over soon after a burst.
const longestRecent = 2 * time.Minute

func newest(window time.Duration) time.Duration { return min(longestRecent, 2*window/5) }

// ranges are what the words stand for.
func (l *loader) ranges() map[string]string {
	return map[string]string{windowToken: l.window, recentToken: l.recent}
}

// maxShort is what a legend of Slack's charts takes.
const maxShort = 20

func units() []incident.Unit {
	return []incident.Unit{
		incident.UnitSeconds, incident.UnitRatio, incident.UnitCount, incident.UnitPerSecond, incident.UnitTokens,
		incident.UnitBytes,
	}
}

func directions() []incident.Direction {
	return []incident.Direction{incident.HigherIsWorse, incident.LowerIsWorse, incident.Neutral}
}

func (l *loader) readSignals() {
	for _, doc := range l.docs {
		for i, s := range doc.Signals {
			l.signal(doc.at.Key("signals").Item(i), s)
		}
	}
}

func (l *loader) signal(at strictyaml.Value, s signalDoc) {
	l.need(at, "name", s.Name)
	l.need(at, "title", s.Title)
	l.need(at, "source", s.Source)
	if s.Name != "" {
		l.signalName(at.Key("name"), s.Name)
	}
	if n := utf8.RuneCountInString(s.Short); n > maxShort {
		l.add(at.Key("short").Problem("short: %d characters, and a chart shows at most %d", n, maxShort))
	}
	out := incident.Signal{
		Name: s.Name, Title: s.Title, Short: s.Short, Baseline: s.Baseline, Optional: s.Optional,
		Product:   l.repeated(at, "product", s.Product),
		Unit:      oneOf(l, at, "unit", incident.Unit(s.Unit), units()),
		Direction: oneOf(l, at, "direction", incident.Direction(s.Direction), directions()),
		Floor:     l.edge(at, "floor", s.Floor),
		Ceiling:   l.edge(at, "ceiling", s.Ceiling),
	}
	l.origin(at, s, &out)
	if out.Floor > 0 && out.Ceiling > 0 && out.Ceiling <= out.Floor {
		l.add(at.Key("ceiling").Problem("the ceiling %g is not above the floor %g", out.Ceiling, out.Floor))
	}
	if s.Target != "" {
		l.target(at, s)
	}
	if s.Name == "" || !l.claim(at.Key("name"), "signal", s.Name) {
		return
	}
	l.catalog.signals = append(l.catalog.signals, out)
	l.catalog.byName[s.Name] = out
	if s.Target != "" {
		l.catalog.targets[s.Name] = s.Target
	}
}

// origin reads where the values of a signal come from: exactly one of nine.
func (l *loader) origin(at strictyaml.Value, s signalDoc, out *incident.Signal) {
	given := 0
	for _, is := range []bool{
		s.Query != "", s.Fact != "", s.Ratio != nil, s.Outliers != nil, s.Others != "", s.Versions != nil,
		s.Role != nil, s.LastOfRole != nil, s.Past != "",
	} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		l.add(at.Problem("a signal is one of query, fact, ratio, outliers, others, versions, role, last_of_role and past"))
	case s.Fact != "":
		l.fact(at, s)
	case s.Ratio != nil:
		l.ratio(at, s)
	case s.Outliers != nil:
		l.outliers(at, s)
	case s.Others != "":
		l.others(at, s)
	case s.Versions != nil:
		l.versions(at, s)
	case s.Role != nil:
		l.role(at, s)
	case s.LastOfRole != nil:
		l.lastOfRole(at, s)
	case s.Past != "":
		l.past(at, s, out)
	default:
		out.Query = l.query(at, "query", s.Query, s.Product)
		if s.Pods != "" {
			out.Pods = l.pods(at, s.Pods)
			l.catalog.picks[s.Name] = picksOne(out.Query)
		}
		return
	}
	for field, set := range map[string]bool{
		"pods": s.Pods != "", "baseline": s.Baseline, "product": s.Product != nil,
		"floor": s.Floor != nil, "ceiling": s.Ceiling != nil,
	} {
		if set {
			l.add(at.Key(field).Problem("%s belongs to a query, and this signal has none", field))
		}
	}
}

// signalName keeps names that a rule could not use, or could misread, out of the catalog.
func (l *loader) signalName(at strictyaml.Value, name string) {
	if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) {
		l.add(at.Problem("the name %q must be lower-case letters, digits and _, and begin with a letter", name))
		return
	}
	if slices.Contains(reservedNames(), name) {
		l.add(at.Problem("the name %q has a meaning in rules already", name))
	}
}

func (l *loader) target(at strictyaml.Value, s signalDoc) {
	at = at.Key("target")
	if !slices.Contains(targetNames(), s.Target) {
		l.add(at.Problem("target: %s", strictyaml.NotOneOf(s.Target, targetNames())))
		return
	}
	if incident.Unit(s.Unit) != incident.UnitSeconds {
		l.add(at.Problem("target: slo.%s is in seconds and the signal is in %s", s.Target, s.Unit))
	}
}

func oneOf[T ~string](l *loader, at strictyaml.Value, field string, value T, allowed []T) T {
	if value == "" {
		l.need(at, field, "")
		return value
	}
	if !slices.Contains(allowed, value) {
		l.add(at.Key(field).Problem("%s: %s", field, strictyaml.NotOneOf(value, allowed)))
	}
	return value
}

// edge is the end of a histogram. Nothing means that there is none.
func (l *loader) edge(at strictyaml.Value, field string, v *float64) float64 {
	if v == nil {
		return 0
	}
	if !(*v > 0) || math.IsInf(*v, 0) {
		l.add(at.Key(field).Problem("%s: %g is not a number above 0; leave it out when there is none", field, *v))
		return 0
	}
	return *v
}

// query puts the window in and checks that the query is PromQL that gives at most one series, whatever the pool; or,
// with labels, one series for each value of these labels.
func (l *loader) query(at strictyaml.Value, field, text string, labels []string) string {
	l.need(at, field, text)
	if text == "" {
		return ""
	}
	at = at.Key(field)
	query := l.withRanges(text)
	expr, err := promql.Parse(query, parser.Options{})
	var many parser.ParseErrors
	switch {
	case errors.As(err, &many):
		for _, e := range many {
			l.add(at.ProblemInside(l.unwind(text, int(e.PositionRange.Start)), "the query is not PromQL: %s", e.Err))
		}
	case err != nil:
		l.add(at.Problem("the query is %s", err))
	case expr.Type() != parser.ValueTypeVector:
		l.add(at.Problem("the query gives a %s; it must give a series", expr.Type()))
	case len(labels) > 0 && !groupedBy(expr, labels):
		l.add(at.ProblemInside(l.unwind(text, int(expr.PositionRange().Start)),
			"the query must be grouped by %s and nothing else", strings.Join(labels, ", ")))
	case len(labels) == 0 && !oneSeries(expr):
		start := l.unwind(text, int(expr.PositionRange().Start))
		l.add(at.ProblemInside(start,
			"the query can give more than one series; put sum(...), max(...) or avg(...) around it"))
	}
	return strings.TrimSpace(query)
}

// unwind turns a byte offset in the query with the window put in into the offset in characters in the text as it is
// written.
func (l *loader) unwind(text string, offset int) int {
	written, read := 0, 0
	for written < len(text) && read < offset {
		wide, long := 1, 1
		for word, stands := range l.ranges() {
			if strings.HasPrefix(text[written:], word) {
				wide, long = len(word), len(stands)
			}
		}
		written += wide
		read += long
	}
	return utf8.RuneCountInString(text[:written])
}

// withRanges puts the window and its newest part into a query.
func (l *loader) withRanges(text string) string {
	for word, stands := range l.ranges() {
		text = strings.ReplaceAll(text, word, stands)
	}
	return text
}

// pods reads the breakdown of a signal: by pod, or by the data-parallel ranks of each pod.
func (l *loader) pods(at strictyaml.Value, text string) string {
	by := []string{"pod"}
	expr, err := promql.Parse(l.withRanges(text), parser.Options{})
	if ranks := append(by, "engine"); err == nil && groupedBy(expr, ranks) {
		by = ranks
	}
	return l.query(at, "pods", text, by)
}
