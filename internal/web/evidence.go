package web

import (
	"cmp"
	"html/template"
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
		"before": before, "failed": failed, "unread": present.Unread, "away": away,
		"lines":     func(all []string) string { return strings.Join(all, "\n") },
		"firstPods": first[podRow], "restPods": rest[podRow], "first": first[event], "rest": rest[event],
	}
}

// first and rest part a list, so that a long one is folded away.
func first[T any](n int, all []T) []T { return all[:min(n, len(all))] }

func rest[T any](n int, all []T) []T { return all[min(n, len(all)):] }

// conditionRow is one condition of the diagnosis' rule.
type conditionRow struct{ Subject, Seen, Expected, Truth string }

func conditions(inc incident.Incident) []conditionRow {
	out := make([]conditionRow, 0, len(inc.Diagnosis.Evidence))
	for _, c := range inc.Diagnosis.Evidence {
		out = append(out, conditionRow{
			Subject: present.Subject(inc, c), Seen: c.Seen,
			Expected: present.Expected(c, present.Compared(inc, c)), Truth: string(c.Truth),
		})
	}
	return out
}

// consideredRow is one row of what was weighed and not chosen.
type consideredRow struct{ Name, Verdict, Why string }

// doubtRow is another cause that the evidence does not tell from the diagnosis: which, what decides, and what it says.
type doubtRow struct{ Cause, Text, Summary string }

func doubts(inc incident.Incident) []doubtRow {
	var out []doubtRow
	for _, d := range inc.Diagnosis.Doubts {
		cause, text := present.Doubt(inc, d)
		out = append(out, doubtRow{cause, text, present.Cause(d.Summary)})
	}
	return out
}

// considered are the other diagnoses. Those for which nobody looked share a row.
func considered(others []incident.Other) []consideredRow {
	rest, notEvaluated := incident.SplitNotEvaluated(others)
	var out []consideredRow
	for _, o := range rest {
		out = append(out, consideredRow{incident.CauseWords(o.Name), string(o.Verdict), o.Why})
	}
	for _, u := range notEvaluated {
		out = append(out, consideredRow{incident.CauseWords(strings.Join(u.Names, ", ")), "not checked", u.Why})
	}
	return out
}

// strangeScore is where the catalog, too, begins to call a signal unusual.
const strangeScore = 3

func strange(r incident.Reading) bool {
	return r.HasValue() && r.Baseline != nil && r.Baseline.Score != nil && math.Abs(*r.Baseline.Score) >= strangeScore
}

// breakdown is a reading pod by pod, the worst first.
type breakdown struct {
	Title, Limit string
	// Worst names the first pod with its value when it stands out; Mark says how: "worst", or "highest" for a signal
	// without a bad side.
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
	for _, r := range titled(inc.Readings) {
		if len(r.Reading.Pods) == 0 {
			continue
		}
		b := breakdown{
			Title: r.Title, Limit: present.Limit(r.Reading), Rows: podRows(r.Reading), rank: rankOf(inc, r.Signal),
		}
		b.Open = b.rank < ranksLast
		if b.Rows[0].Mark != "" {
			b.Mark, b.Worst = b.Rows[0].Mark, present.WorstPod(r.Reading)
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
		if at := slices.IndexFunc(inc.Diagnosis.Evidence, func(c incident.Condition) bool {
			return c.Signal == name
		}); at >= 0 {
			return at
		}
	}
	if present.Beyond(inc.Readings[name]) {
		return ranksLast - 1
	}
	return ranksLast
}

func podRows(r incident.Reading) []podRow {
	pods, mark := present.Pods(r)
	full := slices.MaxFunc(pods, func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }).Value
	if r.Unit == incident.UnitRatio {
		full = max(full, 1)
	}
	rows := make([]podRow, 0, len(pods))
	for _, p := range pods {
		rows = append(rows, podRow{Pod: p.Name(), Text: incident.FormatValue(p.Value, r.Unit), Share: share(p.Value, full)})
	}
	rows[0].Mark = mark
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
