package truth

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// firesByTheIncident: what the headline and the notification say to fire does.
func firesByTheIncident(inc incident.Incident, v Version) (out []string) {
	names := inc.FiringNames()
	for _, said := range []string{v.headline(), v.Push} {
		m := firing.FindStringSubmatch(said)
		if m == nil || strings.HasPrefix(m[0], "Also ") {
			continue
		}
		if others, _ := strconv.Atoi(m[2]); !slices.Contains(names, m[1]) || others+1 != len(names) {
			out = append(out, fmt.Sprintf("%q, and those that fire are %v", m[0], names))
		}
	}
	return out
}

var needsHuman = regexp.MustCompile(`(?i)\bneeds a human`)

// colorByVerdict: green is an incident that was seen to be healthy and leaves nothing to do, or whose change was just
// reverted as planned.
func colorByVerdict(inc incident.Incident, v Version) []string {
	well, left := !inc.HealthySince.IsZero(), needsHuman.MatchString(v.Text)
	switch {
	case v.isGreen() && left:
		return []string{fmt.Sprintf("green, and the cause needs a human: %q", v.headline())}
	case v.isGreen() && !well && inc.State != incident.StateClosed && !strings.Contains(v.headline(), "as planned"):
		return []string{fmt.Sprintf("green, and never seen healthy: %q", v.headline())}
	case !v.isGreen() && well && !left && inc.State == incident.StateWatching &&
		!strings.Contains(v.headline(), "rejected"):
		return []string{fmt.Sprintf("healthy since %s, and not green: %q", inc.HealthySince, v.headline())}
	}
	return nil
}

// readingsAreOfNow: a number in the headline or in the notification of a question is the newest reading.
func readingsAreOfNow(inc incident.Incident, v Version) (out []string) {
	for _, said := range []string{v.headline(), v.Push} {
		m := subject.FindStringSubmatchIndex(said)
		if m == nil {
			continue
		}
		label, rest := said[m[2]:m[3]], strings.TrimSpace(said[m[3]:])
		known := false
		for _, r := range inc.Readings {
			known = known || r.Label() == label && strings.HasPrefix(rest, r.Text())
		}
		if !known {
			out = append(out, fmt.Sprintf("%q is no reading of now", said[m[2]:]))
		}
	}
	return out
}

var (
	compared = regexp.MustCompile(`(?m)(?:^|· +)([A-Z][^·\n]*?) ([\d.,]+ ?(?:ms|s|min|h|%|/s)?(?: \d+ (?:s|min))?) ` +
		`\((?:limit|target) [^)]*\)(?:$|  ·|;)`)
	// dated are the words by which numbers are told to be of before.
	dated = regexp.MustCompile(`(?i)before the change|as diagnosed|last diagnosis|read before|this one is of \d`)
)

// beforeIsSaid: a number beside its limit is the newest reading, unless it is told to be of before.
func beforeIsSaid(inc incident.Incident, v Version) (out []string) {
	if dated.MatchString(v.Text) {
		return nil
	}
	now := map[string][]string{} // some labels are those of two signals
	for _, r := range inc.Readings {
		if r.HasValue() {
			now[r.Label()] = append(now[r.Label()], r.Text())
		}
	}
	for _, m := range compared.FindAllStringSubmatch(v.Text, -1) {
		if values := now[m[1]]; len(values) > 0 && !slices.Contains(values, m[2]) {
			out = append(out, fmt.Sprintf("%q, and now it is %v", m[0], values))
		}
	}
	return out
}

// throttleBites: a throttle that is proposed would reject something of what is in flight, where that was read.
func throttleBites(inc incident.Incident, _ Version) (out []string) {
	flight := inc.Readings["in_flight"]
	if !flight.HasValue() {
		return nil
	}
	for _, s := range inc.Proposed() {
		to, err := strconv.ParseFloat(s.To.Text, 64)
		if now := *flight.Value; s.Kind == incident.StepThrottle && err == nil && to >= now && now > 0 {
			out = append(out, fmt.Sprintf("a limit of %g with %g in flight", to, now))
		}
	}
	return out
}

// stillFiringIsSaid: a recovery beside an alert that fires says so.
func stillFiringIsSaid(inc incident.Incident, v Version) []string {
	said := strings.Contains(v.Text, "firing") || strings.Contains(v.Text, "not resolved yet") ||
		strings.Contains(v.Text, "when the alert")
	if strings.Contains(strings.ToLower(v.headline()), "recovered") && inc.FiringCount() > 0 && !said {
		return []string{fmt.Sprintf("%q, and %v", v.headline(), inc.FiringNames())}
	}
	return nil
}
