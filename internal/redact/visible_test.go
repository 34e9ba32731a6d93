package redact

import (
	"strings"
	"testing"
	"unicode"
)

func TestWhatCannotBeSeenIsReplaced(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "",
		"Größe 日本語\tand\r\nnext ✅ ⚠️": "Größe 日本語\tand\nnext ✅ ⚠️",
		"a\u202egnp.exe":                        "a\ufffdgnp.exe",
		"\u2066x\u2069 \u200fy \u061cz":         "\ufffdx\ufffd \ufffdy \ufffdz",
		"chat\u200b-prod\u2060 \ufeffx\u00ad":   "chat\ufffd-prod\ufffd \ufffdx\ufffd",
		"\x1b[31m\x00\x7f\u009b":                "\ufffd[31m\ufffd\ufffd\ufffd",
		"tag \U000e0041\U000e007f, none \uffff": "tag \ufffd\ufffd, none \ufffd",
		"a\rb":                                  "a\ufffdb",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) is %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\r\n\x00")
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		if strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.Is(unicode.Cf, r) || unicode.IsControl(r))
		}) {
			t.Errorf("%q is left of %q", got, s)
		}
		if Visible(got) != got {
			t.Errorf("%q changes again", got)
		}
	})
}
