package messages

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// written are the files with the words of messages, and what is in each: the whole life of two incidents, one of which
// restarts pods, and the first message of every other diagnosis.
func written(all []shown) map[string][]shown {
	out := map[string][]shown{}
	for _, m := range all {
		switch {
		case m.diagnosis == "kv-thrash", m.diagnosis == "prefill-interference", m.diagnosis == "no-pool":
			out[m.diagnosis+".txt"] = append(out[m.diagnosis+".txt"], m)
		case m.state == "deciding", m.state == "told":
			out["others.txt"] = append(out["others.txt"], m)
		}
	}
	return out
}

// compareWords holds the words of the messages to those that somebody has read. With -update it writes them; read what
// has changed.
func compareWords(t *testing.T, all []shown) {
	t.Helper()
	for file, messages := range written(all) {
		var b strings.Builder
		for _, m := range messages {
			fmt.Fprintf(&b, "=== %s\n%s\n", m.name(), words(t, slack.Render(m.inc, links)))
		}
		path := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
			t.Errorf("%s (-want +got; make gallery rewrites it):\n%s", path, diff)
		}
	}
}

// keepToTheVoice holds all that people read to the voice, the thread included. Names of signals are internal,
// but not those that are arguments of vLLM.
func keepToTheVoice(t *testing.T, all []shown) {
	t.Helper()
	for _, m := range all {
		internal := slices.Collect(maps.Keys(m.inc.Readings))
		internal = slices.DeleteFunc(internal, func(name string) bool { return strings.HasPrefix(name, "max_num_") })
		voice.Check(t, m.name(), voice.Message(words(t, slack.Render(m.inc, links)), internal...))
		for _, e := range m.inc.Journal {
			voice.Check(t, m.name()+", the thread", voice.Message(present.Plain(present.Entry(e)), internal...))
		}
	}
}

var (
	dated  = regexp.MustCompile(`<!date\^\d+\^\{time\}\|([^>]*)>`)
	linked = regexp.MustCompile(`<https?:[^|>]*\|([^>]*)>`)
)

// words are what a person reads of a message, a line each, the notification last.
func words(t *testing.T, v slack.View) string {
	t.Helper()
	raw, err := json.Marshal(v.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []map[string]any
	if err := json.Unmarshal(raw, &blocks); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(append(linesOf(blocks), "push: "+v.Text), "\n")
	return linked.ReplaceAllString(dated.ReplaceAllString(text, "$1"), "$1")
}

func linesOf(blocks []map[string]any) []string {
	var out []string
	for _, b := range blocks {
		switch b["type"] {
		case "header":
			out = append(out, "# "+textOf(b["text"]))
		case "section":
			out = append(out, textOf(b["text"]))
		case "context":
			for _, e := range objects(b["elements"]) {
				out = append(out, "  "+textOf(e))
			}
		case "rich_text":
			for _, e := range objects(b["elements"]) {
				out = append(out, richLines(e)...)
			}
		case "actions":
			var row []string
			for _, e := range objects(b["elements"]) {
				style, _ := e["style"].(string)
				row = append(row, "["+strings.TrimSpace(textOf(e["text"])+" "+style)+"]")
			}
			out = append(out, strings.Join(row, " "))
		case "container":
			out = append(out, "> "+textOf(b["title"]))
			for _, l := range linesOf(objects(b["child_blocks"])) {
				out = append(out, "    "+strings.ReplaceAll(l, "\n", "\n    "))
			}
		default:
			out = append(out, fmt.Sprintf("(%v %v)", b["type"], b["title"]))
		}
	}
	return out
}

// richLines are the lines of an element of a rich text, with its formatting as mrkdwn has it.
func richLines(element map[string]any) []string {
	if element["type"] == "rich_text_list" {
		var out []string
		for _, item := range objects(element["elements"]) {
			out = append(out, "• "+strings.Join(richLines(item), ""))
		}
		return out
	}
	line := ""
	for _, e := range objects(element["elements"]) {
		style, _ := e["style"].(map[string]any)
		mark := ""
		switch {
		case style["bold"] == true:
			mark = "*"
		case style["code"] == true:
			mark = "`"
		}
		line += mark + textOf(e) + mark
	}
	if element["type"] == "rich_text_preformatted" {
		line = "```\n" + line + "\n```"
	}
	return []string{line}
}

// textOf is the text of a text object.
func textOf(v any) string {
	o, _ := v.(map[string]any)
	s, _ := o["text"].(string)
	return s
}

// objects are those of a list.
func objects(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if o, ok := item.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}
