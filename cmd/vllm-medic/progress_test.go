package main

import (
	"bytes"
	"testing"
)

// Whoever waits at a terminal is told what for, on a line that goes away; a log or a pipe is told nothing.
func TestProgressIsForATerminalAndGoesAway(t *testing.T) {
	t.Parallel()
	var screen, log bytes.Buffer
	p := progress{w: &screen}
	tell := p.counting("models")
	tell(0, 2)
	tell(1, 2)
	tell(2, 2)
	if got, want := screen.String(), "\r\x1b[K0 of 2 models\r\x1b[K1 of 2 models\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	quiet := newProgress(terminal{err: &log})
	quiet.at("reading")
	quiet.counting("models")(0, 2)
	if log.Len() > 0 {
		t.Errorf("a log is told %q", log.String())
	}
}
