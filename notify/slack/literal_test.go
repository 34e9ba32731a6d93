package slack

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestForeignTextIsTakenLiterally(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"*bold* _it_ ~s~ `code`":                   "∗bold∗ ＿it＿ ∼s∼ 'code'",
		":smile: a:tada:b :+1::skin-tone-2:":       "∶smile: a∶tada:b ∶+1:∶skin-tone-2:",
		"ends with :smile":                         "ends with ∶smile", // a colon of ours may follow
		":100: and :1234: but 03:22:15 and :8080:": "∶100: and ∶1234: but 03:22:15 and :8080:",
		"asked for by slack:U0ALICE":               "asked for by slack:U0ALICE",
		"> quoted":                                 "› quoted",
		">>> more":                                 "››› more",
		"max_num_batched_tokens 10.0.0.1:8000":     "max_num_batched_tokens 10.0.0.1:8000",
		"a > b, Why: x, https://a.example/b_c":     "a > b, Why: x, https://a.example/b_c",
		"__name__ and _private x_":                 "＿＿name＿＿ and ＿private x＿",
		":日本:":                                     "∶日本:",
		"":                                         "",
	} {
		if got := literal(in); got != want {
			t.Errorf("literal(%q) is %q, want %q", in, got, want)
		}
	}
	if got, want := code("sum by (x) (a:b:rate5m) * 2 `now`", 100), "`sum by (x) (a:b:rate5m) * 2 'now'`"; got != want {
		t.Errorf("code is %q, want %q", got, want) // what people copy stays as it is
	}
}

// formatting is what Slack reads as formatting in mrkdwn, outside of code. It is not how literal looks for it: each
// asterisk, tilde and backtick counts, and each underscore at the border of a word.
func formatting(text string) (marks string, emoji []string) {
	text = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "F")
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "C")
	text = regexp.MustCompile(`<[^<>]*>`).ReplaceAllString(text, "L")
	var b strings.Builder
	runes := []rune(text)
	word := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		if strings.ContainsRune("*~`", r) || r == '_' && (!word(i-1) || !word(i+1)) {
			b.WriteRune(r)
		}
	}
	for _, name := range regexp.MustCompile(`:[\pL\pM\pN_+'-]+:`).FindAllString(text, -1) {
		if strings.ContainsFunc(name, unicode.IsLetter) && strings.ToLower(name) == name {
			emoji = append(emoji, name)
		}
	}
	return b.String(), emoji
}

// mrkdwnOf are the mrkdwn texts of a message, and whether a plain text has names of emoji.
func mrkdwnOf(t *testing.T, blocks any) (mrkdwn []string, emoji bool) {
	t.Helper()
	raw, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			text, _ := v["text"].(string)
			switch v["type"] {
			case "mrkdwn":
				mrkdwn = append(mrkdwn, text)
			case "plain_text":
				emoji = emoji || v["emoji"] != false
			}
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(tree)
	return mrkdwn, emoji
}

// Whatever the texts of others are, a message has the formatting that it has with harmless ones in their place.
func TestTextsOfOthersFormatNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		extra := "*a* _b_ ~c~ `d` :tada: *"
		hostile := newChaos(seed, extra)
		dull := newChaos(seed, extra)
		dull.dull = true
		view := Render(hostile.incident(), ViewOptions{})
		found, emoji := mrkdwnOf(t, view.Blocks)
		if emoji {
			t.Errorf("seed %d: a plain text takes :names: for emoji", seed)
		}
		var marks, want []string
		for _, text := range append(found, view.Text) {
			m, names := formatting(text)
			if len(names) > 0 {
				t.Errorf("seed %d: the emoji %q are live in %q", seed, names, text)
			}
			if strings.Count(m, "*")%2 != 0 || strings.ContainsAny(m, "~`") {
				t.Errorf("seed %d: the formatting %q is not ours in %q", seed, m, text)
			}
			marks = append(marks, m)
		}
		harmless := Render(dull.incident(), ViewOptions{})
		found, _ = mrkdwnOf(t, harmless.Blocks)
		for _, text := range append(found, harmless.Text) {
			m, _ := formatting(text)
			want = append(want, m)
		}
		if len(marks) != len(want) { // another order of the alerts leads to another selection
			continue
		}
		if diff := cmp.Diff(strings.Join(want, ""), strings.Join(marks, "")); diff != "" {
			t.Errorf("seed %d: the formatting is another one than with harmless texts:\n%s", seed, diff)
		}
	}
}

func FuzzLiteral(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, "x")
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		// As messages put them together: bold, in a list, before and behind punctuation of ours.
		for _, text := range []string{
			"*Why:* " + escape(one, 100) + ": " + escape(other, 100) + ".",
			bold(one, 100) + " (" + escape(other, 100) + ")",
			"⚠️ " + defuse(one, 100) + ":" + " " + defuse(other, 100),
			"_" + "more" + "_ " + escape(one, 100) + ", " + escape(other, 100),
		} {
			marks, emoji := formatting(text)
			if len(emoji) > 0 {
				t.Errorf("the emoji %q are live in %q", emoji, text)
			}
			switch strings.Trim(marks, "*_") {
			case "":
			default:
				t.Errorf("live formatting %q in %q", marks, text)
			}
			if n := strings.Count(marks, "*"); n != 0 && n != 2 {
				t.Errorf("%d asterisks in %q", n, text)
			}
			if n := strings.Count(marks, "_"); n != 0 && n != 2 {
				t.Errorf("%d underscores in %q", n, text)
			}
		}
		if got := escape(one, 100); strings.HasPrefix(got, "&gt;") {
			t.Errorf("%q begins a quotation", got)
		}
	})
}
