package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printEvidence shows the readings: those that are beyond a limit or a target, or all of them.
func printEvidence(w io.Writer, inc incident.Incident, all bool) {
	if len(inc.Readings) == 0 {
		return
	}
	if all {
		say(w, "\n  readings%s\n", dialect(inc))
		printReadings(w, inc.Readings)
		return
	}
	bad, failed := map[string]incident.Reading{}, map[string]incident.Reading{}
	within, without := 0, 0
	for name, r := range inc.Readings {
		switch {
		case r.Error != "":
			failed[name] = r
		case present.Beyond(r):
			bad[name] = r
		case r.HasValue():
			within++
		case !r.Optional:
			without++
		}
	}
	if len(bad) > 0 {
		say(w, "\n  readings beyond a target or a limit%s\n", dialect(inc))
		printReadings(w, bad)
	}
	if len(failed) > 0 {
		why := cmp.Or(sharedError(failed), failed[slices.Sorted(maps.Keys(failed))[0]].Error)
		say(w, "\n    %s could not be read: %s\n", present.Counted(len(failed), "reading"), cell(why))
	}
	var rest []string
	if within > 0 {
		rest = append(rest, present.Counted(within, "more reading"))
	}
	if without > 0 {
		rest = append(rest, fmt.Sprintf("%d without data", without))
	}
	if len(rest) > 0 {
		if len(bad)+len(failed) == 0 {
			say(w, "\n")
		}
		tintLine(w, faint, "    ("+strings.Join(rest, ", ")+"; --all lists them)")
	}
}

func dialect(inc incident.Incident) string {
	if inc.Dialect == "" {
		return ""
	}
	return " in " + inc.Dialect
}

// sharedError is the error that most readings have, when it is more than one: with Prometheus down it is said once, not
// for each of them.
func sharedError(rs map[string]incident.Reading) string {
	seen, best := map[string]int{}, ""
	for _, name := range slices.Sorted(maps.Keys(rs)) {
		err := rs[name].Error
		if seen[err]++; err != "" && seen[err] > max(1, seen[best]) {
			best = err
		}
	}
	return best
}

func printReadings(w io.Writer, rs map[string]incident.Reading) {
	shared := sharedError(rs)
	var same, unused []string
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	labels := make(map[string]string, len(rs))
	for name, r := range rs {
		labels[name] = cmp.Or(r.Short, r.Title, name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(rs), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(labels[a]), strings.ToLower(labels[b])), cmp.Compare(a, b))
	}) {
		r, label := rs[name], labels[name]
		if shared != "" && r.Error == shared {
			same = append(same, label)
			continue
		}
		if r.Optional && r.Value == nil && r.Error == "" {
			unused = append(unused, label)
			continue
		}
		say(tw, "    %s\t%s\t%s\t%s\n", cell(label), cell(r.Text()), present.Limit(r),
			strings.Join(nonEmpty(present.WorstPod(r), present.Usually(r)), "; "))
	}
	_ = tw.Flush() // a strings.Builder takes everything
	for l := range strings.Lines(table.String()) {
		say(w, "%s\n", strings.TrimRight(l, " \n"))
	}
	if len(same) > 0 {
		say(w, "    %d could not be read: %s\n      %s\n", len(same), shared, strings.Join(same, ", "))
	}
	if len(unused) > 0 {
		say(w, "    no data (feature not in use): %s\n", strings.Join(unused, ", "))
	}
}
