package main

import (
	"fmt"
	"io"
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

// alertsText is the first alert and how many others there are.
func alertsText(i incident.Incident) string {
	names := i.AlertNames()
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
}
