package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/replay"
)

// printReplay shows what differs, the worst first, then counts. What is the same is listed only where it was asked for.
func printReplay(w io.Writer, r replayed, everything bool) {
	for _, inc := range r.Incidents {
		if everything || inc.Outcome != replay.Same {
			printReplayed(w, inc, everything)
		}
	}
	s := r.Summary
	if s.Incidents == 0 {
		say(w, "There are no incidents to replay.\n")
		return
	}
	var counts []string
	for _, o := range replay.Outcomes() {
		if n := s.Outcomes[o]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, outcomeWords(o)))
		}
	}
	text := fmt.Sprintf("%s replayed (%s): %s.", count(s.Incidents, "incident"),
		count(s.Investigations, "investigation"), strings.Join(counts, ", "))
	if s.Replayed == 0 {
		text = "Nothing could be replayed: an older version looked after " + these(s.Incidents) + " and kept no evidence."
	}
	color := green
	if r.verdict(false) != nil {
		color = red
	}
	tintLine(w, color, text)
}

func these(n int) string {
	if n == 1 {
		return "this incident"
	}
	return fmt.Sprintf("these %d incidents", n)
}

// outcomeWords is an outcome within a sentence.
func outcomeWords(o replay.Outcome) string {
	return map[replay.Outcome]string{
		replay.NoLonger: "no longer diagnosed", replay.OtherCause: "with another cause",
		replay.OtherPlan: "with another plan", replay.OtherRecovery: "with another verdict on recovery",
		replay.NowDiagnosed: "newly diagnosed", replay.Undecided: "undecided", replay.NotKept: "without kept evidence",
		replay.Same: "unchanged",
	}[o]
}

func printReplayed(w io.Writer, inc replay.Incident, everything bool) {
	say(w, "%s  %s  %s  ", inc.ID, cmp.Or(inc.Pool, "alerts without a pool"), clock(inc.OpenedAt))
	color := green
	if inc.Outcome.Differs() {
		color = red
	}
	tintLine(w, color, outcomeWords(inc.Outcome))
	if inc.Note != "" {
		say(w, "  %s\n", inc.Note)
	}
	if inc.LeftOut > 0 {
		say(w, "  %s in between not kept\n", count(int(inc.LeftOut), "investigation"))
	}
	for _, one := range inc.Investigations {
		if everything || one.Outcome != replay.Same {
			printInvestigation(w, one)
		}
	}
	say(w, "\n")
}

// investigationWords says what an investigation was for.
func investigationWords(one replay.Investigation) string {
	words, of := map[incident.EventKind]string{
		incident.KindClaimed: "check before", incident.KindRefused: "check that stopped",
		incident.KindVerified: "verification of",
	}[one.Of]
	if !of {
		return "diagnosis"
	}
	return words + " " + one.Step
}

func printInvestigation(w io.Writer, one replay.Investigation) {
	say(w, "  %s, %s: %s\n", clock(one.At), investigationWords(one), outcomeWords(one.Outcome))
	if one.Now == nil {
		say(w, "    then  %s\n", answerText(one.Then))
		say(w, "    An older version made it and kept no evidence.\n")
		return
	}
	if one.Of != incident.KindVerified {
		printThenNow(w, answerText(one.Then), nowText(one))
	}
	printCauses(w, one.Causes)
	for _, s := range one.Steps {
		printStepPair(w, s)
	}
	printReplayedRecovery(w, one)
	labels := map[string][]string{}
	for _, u := range one.NotRead {
		labels[u.Why] = append(labels[u.Why], u.Label)
	}
	for _, why := range slices.Sorted(maps.Keys(labels)) {
		say(w, "      %s: %s\n", why, strings.Join(present.Capped(labels[why], mostListed), ", "))
	}
}

// mostListed bounds lists that are as long as a catalog is large where nothing was read. The JSON has all of them.
const mostListed = 5

// printCauses says of the diagnoses of then and now why they came out as they did, and of some that are possible.
func printCauses(w io.Writer, all []replay.Cause) {
	possible := 0
	for _, c := range all {
		if c.Now.Verdict == replay.Possible && c.Then.Verdict != replay.Chosen {
			if possible++; possible > mostListed {
				continue
			}
		}
		printCause(w, c)
	}
	if possible > mostListed {
		say(w, "      %s\n", present.More(possible-mostListed))
	}
}

// nowText is the answer of now, and what it could be as well.
func nowText(one replay.Investigation) string {
	var names []string
	for _, c := range one.Causes {
		if c.Now.Verdict == replay.Possible {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return answerText(*one.Now)
	}
	names = append([]string{cmp.Or(one.Now.Diagnosis, "no diagnosis")}, names...)
	if len(names) > mostListed {
		return "undecided: " + strings.Join(present.Capped(names, mostListed), ", ")
	}
	return "undecided: " + either(names)
}

func printThenNow(w io.Writer, then, now string) {
	if then == now {
		say(w, "    then and now  %s\n", now)
		return
	}
	tintLine(w, red, "    then  "+then)
	tintLine(w, green, "    now   "+now)
}

func answerText(a replay.Answer) string {
	if a.Diagnosis == "" {
		return "no diagnosis"
	}
	return a.Diagnosis + ": " + cell(a.Summary)
}

// printCause says of one diagnosis why it came out as it did, then and now.
func printCause(w io.Writer, c replay.Cause) {
	say(w, "      %s\n", c.Name)
	say(w, "        then  %s\n", sideText(c.Then))
	say(w, "        now   %s\n", sideText(c.Now))
}

func sideText(s replay.Side) string {
	switch s.Verdict {
	case replay.Chosen:
		var seen []string
		for _, c := range s.Conditions {
			if c.Truth == incident.True {
				seen = append(seen, conditionText(c))
			}
		}
		return "chosen: " + strings.Join(seen, "; ")
	case replay.NotEvaluated:
		return "not evaluated for these alerts"
	case replay.Possible:
		return "undecided: asks for what was not read then"
	}
	return string(s.Verdict) + ": " + s.Why
}

func conditionText(c incident.Condition) string {
	text := strings.Join(nonEmpty(present.Subject(incident.Incident{}, c), c.Seen), " ")
	return strings.Join(nonEmpty(text, present.Expected(c, incident.Reading{})), ", ")
}

func printStepPair(w io.Writer, s replay.StepPair) {
	say(w, "      step %s: %s\n", s.Kind, map[replay.Outcome]string{
		replay.Same: "unchanged", replay.OtherPlan: "differs", replay.Undecided: "undecided",
	}[s.Outcome])
	if s.Reworded {
		say(w, "        (only the advice is worded differently)\n")
	}
	if s.Outcome == replay.Same {
		return
	}
	say(w, "        then  %s\n", stepText(s.Then))
	say(w, "        now   %s\n", stepText(s.Now))
}

// stepText is a step with its values, which are as they are written into the object.
func stepText(s *replay.Step) string {
	if s == nil {
		return "not in the plan"
	}
	values := ""
	if s.To.Present {
		values = fmt.Sprintf(", %s -> %s", s.From, s.To)
	}
	why := ""
	if s.Refused != "" {
		why = " (blocked: " + s.Refused + ")"
	}
	if s.Open != "" {
		why = " (undecided: " + s.Open + ")"
	}
	return cell(s.Title) + values + why
}

func printReplayedRecovery(w io.Writer, one replay.Investigation) {
	if len(one.Recovery) == 0 {
		return
	}
	say(w, "      recovered: then %s, now %s\n", one.Then.Healthy, one.Now.Healthy)
	for _, c := range one.Recovery {
		say(w, "        %-9s %s\n", c.Truth, conditionText(c))
	}
}
