package truth

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	firing = regexp.MustCompile(`([\w.:-]+)(?: and (\d+) others?)? (?:still )?firing`)
	listed = regexp.MustCompile(`(?m)^[•-] ([\w.:-]+) \(([^)]*)\)(, resolved)?`)
	more   = regexp.MustCompile(`and \d+ more\b`)
)

// firesByTheList: the alerts that the headline and the notification count are those that the list below has as firing.
func firesByTheList(v Version) (out []string) {
	all := listed.FindAllStringSubmatch(v.Text, -1)
	if len(all) == 0 || more.MatchString(v.Text) {
		return nil
	}
	fires := map[string]bool{}
	for _, m := range all {
		if m[3] == "" {
			fires[m[1]] = true
		}
	}
	for _, said := range []string{v.headline(), v.Push} {
		m := firing.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		if others, _ := strconv.Atoi(m[2]); !fires[m[1]] || others+1 != len(fires) {
			out = append(out, fmt.Sprintf("%q, and the list has as firing %v", m[0], keys(fires)))
		}
	}
	return out
}

var noCause = regexp.MustCompile(`No known cause|no diagnosis matches|, no diagnosis`)

// oneCause: no cause is denied above a cause.
func oneCause(v Version) []string {
	if m := noCause.FindString(v.Text); m != "" && strings.Contains(v.Text, "Why: ") {
		return []string{fmt.Sprintf("%q beside a cause", m)}
	}
	return nil
}

var (
	notWell = regexp.MustCompile(`firing$|rolled back$|didn't help|made it worse|Investigating again|couldn't |` +
		`of requests are rejected`)
	notIll = regexp.MustCompile(`recovered|as planned|healthy again`)
)

// colorByWords: what is green is well, and what is well is not red.
func colorByWords(v Version) []string {
	head := v.headline()
	red := strings.HasPrefix(v.Text, "🔴")
	switch m := notWell.FindString(head); {
	case v.isGreen() && m != "" && !strings.HasSuffix(head, " still firing"): // that much is said
		return []string{fmt.Sprintf("green above %q", head)}
	case red && notIll.MatchString(head) && !strings.Contains(head, "reverting"):
		return []string{fmt.Sprintf("red above %q", head)}
	}
	return nil
}

var (
	percent = regexp.MustCompile(`([^·\n;]*?)(\d[\d,]*(?:\.\d+)?)\s?%([^·\n;]{0,40})`)
	partOf  = regexp.MustCompile(`\b(\d+(?:\.\d+)?) of (\d+(?:\.\d+)?) (?:requests|pods|replicas)`)
	// what may exceed a whole: what is asked of the pool, and how much something has grown.
	beyond = regexp.MustCompile(`(?i)load|demand|can serve|average|capacity|increase|growth|more than|changed by`)
)

// sharesEndAtAll: no share is above 100 %, and no part larger than the whole.
func sharesEndAtAll(v Version) (out []string) {
	for _, text := range []string{v.Text, v.Past, v.Push} {
		for _, m := range percent.FindAllStringSubmatch(text, -1) {
			if number(m[2]) > 100 && !beyond.MatchString(m[1]+m[3]) {
				out = append(out, strings.TrimSpace(m[0]))
			}
		}
		for _, m := range partOf.FindAllStringSubmatch(text, -1) {
			if number(m[1]) > number(m[2]) {
				out = append(out, m[0])
			}
		}
	}
	return out
}

var limited = regexp.MustCompile(`(?m)(?:^|[:·;,] +|\. )([A-Z][A-Za-z/ ]*(?:p\d\d|max|avg)?(?: \([^)\d]+\))?) ` +
	`[\d.,]+(?: ?(?:ms|s|min|h|%|[a-z/]+))?(?: → [^(·;\n]*)?,? \(?(?:limit|target) ([\d.,]+ ?(?:ms|s|min|h|%)?)`)

// oneLimit: a metric has one limit in all of a message.
func oneLimit(v Version) (out []string) {
	limits := map[string][]string{}
	for _, m := range limited.FindAllStringSubmatch(v.Text, -1) {
		if name, limit := strings.TrimSpace(m[1]), strings.TrimSpace(m[2]); !slices.Contains(limits[name], limit) {
			limits[name] = append(limits[name], limit)
		}
	}
	for _, name := range keys(limits) {
		if all := limits[name]; len(all) > 1 {
			out = append(out, fmt.Sprintf("%s has the limits %s", name, strings.Join(all, " and ")))
		}
	}
	return out
}

var moved = regexp.MustCompile(
	`((?:TTFT|TPOT|ITL|E2E|Queue time|Waiting|Prefill|Preemptions)[\w/ ()]*?) ` +
		`([\d.,]+) ?(ms|s|min)? → ([\d.,]+) ?(ms|s|min)?`)

// worseIsSaid: what got worse by more than a tenth is marked where the words around it say that all is well.
func worseIsSaid(v Version) (out []string) {
	if !v.isGreen() && !strings.Contains(v.Text, "Fixed") {
		return nil
	}
	for line := range strings.Lines(v.Text) {
		for _, m := range moved.FindAllStringSubmatch(line, -1) {
			before, after := seconds(m[2], m[3]), seconds(m[4], m[5])
			if after > 1.1*before && after-before > 0.05 && !strings.Contains(strings.ToLower(line), "worse") {
				out = append(out, m[0])
			}
		}
	}
	return out
}

var (
	atMost   = regexp.MustCompile(`at most ([\d,]+) in flight`)
	inFlight = regexp.MustCompile(`([\d,]+) (?:requests )?(?:are )?in flight`)
	addOne   = regexp.MustCompile(`(?i)add at least 1 replica`)
	needs    = regexp.MustCompile(`([\d,]+)% of what the pool can serve`)
)

// adviceIsEnough: a limit is below what it is to limit, and what is added is what the load needs.
func adviceIsEnough(v Version) (out []string) {
	for _, m := range atMost.FindAllStringSubmatch(v.Text, -1) {
		for _, now := range inFlight.FindAllStringSubmatch(strings.ReplaceAll(v.Text, m[0], ""), -1) {
			if number(m[1]) >= number(now[1]) {
				out = append(out, fmt.Sprintf("%q with %q", m[0], now[0]))
			}
		}
	}
	if m := needs.FindStringSubmatch(v.Text); m != nil && addOne.MatchString(v.Text) && number(m[1]) >= 200 {
		out = append(out, "at least 1 replica for "+m[0])
	}
	return out
}

var (
	scaled    = regexp.MustCompile(`[Ss]cale[^\n]*? (\d+) → (\d+)`)
	scaleWord = regexp.MustCompile(`Scaled (?:up|down) replica set [^\n]*? from (\d+) to (\d+)`)
)

// ownChange: a change of the bot's own is none that might be the cause.
func ownChange(v Version) (out []string) {
	for _, own := range scaled.FindAllStringSubmatch(v.Text, -1) {
		for _, seen := range scaleWord.FindAllStringSubmatch(v.Text, -1) {
			same := own[1] == seen[1] && own[2] == seen[2] || own[1] == seen[2] && own[2] == seen[1]
			if same && noCause.MatchString(v.Text) {
				out = append(out, seen[0])
			}
		}
	}
	return out
}

var rolledBack = regexp.MustCompile(`(?mi)\b(throttle|scale|set|lower|raise)\b` +
	`[^\n]*? → [^\n]*(?:rolled back|[Rr]olled back to)`)

// triedIsNotFirst: what was rolled back is not the button that stands out.
func triedIsNotFirst(v Version) (out []string) {
	for _, b := range v.asked() {
		q, ok := b.question()
		if !ok || b.Style != "primary" {
			continue
		}
		for _, m := range rolledBack.FindAllStringSubmatch(v.Text, -1) {
			if strings.EqualFold(m[1], q.verb) {
				out = append(out, fmt.Sprintf("%q stands out after %q", b.Text, m[0]))
			}
		}
	}
	return out
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return 0
	}
	return n
}

// seconds is a number with its unit; of one without a unit it is the number.
func seconds(text, unit string) float64 {
	return number(text) * map[string]float64{"": 1, "ms": 1e-3, "s": 1, "min": 60}[unit]
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
