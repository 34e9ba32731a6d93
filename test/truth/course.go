package truth

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	subject = regexp.MustCompile(`: ((?:E2E|[A-Z][A-Za-z/]*)(?: [A-Za-z/]+)*(?: p\d\d)?) ` +
		`[\d.,]+ ?(?:ms|s|min|h|%)?(?: \d+ (?:s|min))? \((?:target|limit)`)
	verdict = regexp.MustCompile(`recovered|better, not fixed|didn't help|made it worse|had no effect`)
)

// changing are the words of headlines while a change is made.
var changing = regexp.MustCompile(`^[^:]*: (?:applying|rolling out|checking|improving after|no effect yet)|` +
	` is live|not live yet`)

// askedIsAnswered: the metric that a question names in its headline is in the verdict on the change.
func askedIsAnswered(m Message) (out []string) {
	metric, made := "", false
	for _, v := range m.Versions {
		head := v.headline()
		switch s := subject.FindStringSubmatch(head); {
		case len(v.asked()) > 0 && s != nil && !verdict.MatchString(head):
			metric, made = s[1], false
		case metric != "" && changing.MatchString(head):
			made = true
		case metric != "" && made && verdict.MatchString(head):
			if !regexp.MustCompile(regexp.QuoteMeta(metric) + `[^\n;·]* (?:→|is|was|had|could)`).MatchString(v.Text) {
				out = append(out, fmt.Sprintf("asked about %s, answered without it: %q", metric, head))
			}
			metric = ""
		}
	}
	return out
}

// leastChange is the share by which a number moves, if it does.
const leastChange = 0.2

// numbersHoldStill: what is asked moves by a fifth or not at all, while it begins at the same value.
func numbersHoldStill(m Message) (out []string) {
	last := map[string]question{}
	for _, v := range m.Versions {
		for _, b := range v.asked() {
			q, ok := b.question()
			if !ok {
				continue
			}
			key := fmt.Sprint(q.verb, q.from)
			if was, asked := last[key]; asked && was.to != q.to && math.Abs(q.to-was.to) < leastChange*was.to-0.5 {
				out = append(out, fmt.Sprintf("%g becomes %g", was.to, q.to))
			}
			last[key] = q
		}
		if len(v.asked()) == 0 {
			clear(last)
		}
	}
	return out
}

// ends are the words of versions in which a question may be gone.
var ends = regexp.MustCompile(`(?i)healthy|applying|denied|declined|expired|no one responded|stopped|paused|snoozed|` +
	`closed|resolved|rolled? ?back|rolling|refused|skipped|not possible|no automated fix|is live|reverted|needs a human|` +
	`changed it back|approved|dry run|mitigat|temporary`)

// answers begin the replies that say what became of a question.
var answers = regexp.MustCompile(`^(?:[^:]* (?:approved|denied|kept|wants [^:]* instead):|[^:]* asked again\.|` +
	`Denied\.|Can't use |The approval by |Snoozed by |Approval expired|Not applied: |Applied: |Rolling back to |` +
	`Rolled back|Restored |Reverted|Stopped by |Closed)`)

// hasAnswer says whether a reply between two moments does.
func (m Message) hasAnswer(after, before time.Time) bool {
	return slices.ContainsFunc(m.Thread, func(v Version) bool {
		return !v.At.Before(after) && v.At.Before(before) && answers.MatchString(v.Text)
	})
}

// buttonsStay: a question does not lose its buttons for a moment without a word why, in the message or in its thread. A
// bot that was ended between an answer and its message has said it only in the thread.
func buttonsStay(m Message) (out []string) {
	var asked []string
	var last time.Time
	gone := ""
	for _, v := range m.Versions {
		var now []string
		for _, b := range v.asked() {
			if q, ok := b.question(); ok {
				now = append(now, fmt.Sprint(q.verb, q.from))
			}
		}
		switch {
		case len(now) == 0 && len(asked) > 0 && !ends.MatchString(v.Text):
			gone = v.headline()
		case len(now) == 0:
			asked, gone = nil, ""
		case gone != "" && !m.hasAnswer(last, v.At) &&
			slices.ContainsFunc(now, func(s string) bool { return slices.Contains(asked, s) }):
			out = append(out, fmt.Sprintf("%q has no buttons, and the next version asks for the same again", gone))
			asked, gone, last = now, "", v.At
		default:
			asked, gone, last = now, "", v.At
		}
	}
	return out
}

// callAgain is how long nobody is called twice.
const callAgain = 10 * time.Minute

var (
	mention = regexp.MustCompile(`(?:@|!subteam\^)[SUW][A-Z0-9]{2,}`)
	// wanted are the words of calls that the configuration asks for beside the first one.
	wanted = regexp.MustCompile(`(?i)reminder|no response|no one has responded|escalat|still waiting`)
	calls  = regexp.MustCompile(`Approval needed|Roll back|Keep`)
	over   = regexp.MustCompile(`^(?:Closed|Resolved in|Healthy for)|[Cc]losed by`)
)

// calledOnce: nobody is called twice in ten minutes for what the bot asks by itself.
func calledOnce(m Message) (out []string) {
	last := map[string]time.Time{}
	for _, v := range m.Thread {
		first, _, _ := strings.Cut(v.Text, "\n")
		if over.MatchString(first) {
			clear(last)
		}
		if wanted.MatchString(first) || !calls.MatchString(first) {
			continue
		}
		if at := mention.FindStringIndex(first); at == nil || at[0] > 2 {
			continue // somebody is named, and not called
		}
		for _, who := range mention.FindAllString(first, -1) {
			if at, called := last[who]; called && v.At.Sub(at) < callAgain {
				out = append(out, fmt.Sprintf("%s was called %s ago: %q", who, v.At.Sub(at).Round(time.Second), first))
			}
			last[who] = v.At
		}
	}
	return out
}

var (
	promised = regexp.MustCompile(`Reverts to ([\w,]+) at`)
	undone   = regexp.MustCompile(`rolled back$|rolled back \.|rolling back`)
)

// plannedIsNoRollback: what was to be reverted after recovery is not called rolled back when that happens.
func plannedIsNoRollback(m Message) (out []string) {
	promise := false
	for _, v := range m.Versions {
		head := v.headline()
		if promise && undone.MatchString(head) && !strings.Contains(v.Text, "Rolling back to") {
			out = append(out, head)
		}
		promise = v.isGreen() && promised.MatchString(v.Text)
	}
	return out
}
