package slack

import (
	"slices"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// codes are the blocks of code of a message, in their order; those of a fold are not among them.
func codes(blocks []slackgo.Block) (out []string) {
	for _, b := range blocks {
		rich, ok := b.(*slackgo.RichTextBlock)
		if !ok {
			continue
		}
		for _, e := range rich.Elements {
			pre, ok := e.(*slackgo.RichTextPreformatted)
			if !ok {
				continue
			}
			text := ""
			for _, part := range pre.Elements {
				if part, ok := part.(*slackgo.RichTextSectionTextElement); ok {
					text += part.Text
				}
			}
			out = append(out, text)
		}
	}
	return out
}

// advisedOnly is an incident with nothing but a manual step.
func advisedOnly(t *testing.T, commands ...string) incident.Incident {
	t.Helper()
	s := manualStep()
	s.Commands = commands
	return proposed(t, incident.ModeApprove, s).inc
}

// What stands in a block of code is the command, whatever is in it: Slack parses nothing there.
func TestCommandsAreCodeToCopy(t *testing.T) {
	t.Parallel()
	line := "kubectl -n llm delete pod '<@U0EVIL> `x` *y* &amp; <!channel>'"
	v := Render(advisedOnly(t, "kubectl -n llm get pods", line), ViewOptions{})
	if got := codes(v.Blocks); !slices.Equal(got, []string{"kubectl -n llm get pods\n" + line}) {
		t.Errorf("got %q", got)
	}
	buttons := slices.IndexFunc(v.Blocks, func(b slackgo.Block) bool { return b.BlockType() == slackgo.MBTAction })
	code := slices.IndexFunc(v.Blocks, func(b slackgo.Block) bool { return len(codes([]slackgo.Block{b})) > 0 })
	if code > buttons {
		t.Errorf("the commands are block %d, the buttons %d", code, buttons)
	}
}

// A part of a command is another command, so one is whole or not there; the others are in the details.
func TestCommandsAreWholeOrNotThere(t *testing.T) {
	t.Parallel()
	long := "kubectl " + strings.Repeat("x", 590)
	for _, tt := range []struct {
		name       string
		given      []string
		shown      int
		inBoth     bool
		leftInText string
	}{
		{"three", []string{"a", "b", "c"}, 3, true, ""},
		{"four", []string{"a", "b", "c", "d"}, 3, true, "…and 1 more in Details"},
		{"long ones", []string{long, long, long}, 2, false, "…and 1 more in Details"},
	} {
		inc := advisedOnly(t, tt.given...)
		v := Render(inc, ViewOptions{})
		if got := codes(v.Blocks); !slices.Equal(got, []string{strings.Join(tt.given[:tt.shown], "\n")}) {
			t.Errorf("%s: got %q", tt.name, got)
		}
		if text := shownText(v); !strings.Contains(text, tt.leftInText) {
			t.Errorf("%s: %q is missing in %q", tt.name, tt.leftInText, text)
		}
		blocks, _ := renderDetails(inc, alice(), ViewOptions{})
		if got := codes(blocks); tt.inBoth && !slices.Contains(got, strings.Join(tt.given, "\n")) {
			t.Errorf("%s: the details have %q", tt.name, got)
		}
	}
}

// Beside a question the commands are folded with the advice: what is asked comes first.
func TestCommandsAreFoldedBesideAQuestion(t *testing.T) {
	t.Parallel()
	s := manualStep()
	s.Commands = []string{"kubectl -n llm get pods"}
	v := Render(asked(t, incident.ModeApprove, throttleStep(), s).inc, ViewOptions{})
	if got := codes(v.Blocks); len(got) > 0 {
		t.Errorf("they are open: %q", got)
	}
	if !strings.Contains(string(sent(t, v)), "kubectl -n llm get pods") {
		t.Error("they are nowhere")
	}
}

// The pods that are known are named, with how they differ, and the last line of what crashed is text.
func TestTheCauseNamesItsPods(t *testing.T) {
	t.Parallel()
	inc := advisedOnly(t)
	inc.Diagnosis.Affected = []incident.AffectedPod{{Pod: "f*", Container: "vllm"}}
	inc.Diagnosis.Compared = []incident.Compared{{Label: "TTFT p95", Seen: "75.1 s", Others: "278 ms"}}
	inc.Cluster.Crashes = []incident.Crash{{Pod: "f*", Container: "vllm", Log: []string{"<!channel> *dead*"}}}
	text := shownText(Render(inc, ViewOptions{}))
	for _, want := range []string{"*Why pod f∗:* TTFT p95 *75.1 s* (others 278 ms)", "<!channel> *dead*"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, inc.Diagnosis.Summary) {
		t.Errorf("the summary is said too:\n%s", text)
	}
}
