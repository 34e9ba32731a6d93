package present

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Doubt is one other cause that the evidence does not tell from the diagnosis: "Could also be warming up", and what
// decides: "Prefix hit rate 74%, close to 68%". The text is empty where nothing is known of that.
func Doubt(inc incident.Incident, d incident.Doubt) (cause, text string) {
	cause = "Could also be " + incident.CauseWords(d.Name)
	var parts []string
	for _, c := range d.Conditions {
		subject := Subject(inc, c)
		switch d.Kind {
		case incident.DoubtNear:
			parts = append(parts, subject+" "+Line(c.Seen)+", close to "+Line(c.Threshold))
		case incident.DoubtMissing:
			parts = append(parts, subject)
		case incident.DoubtBoth:
			limit := Expected(c, Compared(inc, c))
			parts = append(parts, strings.TrimSuffix(subject+" "+Line(c.Seen)+", "+limit, ", "))
		}
	}
	const most = 2
	parts = Capped(parts, most)
	switch {
	case d.Kind == incident.DoubtBoth:
		return Capital(incident.CauseWords(d.Name)) + " is also true", strings.Join(parts, "; ")
	case d.Kind == incident.DoubtMissing && len(parts) > 0:
		return cause, "no data for " + strings.Join(parts, ", ")
	}
	return cause, strings.Join(parts, "; ")
}

// Doubted says whether a diagnosis is one that it may be instead, which says more than a list of names does.
func Doubted(inc incident.Incident, name string) bool {
	return inc.Diagnosis != nil &&
		slices.ContainsFunc(inc.Diagnosis.Doubts, func(d incident.Doubt) bool {
			return d.Name == name && d.Kind != incident.DoubtBoth
		})
}
