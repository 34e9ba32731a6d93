package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// printTable prints one line for each incident, with the words of its page for where it is.
func printTable(w io.Writer, list []incident.Incident, now time.Time) {
	t := table{
		rows:  [][]string{{"ID", "POOL", "STATE", "SEVERITY", "AGE", "DIAGNOSIS", "ALERTS"}},
		tones: []tone{uncolored}, clip: []int{6, 5, 2}, own: 1,
	}
	for _, i := range list {
		state := present.State(i)
		switch {
		case i.Drill != nil:
			state += " (DRILL)"
		case i.DryRun:
			state += " (dry run)"
		}
		t.rows = append(t.rows, []string{
			cell(i.ID), cell(i.Pool), cell(state), cell(i.Severity()),
			cell(incident.FormatDuration(max(0, now.Sub(i.OpenedAt).Truncate(time.Second)))),
			cell(present.CauseOf(i).Name), cell(alertsText(i)),
		})
		t.tones = append(t.tones, toneOf(present.LevelOf(i)))
	}
	t.print(w)
}

// alertsText is the first alert that fires and how many others do; where none does any more, those that did.
func alertsText(i incident.Incident) string {
	names, text := present.Leading(i), ""
	switch len(names) {
	case 0:
		return ""
	case 1:
		text = names[0]
	default:
		text = fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	if i.FiringCount() == 0 {
		text += resolvedMark
	}
	return text
}

// resolvedMark follows an alert that doesn't fire any more.
const resolvedMark = " (resolved)"

// alertTexts are all alerts, those that fire first, each with whether it does.
func alertTexts(i incident.Incident) []string {
	firing, out := i.FiringNames(), i.AlertNames()
	for n, name := range out {
		if slices.Contains(firing, name) {
			out[n] += " (firing)"
		} else {
			out[n] += resolvedMark
		}
	}
	return out
}
