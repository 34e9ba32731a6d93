package main

import (
	"os"
	"strings"
	"testing"
)

func TestThePageOfTheCommandLineHasEveryCommandAndVerb(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range commands() {
		want = append(want, "vllm-medic "+c.name)
	}
	for _, v := range verbs() {
		want = append(want, "| `"+v.name+" ")
	}
	for _, w := range want {
		if !strings.Contains(string(page), w) {
			t.Errorf("docs/cli.md does not say %q", w)
		}
	}
}

func TestWhatAlertsBringIsShownAndNotObeyed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain, ü and →\n\tindented": "plain, ü and →\n\tindented",
		"\x1b[2J":                    "\uFFFD[2J",
		"a\rb\u009bc\u202ed":         "a\uFFFDb\uFFFDc\uFFFDd",
		"\xff":                       "\uFFFD",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) is %q, want %q", in, got, want)
		}
	}
}
