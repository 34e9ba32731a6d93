package main

import (
	"fmt"
	"io"
)

// progress tells a person at a terminal what a command is at, on a line of standard error that goes away; an empty text
// clears it. Nobody else is told anything.
type progress struct{ w io.Writer }

// newProgress is silent where standard error is no terminal.
func newProgress(t terminal) progress {
	if !isTerminal(t.err) {
		return progress{}
	}
	return progress{w: t.err}
}

// at shows what the command is at.
func (p progress) at(text string) {
	if p.w == nil {
		return
	}
	const wipe = "\r\x1b[K"
	_, _ = io.WriteString(p.w, wipe) // a terminal that is gone cannot be told so
	say(p.w, "%s", clipped(text, leastColumns))
}

// counting shows how many things of all are done, and nothing when all are.
func (p progress) counting(things string) func(done, all int) {
	return func(done, all int) {
		if done == all {
			p.at("")
			return
		}
		p.at(fmt.Sprintf("%d of %d %s", done, all, things))
	}
}
