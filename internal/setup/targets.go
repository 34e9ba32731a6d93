package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Profile is a profile of targets, and how a pool did against it in the last day.
type Profile struct {
	incident.SLO

	// Targets are what was measured against each of its targets; those without data are undecided.
	Targets []incident.Condition
}

// usual is the profile that a pool has without a setting.
const usual = "chat"

// profileOf guesses the targets: the usual ones, and where the last day missed them the strictest that it met.
func profileOf(all []Profile, unread string) Guess[string] {
	slices.SortFunc(all, func(a, b Profile) int {
		switch {
		case a.TTFT < b.TTFT:
			return -1
		case a.TTFT > b.TTFT:
			return 1
		}
		return 0
	})
	from := slices.IndexFunc(all, func(p Profile) bool { return p.Profile == usual })
	if unread != "" || from < 0 {
		return Guess[string]{Value: usual, Sure: true, Why: "The default; how the last day was is not known: " + unread + "."}
	}
	seen := measured(all[from].Targets)
	if seen == "" {
		return Guess[string]{Value: usual, Sure: true, Why: "The default; there was no traffic in the last day."}
	}
	for _, p := range all[from:] {
		if !met(p.Targets) {
			continue
		}
		why := "The default, and the last day met it: " + seen + "."
		question := ""
		if p.Profile != usual {
			why = fmt.Sprintf("The strictest of the usual profiles that the last day met: %s.", seen)
			question = "Is this what its users need, or was it slow?"
		}
		return Guess[string]{Value: p.Profile, Sure: true, Why: why, Question: question}
	}
	return Guess[string]{
		Value: usual, Sure: true, Why: "The default; the last day met no profile: " + seen + ".",
		Question: "What do its users need? Custom targets are possible, too: {profile: batch, ttft: 10s}.",
	}
}

// met says that no target was missed.
func met(targets []incident.Condition) bool {
	return !slices.ContainsFunc(targets, func(c incident.Condition) bool { return c.Truth == incident.False })
}

// measured is "TTFT p95 320 ms, TPOT p95 31 ms": what has data.
func measured(targets []incident.Condition) string {
	var out []string
	for _, c := range targets {
		if c.Truth != incident.Undecided {
			out = append(out, c.Label+" "+c.Seen)
		}
	}
	return strings.Join(out, ", ")
}
