package present

import (
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// DecisiveReading is one reading that decided a diagnosis, in words: "TTFT p95", "900 ms", "target 500 ms".
type DecisiveReading struct {
	// Signal is empty for a condition of an older version.
	Signal, Subject, Seen string
	// Expected is what people compare it with: MainExpected. It may be empty.
	Expected string
	// Bad says that the value is beyond a limit or a target; others rule something out.
	Bad bool
}

// Decisive are the readings by which the diagnosis was found, each once: the conditions that hold, those with bad
// values first. Empty without a diagnosis.
func Decisive(inc incident.Incident) []DecisiveReading {
	if inc.Diagnosis == nil {
		return nil
	}
	var out []DecisiveReading
	for _, c := range inc.Diagnosis.Evidence {
		subject := Subject(inc, c)
		if c.Truth != incident.True ||
			slices.ContainsFunc(out, func(r DecisiveReading) bool { return r.Subject == subject }) {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(inc.Diagnosis.Evidence), func(o incident.Condition) bool {
			return o.Truth != incident.True || Subject(inc, o) != subject
		})
		r := Compared(inc, c)
		one := DecisiveReading{
			Signal: c.Signal, Subject: subject, Seen: c.Seen,
			Bad:      slices.ContainsFunc(same, func(o incident.Condition) bool { return Bad(o, r.Direction) }),
			Expected: MainExpected(same, r),
		}
		if _, known := inc.Readings[c.Signal]; known && one.Seen == "" {
			one.Seen = r.Text()
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b DecisiveReading) int {
		switch {
		case a.Bad == b.Bad:
			return 0
		case a.Bad:
			return -1
		}
		return 1
	})
	return out
}
