package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALongLineIsCutAtSpacesAndNothingIsLost(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("latency ", 30)
	for name, tt := range map[string]struct{ in, want string }{
		"short":   {"  as it  is", "  as it  is"},
		"at last": {"  one two three four", "  one two\n    three\n    four"},
		"a URL":   {"  see https://example.com/a/b?c=d then", "  see\n    https://example.com/a/b?c=d\n    then"},
		"command": {"    kubectl -n llm get pods -o wide", "    kubectl -n llm get pods -o wide"},
		"color":   {"\x1b[31mone two\x1b[0m six", "\x1b[31mone two\x1b[0m six"},
	} {
		if diff := cmp.Diff(strings.Split(tt.want, "\n"), wrapped(tt.in, 12)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var b bytes.Buffer
	s := &sheet{to: &b, width: columns}
	for piece := range slices.Chunk([]byte("    1. "+words+"\n\n  end\n"), 7) {
		if _, err := s.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(b.String()) {
		if len(strings.TrimRight(line, "\n")) > columns {
			t.Errorf("too long: %q", line)
		}
	}
	if got, want := strings.Fields(b.String()), strings.Fields("1. "+words+" end"); !slices.Equal(got, want) {
		t.Errorf("got %q", b.String())
	}
}

func FuzzWrapped(f *testing.F) {
	f.Add("  a b  c\x1b[31mdéf\x1b[0m", 10)
	f.Fuzz(func(t *testing.T, line string, width int) {
		line = strings.ReplaceAll(line, "\n", " ")
		got := wrapped(line, leastColumns+max(0, width%80))
		if strings.Join(strings.Fields(strings.Join(got, " ")), " ") != strings.Join(strings.Fields(line), " ") {
			t.Errorf("%q became %q", line, got)
		}
	})
}

func TestColorsAreForATerminalThatWantsThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		"terminal":       {true, map[string]string{"TERM": "xterm"}, true},
		"pipe":           {false, map[string]string{"TERM": "xterm"}, false},
		"NO_COLOR":       {true, map[string]string{"NO_COLOR": "1"}, false},
		"NO_COLOR empty": {true, map[string]string{"NO_COLOR": ""}, true},
		"dumb":           {true, map[string]string{"TERM": "dumb"}, false},
	} {
		got := colored(tt.terminal, func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		if got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What others wrote cannot bring colors of its own, and without colors the text is the same.
func TestAColorIsNeverAlone(t *testing.T) {
	t.Parallel()
	var with, without bytes.Buffer
	for _, s := range []*sheet{{to: &with, width: columns, colored: true}, {to: &without, width: columns}} {
		tint(s, red, "problem\x1b[2J")
		say(s, " llm/llama\n")
	}
	if got, want := without.String(), "problem\uFFFD[2J llm/llama\n"; got != want {
		t.Errorf("without: %q", got)
	}
	bare := strings.NewReplacer(string(red), "", toneEnd, "").Replace(with.String())
	if bare != without.String() || with.String() == bare {
		t.Errorf("with: %q", with.String())
	}
}
