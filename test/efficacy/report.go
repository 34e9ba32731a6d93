package efficacy

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// Answer says in a few sentences what came of the plays.
func (r Results) Answer() string {
	nobody, hpa := r.of("", Nobody), r.of("", HPA)
	sentence := func(hand string) string {
		plays := r.of("", hand)
		than := func(other Results) string {
			mine := plays.bySeed(violation)
			mean, half := fewer(other.bySeed(violation), mine)
			return percent(mean, half, len(mine))
		}
		gpuBot, _ := trial.Interval(plays.bySeed(gpu))
		gpuHPA, _ := trial.Interval(hpa.bySeed(gpu))
		return fmt.Sprintf("%s fewer SLO-violation minutes than with nobody, and %s fewer than with the autoscaler, "+
			"with %s GPU-minutes", than(nobody), than(hpa), percentOf(gpuBot/gpuHPA-1))
	}
	return fmt.Sprintf("Over %d scripts, with seeds 1 to %d, the bot with a person who approves at once had %s than the "+
		"autoscaler. With a person on call, who takes minutes and overlooks one request in ten, it had %s. %s\n",
		len(r.scripts()), len(nobody.bySeed(violation)), sentence(Instant), sentence(Human), r.harm())
}

// harm says how many steps of the bot hurt.
func (r Results) harm() string {
	plays := append(r.of("", Instant), r.of("", Human)...)
	sum := func(is func(Step) bool) int {
		total := 0.
		for _, v := range plays.each(count(is)) {
			total += v
		}
		return int(total)
	}
	harmful := sum(func(s Step) bool { return s.Effect == Harmful })
	were := "were"
	if harmful == 1 {
		were = "was"
	}
	return fmt.Sprintf("Of the %d changes in these %d plays, %d %s harmful; still in place at the end: %d.",
		sum(func(Step) bool { return true }), len(plays), harmful, were, sum(standing))
}

// Harms lists the harmful changes of the bot, so that each can be played again; empty where there is none.
func (r Results) Harms() string {
	var b strings.Builder
	for _, p := range append(r.of("", Instant), r.of("", Human)...) {
		for _, s := range p.Steps {
			if s.Effect != Harmful {
				continue
			}
			end := "left standing"
			if s.Back {
				end = "taken back"
			}
			fmt.Fprintf(&b, "- `%s`, seed %d, %s: %s after %.0f minutes; ", p.Script, p.Seed, p.Hand, s.words(), s.At.Minutes())
			fmt.Fprintf(&b, "%.1f late or lost calls in a hundred instead of %.1f; %s\n", s.Bad, s.Without, end)
		}
	}
	return b.String()
}

// words are the change in words.
func (s Step) words() string {
	switch {
	case s.Deleted != "":
		return "deleted " + s.Deleted
	case s.Args:
		return "other engine arguments"
	}
	return fmt.Sprintf("%d replicas instead of %d", s.To, s.From)
}

// fewest is how many seeds an interval needs to say anything: with two, it is six times as wide as with five.
const fewest = 5

func percent(mean, half float64, n int) string {
	if n < fewest {
		return fmt.Sprintf("%.0f%%", 100*mean)
	}
	return fmt.Sprintf("%.0f%% ± %.0f%%", 100*mean, 100*half)
}

func percentOf(more float64) string {
	if more > 0 {
		return fmt.Sprintf("%.0f%% more", 100*more)
	}
	return fmt.Sprintf("%.0f%% fewer", -100*more)
}

// Totals is a table with a row for each hand, over all scripts.
func (r Results) Totals() string {
	var b strings.Builder
	b.WriteString("| hand | SLO violated, min | lost calls | GPU-minutes | alert, min | message | question | cured | " +
		"plays cured |\n|---|---|---|---|---|---|---|---|---|\n")
	scripts := float64(len(r.scripts()))
	for _, hand := range Hands() {
		plays := r.of("", hand)
		if len(plays) == 0 {
			continue
		}
		per := func(of func(Result) float64, digits int) string {
			values := plays.bySeed(of)
			for i := range values {
				values[i] /= scripts
			}
			return interval(values, digits)
		}
		when := func(of func(Result) time.Duration) string { return typical(minutes(plays, of)) }
		cured, hurt := plays.cures()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %d of %d |\n", hand, per(violation, 1), per(lost, 0),
			per(gpu, 0), when(func(p Result) time.Duration { return p.Fired }),
			when(func(p Result) time.Duration { return p.Opened }), when(func(p Result) time.Duration { return p.Asked }),
			typical(cured), len(cured), hurt)
	}
	return b.String()
}

// cures are the minutes until each play was cured that was, and how many plays hurt.
func (r Results) cures() (cured []float64, hurt int) {
	for _, p := range r {
		s, err := trial.Find(p.Script)
		if err != nil || p.Violation == 0 {
			continue
		}
		hurt++
		if m, ok := p.cured(s); ok {
			cured = append(cured, m)
		}
	}
	return cured, hurt
}

// Steps is a table with a row for each hand that changes something: what its changes did.
func (r Results) Steps() string {
	var b strings.Builder
	b.WriteString("| hand | changes a play | helped | no effect | back or down, harmless | harmful | " +
		"harmful, left standing | not judged | rollbacks |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, hand := range []string{Naive, Human, Instant} {
		plays := r.of("", hand)
		if len(plays) == 0 {
			continue
		}
		total := func(of func(Result) float64) (sum float64) {
			for _, v := range plays.each(of) {
				sum += v
			}
			return sum
		}
		fmt.Fprintf(&b, "| %s | %.1f", hand, total(count(func(Step) bool { return true }))/float64(len(plays)))
		for _, e := range []Effect{Helped, Nothing, Harmless, Harmful} {
			fmt.Fprintf(&b, " | %.0f", total(count(func(s Step) bool { return s.Effect == e })))
		}
		undos := total(func(p Result) float64 { return float64(p.Undos) })
		fmt.Fprintf(&b, " | %.0f | %.0f | %.0f |\n", total(count(standing)),
			total(count(func(s Step) bool { return s.Effect == Unjudged })), undos)
	}
	if harms := r.Harms(); harms != "" {
		b.WriteString("\nHarmful changes of the bot:\n\n" + harms)
	}
	return b.String()
}

// Scripts is a table with a row for each script: the minutes of violation under each hand, and the GPU-minutes.
func (r Results) Scripts() string { return r.table(violation, 1) + r.note() }

// GPUs is the same for GPU-minutes.
func (r Results) GPUs() string { return r.table(gpu, 0) }

// Lost is the same for calls that were lost.
func (r Results) Lost() string { return r.table(lost, 0) }

func (r Results) table(of func(Result) float64, digits int) string {
	var b strings.Builder
	b.WriteString("| script |")
	for _, hand := range Hands() {
		b.WriteString(" " + hand + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Hands())) + "\n")
	for _, script := range r.scripts() {
		b.WriteString("| " + script + " |")
		for _, hand := range Hands() {
			b.WriteString(" " + interval(r.of(script, hand).each(of), digits) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// note names the scripts in which the bot did worse than nobody, beyond what chance explains.
func (r Results) note() string {
	var worse []string
	for _, script := range r.scripts() {
		for _, hand := range []string{Human, Instant} {
			nobody, plays := r.of(script, Nobody), r.of(script, hand)
			more := make([]float64, len(plays))
			for i := range plays {
				more[i] = plays[i].Violation - nobody[i].Violation
			}
			if mean, half := trial.Interval(more); mean > 0 && !(mean-half <= 0) {
				worse = append(worse, fmt.Sprintf("%s (%s, by %.1f min)", script, hand, mean))
			}
		}
	}
	if len(worse) == 0 {
		return "\nIn no script did the bot do worse than nobody, beyond what chance explains.\n"
	}
	return "\nWorse than nobody: " + strings.Join(worse, ", ") + ".\n"
}

// interval is a mean with its 95% confidence interval, if there are enough values for one.
func interval(values []float64, digits int) string {
	mean, half := trial.Interval(values)
	switch {
	case math.IsNaN(mean):
		return "–"
	case len(values) < fewest, half < math.Pow10(-digits)/2:
		return fmt.Sprintf("%.*f", digits, mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, mean, digits, half)
}

// typical is a median in minutes; a dash where there is none.
func typical(values []float64) string {
	if len(values) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f", median(values))
}

// Write puts the parts of the report into a document, between its markers.
func (r Results) Write(document string) (string, error) {
	for name, text := range map[string]string{
		"answer": r.Answer(), "totals": r.Totals(), "steps": r.Steps(), "scripts": r.Scripts(), "gpus": r.GPUs(),
		"lost": r.Lost(),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(document, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return "", fmt.Errorf("the document has no part %q", name)
		}
		document = before + begin + "\n" + text + "\n" + end + after
	}
	return document, nil
}
