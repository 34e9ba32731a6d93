package messages

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/truth"
)

var measured = flag.String("report", "", "write what was measured of every message that decides something to this file")

// What a person can take in at night, on a phone. Pixels are from the top of the message, at a width of 390.
const (
	phone       = 390
	mostWords   = 220
	mostAsking  = 150
	mostAbove   = 120
	firstButton = 520
	firstScreen = 600
)

// everything is every state of every built-in diagnosis, and the incident whose whole life the gallery shows.
func everything(t *testing.T) (out []shown, told found, l *lab) {
	t.Helper()
	l = newLab(t)
	for _, f := range l.investigate(t) {
		out = append(out, states(t, f)...)
		if f.diagnosis == "kv-thrash" {
			told = f
			out = append(out, rare(t, l, f)...)
		}
	}
	return out, told, l
}

// One look at the incidents is enough for all that is asked about their messages.
func TestMessages(t *testing.T) {
	t.Parallel()
	all, told, l := everything(t)
	var messages, pages []truth.Version
	t.Run("pages tell the truth", func(t *testing.T) { pages = tellTheTruth(t, all, l.playbook) })
	t.Run("terminals tell the truth", func(t *testing.T) { terminalsTellTheTruth(t, all) })
	t.Run("each can be taken in on a phone", func(t *testing.T) { messages = fitAPhone(t, all, links) })
	plainer := links
	plainer.NoChart, plainer.NoFold = true, true
	t.Run("also where Slack has no charts and folds yet", func(t *testing.T) {
		fitAPhone(t, all, plainer, "container", "data_visualization")
	})
	t.Run("gallery: it shows them as they are", func(t *testing.T) { compareGallery(t, scenes(t, all, told)) })
	t.Run("they keep to the voice", func(t *testing.T) { keepToTheVoice(t, all) })
	t.Run("gallery: their words are those that were read", func(t *testing.T) { compareWords(t, all) })
	writeTold(t, all, messages, pages)
}

// fitAPhone measures all messages in a workspace that does not have some blocks, and returns them as they are read.
func fitAPhone(t *testing.T, all []shown, opts slack.ViewOptions, without ...string) (read []truth.Version) {
	t.Helper()
	s := fakeslack.Start(t, fakeslack.Options{})
	s.RefuseBlocks(without...)
	views := make([]slack.View, len(all))
	for i, m := range all {
		views[i] = slack.Render(m.inc, opts)
	}
	ids := post(t, s, views)
	laid := lay(t, s, phone)
	var table strings.Builder
	for i, m := range all {
		l, ok := laid[ids[i]]
		if !ok {
			t.Fatalf("%s was not measured", m.name())
		}
		asks := m.inc.State == incident.StateDeciding
		problems := problemsOf(l, asks)
		for _, p := range problems {
			t.Errorf("%s: %s", m.name(), p)
		}
		posted, _ := s.Message(channel, ids[i])
		read = append(read, posted.Versions[0].Told())
		for _, lie := range truth.Of(m.inc, read[i]) {
			t.Errorf("%s is not true: %s", m.name(), lie)
		}
		if asks {
			fmt.Fprintf(&table, "%-60s %4d words, %4d above, %5.0f px, first button ends at %5.0f px  %s\n", m.name(), l.Words,
				l.Above, l.Height, append(l.Buttons, 0)[0], strings.Join(problems, "; "))
		}
	}
	if *measured != "" && len(without) == 0 {
		if err := os.WriteFile(*measured, []byte(table.String()), 0o600); err != nil {
			t.Error(err)
		}
	}
	return read
}

// problemsOf says what is too much in a message.
func problemsOf(l layout, asks bool) []string {
	var out []string
	if l.Words > mostWords {
		out = append(out, fmt.Sprintf("%d words, at most %d", l.Words, mostWords))
	}
	if len(l.Wide) > 0 {
		out = append(out, fmt.Sprintf("wider than %d px: %q", phone, l.Wide))
	}
	if !asks {
		return out
	}
	if l.Words > mostAsking {
		out = append(out, fmt.Sprintf("a question of %d words, at most %d", l.Words, mostAsking))
	}
	if l.Above > mostAbove {
		out = append(out, fmt.Sprintf("%d words above its buttons, at most %d", l.Above, mostAbove))
	}
	buttons := slices.IndexFunc(l.Blocks, func(b laidOut) bool { return b.Kind == "actions" })
	if buttons < 0 || len(l.Buttons) == 0 {
		return append(out, "it asks and has no button")
	}
	if l.Buttons[0] > firstButton {
		out = append(out, fmt.Sprintf("its first button ends at %.0f px, at most %d: %s", l.Buttons[0], firstButton,
			heights(l.Blocks[:buttons+1])))
	}
	if end := l.Blocks[buttons].Bottom; end > firstScreen {
		out = append(out, fmt.Sprintf("its buttons end at %.0f px, and the first screen at %d", end, firstScreen))
	}
	return out
}

// heights says how much each block takes.
func heights(blocks []laidOut) string {
	out := make([]string, len(blocks))
	top := 0.0
	for i, b := range blocks {
		words := strings.Fields(b.Text)
		out[i] = fmt.Sprintf("%.0f px %s %q", b.Bottom-top, b.Kind, strings.Join(words[:min(6, len(words))], " "))
		top = b.Bottom
	}
	return strings.Join(out, ", ")
}
