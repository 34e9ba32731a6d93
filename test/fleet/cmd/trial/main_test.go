package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestItPrintsATableOfTheChosenScripts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run([]string{"--seeds", "2", "--scripts", "low-load"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "low-load  nobody") || !strings.Contains(lines[2], "HPA") {
		t.Errorf("got\n%s", out.String())
	}
}

func TestItListsTheScripts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run([]string{"--list"}, &out, io.Discard); err != nil || strings.Count(out.String(), "\n") < 17 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestErrorsOnTheCommandLineAreSaid(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--scripts", "x"}, {"--seeds", "0"}, {"surge"}, {"--odd"}} {
		if err := run(args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
