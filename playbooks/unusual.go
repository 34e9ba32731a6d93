package playbooks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The thresholds of the published detector ("vLLM v1 Performance Profiling", MetricAnomalyDetector): three standard
// deviations; a correlation of 0.8 over the last twenty points.
const (
	unusualScore       = 3.0
	strongCorrelation  = 0.8
	correlationPoints  = 20
	mostChanges        = 3
	mostDepartures     = 3
	changesBack        = 2 * time.Hour
	yesterdayDeparture = 2.0 // times yesterday's value; our starting value
	// A value that hardly varies is many standard deviations away with the slightest change. A tenth of its mean is our
	// starting value, and beyond a hundred the number says nothing more.
	leastDeparture = 0.1
	mostDeviations = 100
	justBeyond     = 1 + 1e-9
)

// unusual are what a person wants to know beside the cause: departures from the pool's own past, signals that move
// together, and what changed lately. None of it chooses a cause: an unusual value is not a wrong one, and what happened
// before is not what it came from.
func (c *Catalog) unusual(ev incident.Evidence) []string {
	return slices.Concat(
		versionsServed(ev), rolesServed(ev), unscheduled(ev), loadGone(ev), recentChanges(ev), c.departures(ev),
		c.together(ev))
}

// loadGone says that the load has fallen, so that what the window shows may be over already.
func loadGone(ev incident.Evidence) []string {
	r := ev.Readings[incident.SignalLoadNow]
	if !r.HasValue() || *r.Value >= incident.LastingLoad {
		return nil
	}
	return []string{fmt.Sprintf(
		"Only %s of the last minutes' average is running or queued now: what the readings show may be over.", r.Text())}
}

// departures are the signals that are furthest from their own past.
func (c *Catalog) departures(ev incident.Evidence) []string {
	type departure struct {
		score float64
		text  string
	}
	var found []departure
	for _, s := range c.signals {
		r := ev.Readings[s.Name]
		b := r.Baseline
		if b == nil || b.Score == nil || !r.HasValue() || math.Abs(*b.Score) < unusualScore ||
			math.Abs(*r.Value-b.Mean) < leastDeparture*math.Abs(b.Mean) {
			continue
		}
		side := "above"
		if *b.Score < 0 {
			side = "below"
		}
		by := fmt.Sprintf("%.1f", math.Abs(*b.Score))
		if math.Abs(*b.Score) > mostDeviations {
			by = fmt.Sprintf("more than %d", mostDeviations)
		}
		text := fmt.Sprintf("%s %s is %s standard deviations %s the hour before (%s on average)",
			s.Label(), r.Text(), by, side, incident.FormatValue(b.Mean, r.Unit))
		if y := b.Yesterday; y != nil {
			text += "; at this hour yesterday it was " + incident.FormatValue(*y, r.Unit)
			if *y > 0 && *r.Value < yesterdayDeparture**y && *r.Value > *y/yesterdayDeparture {
				text += ", much the same"
			}
		}
		found = append(found, departure{math.Abs(*b.Score), text + "."})
	}
	slices.SortStableFunc(found, func(a, b departure) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, d := range found[:min(len(found), mostDepartures)] {
		out = append(out, d.text)
	}
	return out
}

// pairs are the signals of which it tells something that they move together. The first of the published detector, the
// others after the rows of the runbook.
func pairs() [][2]string {
	return [][2]string{
		{incident.SignalKVUsage, incident.SignalTTFT},
		{incident.SignalWaiting, incident.SignalTTFT},
		{incident.SignalPreemptions, incident.SignalTPOT},
		{incident.SignalPromptTokens, incident.SignalTPOT},
		{incident.SignalPromptLength, incident.SignalTTFT},
	}
}

func (c *Catalog) together(ev incident.Evidence) []string {
	var out []string
	for _, p := range pairs() {
		a, b := ev.Readings[p[0]], ev.Readings[p[1]]
		if r, n, ok := correlation(a.Series, b.Series); ok && r > strongCorrelation {
			span := a.Series[len(a.Series)-1].At.Sub(a.Series[0].At).Round(time.Minute)
			out = append(out, fmt.Sprintf("%s and %s are correlated (r = %.2f, %d points in %s).",
				a.Label(), lowerFirst(b.Label()), r, n, incident.FormatDuration(span)))
		}
	}
	return out
}

// lowerFirst is for a title inside a sentence; what begins with two capitals ("KV cache", "GPU") stays.
func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// correlation is Pearson's coefficient over the times that both have. ok is false with too few points, or when one of
// them does not move.
func correlation(a, b []incident.Point) (r float64, n int, ok bool) {
	at := make(map[int64]float64, len(b))
	for _, p := range b {
		at[p.At.UnixMilli()] = p.Value
	}
	var xs, ys []float64
	for _, p := range a {
		if y, both := at[p.At.UnixMilli()]; both {
			xs, ys = append(xs, p.Value), append(ys, y)
		}
	}
	if n = len(xs); n < correlationPoints {
		return 0, n, false
	}
	mx, my := mean(xs), mean(ys)
	var sxy, sxx, syy float64
	for i := range xs {
		dx, dy := xs[i]-mx, ys[i]-my
		sxy, sxx, syy = sxy+dx*dy, sxx+dx*dx, syy+dy*dy
	}
	if !(sxx > 0) || !(syy > 0) {
		return 0, n, false
	}
	return sxy / math.Sqrt(sxx*syy), n, true
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// recentChanges are the newest changes around the pool, with how long ago they were. What the bot did itself is in its
// journal and nothing unusual.
func recentChanges(ev incident.Evidence) []string {
	var out []string
	for _, ch := range ev.Cluster.Changes {
		ago := ev.At.Sub(ch.At)
		if ch.Own || ago < 0 || ago > changesBack || len(out) == mostChanges {
			continue
		}
		out = append(out, fmt.Sprintf("%s (%s earlier): %s: %s",
			ch.At.UTC().Format("15:04 UTC"), incident.FormatDuration(ago), ch.Object, sentence(ch.Text)))
	}
	return out
}

// deadNotes say which alerts can never fire for this pool, and of which that is not known.
func deadNotes(ev incident.Evidence) []string {
	var out []string
	for _, d := range ev.DeadAlerts {
		out = append(out,
			fmt.Sprintf("The rule of %s can never fire for this pool: it uses %s, which its vLLM does not export.",
				d.Alert, strings.Join(d.Missing, ", ")))
	}
	const most = 3
	for n, u := range ev.Unexamined {
		if more := len(ev.Unexamined) - most; n == most {
			return append(out, fmt.Sprintf("The rules of %d more alerts were not checked.", more))
		}
		out = append(out,
			fmt.Sprintf("The rule of %s was not checked against this pool: its expression is %s.", u.Alert, u.Why))
	}
	return out
}

// furthest names the signals that are furthest past their target or limit, and those closest to it, for an incident
// without a known cause.
func (c *Catalog) furthest(readings map[string]incident.Reading) []string {
	type distance struct {
		times float64
		text  string
	}
	const most = 3
	var found []distance
	for _, s := range c.signals {
		r := readings[s.Name]
		if !r.HasValue() || r.Threshold == nil || r.Direction == incident.Neutral {
			continue
		}
		times := *r.Value / *r.Threshold
		if *r.Threshold == 0 && *r.Value > 0 {
			// Anything is infinitely far past a limit of zero, which says nothing: it comes after what is far by a number.
			times = justBeyond
		}
		if r.Direction == incident.LowerIsWorse {
			times = *r.Threshold / *r.Value
		}
		if !(times > 0) {
			continue
		}
		text := fmt.Sprintf("%s %s (%s)", lowerFirst(s.Label()), r.Text(), incident.FormatValue(*r.Threshold, r.Unit))
		found = append(found, distance{times, text})
	}
	slices.SortStableFunc(found, func(a, b distance) int { return cmp.Compare(b.times, a.times) })
	found = found[:min(len(found), most)]
	beyond := countOf(found, func(d distance) bool { return d.times > 1 })
	var out []string
	for _, group := range []struct {
		title string
		list  []distance
	}{
		{"Furthest past target or limit: ", found[:beyond]},
		{"Closest to target or limit: ", found[beyond:]},
	} {
		var texts []string
		for _, d := range group.list {
			texts = append(texts, d.text)
		}
		if len(texts) > 0 {
			out = append(out, group.title+strings.Join(texts, "; ")+".")
		}
	}
	return out
}
