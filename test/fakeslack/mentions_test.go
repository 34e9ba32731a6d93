package fakeslack

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
)

func TestLiveMentions(t *testing.T) {
	t.Parallel()
	mrk := func(s string) string {
		return fmt.Sprintf(`[{"type":"section","text":{"type":"mrkdwn","text":%q}}]`, s)
	}
	tests := []struct {
		name, text, blocks string
		want               []string // kind text
	}{
		{"plain words", "all is well", mrk("a < b & *c*"), nil},
		{"everyone in the text", "<!channel> look", "", []string{"everyone <!channel>"}},
		{
			"everyone in blocks", "x", mrk("<!here|here> <!everyone>"),
			[]string{"everyone <!here|here>", "everyone <!everyone>"},
		},
		{
			"a user and a group", "x", mrk("<@U0BOB> <!subteam^S0ONCALL|oncall>"),
			[]string{"user <@U0BOB>", "usergroup <!subteam^S0ONCALL|oncall>"},
		},
		{"a channel", "x", mrk("<#C0INCIDENTS>"), []string{"channel <#C0INCIDENTS>"}},
		{"a link with a false label", "x", mrk("<https://evil.test/x|runbook>"), []string{"link https://evil.test/x"}},
		{"an allowed link", "x", mrk("<https://medic.test/incidents/1|incident> https://medic.test/y"), nil},
		{"a URL in words", "x", mrk("see https://evil.test/x."), []string{"bare_link https://evil.test/x."}},
		{"a name in words", "x", mrk("hello @channel, mail bob@here.test"), []string{"bare_everyone @channel"}},
		{"escaped", "x", mrk("&lt;!channel&gt; &lt;https://evil.test|x&gt;"), []string{"bare_link https://evil.test"}},
		{
			"verbatim", "x",
			`[{"type":"section","text":{"type":"mrkdwn","verbatim":true,"text":"@here https://evil.test <!here>"}}]`,
			[]string{"everyone <!here>"},
		},
		{
			"plain_text is never live", "x",
			`[{"type":"section","text":{"type":"plain_text","text":"<!channel> https://evil.test"}}]`, nil,
		},
		{
			"rich text has no syntax", "x", `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":` +
				`[{"type":"text","text":"<!channel> <@U0BOB> @here https://evil.test <https://evil.test|x>"}]}]}]`, nil,
		},
		{
			"a person in a rich text", "x", `[{"type":"rich_text","elements":[{"type":"rich_text_list","style":"bullet",` +
				`"elements":[{"type":"rich_text_section","elements":[{"type":"user","user_id":"U0BOB"}]}]}]}]`,
			[]string{"user <@U0BOB>"},
		},
		{"a date is only formatting", "x", mrk("<!date^1700000000^{date}|then>"), nil},
		{
			"in fields and context", "x",
			`[{"type":"section","fields":[{"type":"mrkdwn","text":"<!here>"}]},{"type":"context",` +
				`"elements":[{"type":"mrkdwn","text":"<@U1>"}]}]`,
			[]string{"everyone <!here>", "user <@U1>"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, Options{AllowedLinks: []string{"https://medic.test/"}})
			out := call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": tt.text, "blocks": tt.blocks})
			if out["ok"] != true {
				t.Fatal(out)
			}
			var got []string
			for _, m := range s.LiveMentions() {
				got = append(got, m.Kind+" "+m.Text)
				if m.Channel != room || m.At == "" {
					t.Errorf("mention = %+v, want where it stands", m)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLiveMentionsCoverRepliesAndPrivateAnswersButNotPeople(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	s.PostAs("U0BOB", room, "<!channel> from a person", "")
	root := postBlocks(t, s, oneButton)
	if _, _, err := client.PostMessageContext(t.Context(), room, slack.MsgOptionText("<@U1>", false),
		slack.MsgOptionTS(root)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PostEphemeralContext(t.Context(), room, "U0BOB",
		slack.MsgOptionText("<!here>", false)); err != nil {
		t.Fatal(err)
	}
	got := s.LiveMentions()
	if len(got) != 2 || got[0].Kind != "user" || got[0].Private || got[1].Kind != "everyone" || !got[1].Private {
		t.Errorf("mentions = %+v", got)
	}
}
