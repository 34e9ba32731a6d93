package web

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// evidenceFuncs are what the page of an incident says about its evidence.
func evidenceFuncs() template.FuncMap {
	return template.FuncMap{
		"usually": usually, "strange": strange, "breakdowns": breakdowns, "before": before, "failed": failed, "beyond": beyond, "unused": unused, "unusedOnes": unusedOnes, "away": away, "unread": present.Unread,
		"considered": considered,
		"lines":      func(all []string) string { return strings.Join(all, "\n") },
		"rest":       func(n int, all []podRow) []podRow { return all[min(n, len(all)):] },
		"first":      func(n int, all []podRow) []podRow { return all[:min(n, len(all))] },
	}
}

// consideredRow is one row of what was weighed and not chosen.
type consideredRow struct{ Name, Verdict, Why string }

// considered are the other diagnoses. Those for which nobody looked share a row.
func considered(others []incident.Other) []consideredRow {
	rest, unlooked := incident.NotLookedAt(others)
	var out []consideredRow
	for _, o := range rest {
		out = append(out, consideredRow{o.Name, string(o.Verdict), o.Why})
	}
	for _, u := range unlooked {
		out = append(out, consideredRow{strings.Join(u.Names, ", "), "not looked at", u.Why})
	}
	return out
}

// strangeScore is where the catalog, too, begins to call a signal unusual.
const strangeScore = 3

func strange(r incident.Reading) bool {
	return r.HasValue() && r.Baseline != nil && r.Baseline.Score != nil && math.Abs(*r.Baseline.Score) >= strangeScore
}

// usually compares a reading with its own past: "usually 400 ms; 6.1 sigma above; 380 ms at this hour yesterday".
func usually(r incident.Reading) string {
	b := r.Baseline
	if b == nil || !r.HasValue() {
		return ""
	}
	text := "usually " + incident.FormatValue(b.Mean, r.Unit)
	switch {
	case b.Score == nil:
	case *b.Score < 0:
		text += "; " + sigmas(-*b.Score) + " below"
	default:
		text += "; " + sigmas(*b.Score) + " above"
	}
	if b.Yesterday != nil {
		text += "; " + incident.FormatValue(*b.Yesterday, r.Unit) + " at this hour yesterday"
	}
	return text
}

// sigmas does not count further than the number says something.
func sigmas(score float64) string {
	const most = 100
	if score > most {
		return fmt.Sprintf("more than %d sigma", most)
	}
	return fmt.Sprintf("%.1f sigma", score)
}

// breakdown is a reading pod by pod, the worst first.
type breakdown struct {
	Title, Limit string
	// Worst names the first pod with its value when it stands out; Mark says how: "worst", or "highest" for a signal without a bad side.
	Worst, Mark string
	// Open shows it at once: it is part of the diagnosis or beyond its threshold.
	Open bool
	Rows []podRow
	rank int
}

// podRow is one pod's value, and its share of the largest one in percent, for the bar.
type podRow struct {
	Pod, Text, Mark string
	Share           int
}

// breakdowns are the readings that are known pod by pod, those of the diagnosis first.
func breakdowns(inc incident.Incident) []breakdown {
	var out []breakdown
	for _, name := range slices.Sorted(maps.Keys(inc.Readings)) {
		r := inc.Readings[name]
		if len(r.Pods) == 0 {
			continue
		}
		b := breakdown{Title: cmp.Or(r.Title, name), Limit: limit(r), Rows: podRows(r), rank: rankOf(inc, name)}
		b.Open = b.rank < ranksLast
		if b.Rows[0].Mark != "" {
			b.Mark, b.Worst = b.Rows[0].Mark, b.Rows[0].Mark+" "+b.Rows[0].Pod+" "+b.Rows[0].Text
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b breakdown) int { return cmp.Compare(a.rank, b.rank) })
	return out
}

// ranksLast is the rank of a reading that says nothing about the trouble.
const ranksLast = math.MaxInt

// rankOf orders the breakdowns: first the readings of the diagnosis in its order, then those beyond their thresholds.
func rankOf(inc incident.Incident, name string) int {
	if inc.Diagnosis != nil {
		if at := slices.IndexFunc(inc.Diagnosis.Evidence, func(c incident.Condition) bool { return c.Signal == name }); at >= 0 {
			return at
		}
	}
	if beyond(inc.Readings[name]) {
		return ranksLast - 1
	}
	return ranksLast
}

func podRows(r incident.Reading) []podRow {
	pods := slices.Clone(r.Pods)
	bad := func(a, b incident.PodValue) int { return cmp.Compare(b.Value, a.Value) }
	mark := "worst"
	switch r.Direction {
	case incident.LowerIsWorse:
		bad = func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }
	case incident.Neutral:
		mark = "highest"
	case incident.HigherIsWorse:
	}
	slices.SortStableFunc(pods, bad)
	full := slices.MaxFunc(pods, func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }).Value
	if r.Unit == incident.UnitRatio {
		full = max(full, 1)
	}
	rows := make([]podRow, 0, len(pods))
	for _, p := range pods {
		rows = append(rows, podRow{Pod: p.Pod, Text: incident.FormatValue(p.Value, r.Unit), Share: share(p.Value, full)})
	}
	// Where all are the same, none is the worst.
	if pods[0].Value != pods[len(pods)-1].Value {
		rows[0].Mark = mark
	}
	return rows
}

// share is v in percent of full, and 0 for what has no length.
func share(v, full float64) int {
	part := 100 * v / full
	if !(part > 0) || math.IsInf(part, 0) {
		return 0
	}
	return int(math.Round(min(part, 100)))
}

// beyond says that a reading is on the bad side of its threshold.
func beyond(r incident.Reading) bool {
	if !r.HasValue() || r.Threshold == nil {
		return false
	}
	switch r.Direction {
	case incident.HigherIsWorse:
		return *r.Value > *r.Threshold
	case incident.LowerIsWorse:
		return *r.Value < *r.Threshold
	case incident.Neutral:
	}
	return false
}

// unused says that a reading without data tells nothing: the pool does not use what it measures.
func unused(r incident.Reading) bool { return r.Optional && r.Value == nil && r.Error == "" }

// unusedOnes names them.
func unusedOnes(readings map[string]incident.Reading) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(readings)) {
		if r := readings[name]; unused(r) {
			out = append(out, cmp.Or(r.Title, name))
		}
	}
	return strings.Join(out, ", ")
}

// limit is the threshold of a reading as a person reads it; empty when there is none.
func limit(r incident.Reading) string {
	if r.Threshold == nil {
		return ""
	}
	return incident.FormatValue(*r.Threshold, r.Unit)
}

// before says how long before the reading something was; empty when that is not known.
func before(at, read time.Time) string {
	if at.IsZero() || read.IsZero() || at.After(read) {
		return ""
	}
	return incident.FormatDuration(read.Sub(at)) + " before the reading"
}

// failed says that the end of a container was no success.
func failed(c incident.Crash) bool { return c.ExitCode != 0 || c.Reason == "OOMKilled" }

// away says why the cluster could not be asked; a cluster that nobody configured is no trouble.
func away(c incident.Cluster) string {
	if c.NotConfigured {
		return ""
	}
	return c.Error
}
