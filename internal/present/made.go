package present

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Made says what became of a change: "Scale 2 to 3: approved by ada, applied 03:12 UTC, live after 2 min, improved;
// rolled back 03:30 UTC by bob". inc is the incident that it was made in.
func Made(inc incident.Incident, m incident.Made) []Span {
	out := []Span{{Text: m.Title + MadeFor(inc, m) + ": "}}
	for n, by := range m.By {
		sep := ", "
		if n == 0 {
			sep = "approved by "
		}
		out = append(out, Span{Text: sep}, Span{Person: by})
	}
	var parts []string
	if took := m.DecidedAt.Sub(m.AskedAt); !m.AskedAt.IsZero() && took > 0 {
		parts = append(parts, "after "+incident.FormatDuration(took))
	}
	switch {
	case m.DryRun:
		parts = append(parts, "dry run, nothing was written")
	case m.Unsure:
		parts = append(parts, "it is unknown whether the write took effect")
	case !m.AppliedAt.IsZero():
		parts = append(parts, "applied "+clock(m.AppliedAt))
	}
	if took := m.LiveAt.Sub(m.AppliedAt); !m.LiveAt.IsZero() && took > 0 {
		parts = append(parts, "live after "+incident.FormatDuration(took))
	}
	if m.Verdict != "" && !m.DryRun {
		parts = append(parts, strings.ToLower(Verdict(m.Verdict)))
	}
	if m.State == incident.StepReverted {
		parts = append(parts, "reverted by someone else")
	}
	text := strings.Join(parts, ", ")
	switch {
	case len(m.By) == 0 || text == "":
	case strings.HasPrefix(text, "after "):
		text = " " + text
	default:
		text = ", " + text
	}
	out = append(out, Span{Text: text})
	if m.UndoneAt.IsZero() {
		return out
	}
	if m.Lifted() {
		return append(out, Span{Text: "; reverted as planned " + clock(m.UndoneAt)})
	}
	out = append(out, Span{Text: "; rolled back " + clock(m.UndoneAt)})
	if m.UndoneBy != nil {
		out = append(out, Span{Text: " by "}, Span{Person: *m.UndoneBy})
	}
	return out
}
