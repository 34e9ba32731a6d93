package fakeslack

import (
	"regexp"
	"strings"
	"testing"
)

func TestMrkdwnIsRenderedSafely(t *testing.T) {
	t.Parallel()
	r := renderer{names: map[string]string{"U0BOB": "bob", "C0INCIDENTS": "incidents", "S0ONCALL": "oncall"}}
	const link = ` target="_blank" rel="noopener noreferrer">`
	tests := []struct{ name, in, want string }{
		{"bold, italic, strike", "*a* _b_ ~c~", "<strong>a</strong> <em>b</em> <s>c</s>"},
		{
			"in a row and in another", "*a* *b*, (*_c_*)",
			"<strong>a</strong> <strong>b</strong>, (<strong><em>c</em></strong>)",
		},
		{"not inside words", "max_num_batched_tokens 2*3*4", "max_num_batched_tokens 2*3*4"},
		{"not around spaces", "2 * 3 * 4", "2 * 3 * 4"},
		{"not over lines", "*a\nb*", "*a<br>b*"},
		{"code", "`a*b*<c>`", "<code>a*b*c</code>"},
		{"preformatted", "```\nx *y*\n```", "<pre>x *y*\n</pre>"},
		{"quote", "> said\n&gt; too", "<blockquote>said</blockquote><br><blockquote>too</blockquote>"},
		{"entities", "a &lt;b&gt; &amp;amp; &copy;", "a &lt;b&gt; &amp;amp; &amp;copy;"},
		{"raw markup", `<script>alert(1)</script> "'`, "&lt;script&gt;alert(1)&lt;/script&gt; &#34;&#39;"},
		{
			"link", "<https://x.test/?a=1&amp;b=2|the *page*>",
			`<a href="https://x.test/?a=1&amp;b=2"` + link + "the *page*</a>",
		},
		{"link without label", "<https://x.test>", `<a href="https://x.test"` + link + "https://x.test</a>"},
		{"link that would run", "<javascript:alert(1)|click>", "click"},
		{
			"link that breaks out", `<https://x.test/"onmouseover="x|y>`,
			`<a href="https://x.test/%22onmouseover=%22x"` + link + "y</a>",
		},
		{"bare URL", "see https://x.test now", `see <a href="https://x.test"` + link + "https://x.test</a> now"},
		{
			"mentions", "<@U0BOB> <#C0INCIDENTS> <!subteam^S0ONCALL> <!here> <@U9|nine>",
			`<span class="mention">@bob</span> <span class="mention">#incidents</span> <span class="mention">@oncall</span> ` +
				`<span class="mention">@here</span> <span class="mention">@nine</span>`,
		},
		{"date", "<!date^1^{date}|1970>", "1970"},
		{"own marks from outside", mark + "0" + mark + " `x`", "0 <code>x</code>"},
	}
	for _, tt := range tests {
		if got := string(r.mrkdwn(tt.in)); got != tt.want {
			t.Errorf("%s: mrkdwn(%q) =\n%s, want\n%s", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestPlainTextHasNoMarkup(t *testing.T) {
	t.Parallel()
	if got := string(renderer{}.plain("*a* <b>\n2")); got != "*a* &lt;b&gt;<br>2" {
		t.Errorf("plain = %s", got)
	}
}

// ownTag is every tag that the renderers write.
var ownTag = regexp.MustCompile(
	`^</?(strong|em|s|code|pre|blockquote|br|span|a)( class="mention"| href="(https?|mailto):[^"<>]*" target="_blank" ` +
		`rel="noopener noreferrer")?>`,
)

func FuzzRenderingWritesNoForeignTags(f *testing.F) {
	for _, seed := range []string{
		"*a* _b_ `c` ```d``` <https://x.test|y> <@U1> > q", `<javascript:x|"><img src=x onerror=1>`,
		"[x](https://y.test\"onclick=\"z)", mark + "1" + mark, "<!date^|<b>>", "*_~`", ":x:", "\x00<\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r renderer
		for _, out := range []string{string(r.mrkdwn(text)), string(r.plain(text))} {
			for i := strings.Index(out, "<"); i >= 0; i = nextIndex(out, "<", i+1) {
				if !ownTag.MatchString(out[i:]) {
					t.Fatalf("from %q came %q", text, out[i:])
				}
			}
		}
	})
}
