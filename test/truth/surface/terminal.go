package surface

import (
	"regexp"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// columns is where lines are cut.
const columns = 100

// Terminal is what somebody reads of each incident or pool that a command has printed, by the word that it begins with:
// an ID, or the name of a pool or a model.
func Terminal(printed string) map[string]truth.Version {
	out := map[string]truth.Version{}
	for _, about := range paragraphs(printed) {
		if name, v, ok := told(about); ok {
			out[name] = v
		}
	}
	return out
}

// paragraphs begin with a line that is not indented.
func paragraphs(printed string) (out [][]string) {
	for _, line := range joined(strings.Split(color.ReplaceAllString(printed, ""), "\n")) {
		switch {
		case line == "":
		case !strings.HasPrefix(line, " "):
			out = append(out, []string{line})
		case len(out) > 0:
			out[len(out)-1] = append(out[len(out)-1], line)
		}
	}
	return out
}

var color = regexp.MustCompile(`\x1b\[\d*m`)

// joined are the lines as they were before they were cut: what follows is indented by two more, and its first word had
// no room.
func joined(lines []string) (out []string) {
	indent := 0
	last := 0 // how wide the last line on the screen is
	for _, line := range lines {
		bare := strings.TrimLeft(line, " ")
		at := len(line) - len(bare)
		first, _, _ := strings.Cut(bare, " ")
		if len(out) > 0 && bare != "" && at == indent+2 && last+1+len([]rune(first)) > columns {
			out[len(out)-1] += " " + bare
		} else {
			out = append(out, line)
			indent = at
		}
		last = len([]rune(line))
	}
	return out
}

var (
	incidentLine = regexp.MustCompile(`^(inc-\S+)  (.+?)  (.+)$`)
	diagnosed    = regexp.MustCompile(`^(\S+)  \(read-only`)
	surveyed     = regexp.MustCompile(`^(\S+): ([a-z ]+)$`)
	causeName    = regexp.MustCompile(`^  \([\w-]+\)$`)
	alertsLine   = regexp.MustCompile(`^  alerts: (.*)$`)
	alertWord    = regexp.MustCompile(`^([\w.:-]+) \((firing|resolved)\)$`)
	column       = regexp.MustCompile(`^ {4}(\S.*?) {2,}(\S.*?) {2,}((?:limit|target) \S.*?)(?: {2,}.*)?$`)
	tried        = regexp.MustCompile(`^    \[([\w ]+)\] (\S+)  (.*)$`)
)

// told is a paragraph about an incident or a pool.
func told(lines []string) (name string, v truth.Version, ok bool) {
	var out []string
	rest := lines[1:]
	switch first := lines[0]; {
	case incidentLine.MatchString(first):
		m := incidentLine.FindStringSubmatch(first)
		if len(rest) == 0 {
			return "", v, false
		}
		name, out, rest = m[1], []string{stateSign(m[3]) + " " + m[2] + ": " + strings.TrimSpace(rest[0]), m[3]}, rest[1:]
	case diagnosed.MatchString(first):
		name = diagnosed.FindStringSubmatch(first)[1]
		out = []string{name}
	case surveyed.MatchString(first):
		m := surveyed.FindStringSubmatch(first)
		name, out = m[1], []string{m[1] + ": " + m[2]}
	default:
		return "", v, false
	}
	var past []string
	journal := false
	for n, line := range rest {
		switch m := alertsLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "  journal ("):
			journal = true
		case journal:
			past = append(past, line)
		case m != nil:
			out = append(out, alerts(m[1])...)
		case n+1 < len(rest) && causeName.MatchString(rest[n+1]) && !strings.HasPrefix(line, "  last diagnosis: "):
			out = append(out, "Why: "+strings.TrimSpace(line))
		default:
			out = append(out, words(line))
		}
	}
	return name, truth.Version{Text: strings.Join(out, "\n"), Past: strings.Join(past, "\n")}, true
}

// stateSign is the sign that a message has for the state of an incident, which a terminal has in words: colors are only
// for some.
func stateSign(state string) string {
	switch state, _, _ = strings.Cut(state, "  "); state {
	case "recovered":
		return "🟢"
	case "resolved":
		return "✅"
	case "closed":
		return "⚪"
	}
	return "🟠"
}

// words is a line, a row of the table of readings and a step as a sentence would have them.
func words(line string) string {
	if m := column.FindStringSubmatch(line); m != nil {
		return m[1] + " " + m[2] + " (" + m[3] + ")"
	}
	if m := tried.FindStringSubmatch(line); m != nil {
		return m[3] + ": " + m[1]
	}
	return strings.TrimSpace(line)
}

// alerts are those that are listed, one on a line each.
func alerts(list string) (out []string) {
	for one := range strings.SplitSeq(list, ", ") {
		m := alertWord.FindStringSubmatch(one)
		switch {
		case m == nil:
			out = append(out, one)
		case m[2] == "resolved":
			out = append(out, "• "+m[1]+" (alert), resolved")
		default:
			out = append(out, "• "+m[1]+" (alert) firing")
		}
	}
	return out
}

// Table is what a list of incidents says of each, by its ID.
func Table(printed string) map[string]truth.Version {
	out := map[string]truth.Version{}
	for _, about := range paragraphs(printed) {
		line := strings.Join(about, "  ")
		id, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(id, "inc-") {
			continue
		}
		cells := apart.Split(line, -1)
		if len(cells) > 2 {
			out[id] = truth.Version{
				Text: stateSign(cells[2]) + " " + cells[1] + ": " + firing(cells[len(cells)-1]) + "\n" + line,
			}
		}
	}
	return out
}

var (
	apart = regexp.MustCompile(` {2,}`)
	named = regexp.MustCompile(`^([\w.:-]+)(?: and (\d+) more)?$`)
)

// firing is the column of the alerts as a sentence: those that are listed without a word fire.
func firing(cell string) string {
	m := named.FindStringSubmatch(cell)
	switch {
	case m == nil || m[1] == "-":
		return cell
	case m[2] == "":
		return m[1] + " firing"
	case m[2] == "1":
		return m[1] + " and 1 other firing"
	}
	return m[1] + " and " + m[2] + " others firing"
}
