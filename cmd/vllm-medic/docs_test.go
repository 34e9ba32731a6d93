package main

import (
	"os"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

func TestThePageOfTheCommandLineHasEveryCommandAndVerb(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	root := newRoot(terminal{getenv: os.LookupEnv})
	for _, name := range subcommands(root) {
		want = append(want, "vllm-medic "+name)
	}
	verbs, _, err := root.Find([]string{"incidents"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range subcommands(verbs) {
		want = append(want, "| `"+name+" ")
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
		if got := redact.Visible(in); got != want {
			t.Errorf("Visible(%q) is %q, want %q", in, got, want)
		}
	}
}
