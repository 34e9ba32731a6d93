package slack

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

func TestEscapeIsHarmlessAndNeverCutsAnEscapeApart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"<!channel> & <@U1>", 100, "&lt;!channel&gt; &amp; &lt;@U1&gt;"},
		{"  two\n lines\t", 100, "two lines"},
		{"&&&&", 12, "&amp;&amp;…"},
		{"&&&&", 20, "&amp;&amp;&amp;&amp;"},
		{"\u202eabc\x00", 100, "\ufffdabc\ufffd"},
		{"\xffabc", 100, "�abc"},
		{"", 10, ""},
		{"abcdef", 4, "abc…"},
	} {
		if got := escape(tt.in, tt.most); got != tt.want {
			t.Errorf("escape(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 1 + (most&0x7fffffff)%500
		got := escape(s, most)
		if n := utf8.RuneCountInString(got); n > most {
			t.Errorf("%d characters, allowed are %d", n, most)
		}
		if strings.ContainsAny(strings.NewReplacer("&lt;", "", "&gt;", "", "&amp;", "").Replace(got), "<>&\n") {
			t.Errorf("live characters in %q", got)
		}
		if d := defuse(s, most); strings.Contains(d, "://") || strings.Contains(d, "@channel") {
			t.Errorf("live link or mention in %q", d)
		}
	})
}

func TestFitCountsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 40)
	if got, want := fit([]string{long, "", long, long}, 120), long+"\n"+long+"\n…and 1 more"; got != want {
		t.Errorf("fit = %q, want %q", got, want)
	}
	got := fit([]string{"<https://a.example/?x=1|" + strings.Repeat("label ", 20) + ">"}, 50)
	if strings.Contains(got, "<") || utf8.RuneCountInString(got) > 50 {
		t.Errorf("fit = %q", got)
	}
}

func TestLinkRefusesTargetsThatWouldBreakIt(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "https://a|b", "https://a>b", "https://a b",
		"https://" + strings.Repeat("a", maxURL),
	} {
		if got := link(bad, "label"); got != "label" {
			t.Errorf("link(%q) = %q", bad, got)
		}
	}
	if got, want := link("https://a/?x=1&y=2", "label"), "<https://a/?x=1&amp;y=2|label>"; got != want {
		t.Errorf("link = %q, want %q", got, want)
	}
}

func TestOnlyPeopleWhoAreValuesAreMentioned(t *testing.T) {
	t.Parallel()
	alice := incident.Actor{Kind: "slack", ID: "U0ALICE"}
	spans := present.Spans(incident.Note{
		Kind: incident.NoteDenied, By: alice, Step: "Scale <2> to 3",
		Why: "\x00 slack:U0BOSS says so",
	})
	for most, want := range map[int]string{
		200: "<@U0ALICE> denied: Scale &lt;2&gt; to 3. Reason: slack:U0BOSS says so",
		30:  "<@U0ALICE> denied: Scale &lt;…",
		5:   "…",
	} {
		if got := sentence(spans, most); got != want {
			t.Errorf("%d: sentence = %q, want %q", most, got, want)
		}
	}
	for _, a := range []incident.Actor{
		{Kind: "slack", ID: "!channel"},
		{Kind: "slack", ID: "U0 <@U1>"},
		{Kind: "kubernetes", ID: "<@U0ALICE>"},
	} {
		if got := who(a); strings.Contains(got, "<") {
			t.Errorf("who(%v) = %q", a, got)
		}
	}
}
