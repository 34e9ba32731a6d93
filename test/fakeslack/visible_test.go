package fakeslack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyKind is a message with every block and element that the double takes.
var everyKind = `[
	{"type":"header","level":2,"text":{"type":"plain_text","text":"title a &amp; b"}},
	{"type":"section","text":{"type":"mrkdwn","text":"see <https://x.test|the runbook> of <@U0BOB>"},
		"accessory":{"type":"image","slack_file":{"id":"F1"},"alt_text":"picture"}},
	{"type":"context","elements":[{"type":"image","image_url":"https://x.test/a.png","alt_text":"icon"},{"type":"plain_text","text":"small"}]},
	{"type":"image","image_url":"https://x.test/a.png","alt_text":"graph","title":{"type":"plain_text","text":"image title"}},
	{"type":"actions","block_id":"a","elements":[
		{"type":"static_select","action_id":"grouped","placeholder":{"type":"plain_text","text":"pick"},"option_groups":[{"label":{"type":"plain_text","text":"group"},"options":[{"text":{"type":"plain_text","text":"inside"},"value":"in"}]}]},
		{"type":"radio_buttons","action_id":"radio","options":[{"text":{"type":"mrkdwn","text":"*one*"},"value":"1","description":{"type":"plain_text","text":"d"}}]},
		{"type":"timepicker","action_id":"time","initial_time":"10:00"},{"type":"datetimepicker","action_id":"when","initial_date_time":1700000000},
		{"type":"channels_select","action_id":"channel"},{"type":"conversations_select","action_id":"talk"}]},
	{"type":"input","block_id":"i1","label":{"type":"plain_text","text":"how many"},"hint":{"type":"plain_text","text":"a number"},"optional":true,"element":{"type":"number_input","action_id":"n","is_decimal_allowed":false,"min_value":"1"}},
	{"type":"input","block_id":"i2","label":{"type":"plain_text","text":"mail"},"element":{"type":"email_text_input","action_id":"m","initial_value":"a@b.test"}},
	{"type":"data_visualization","title":"chart title","chart":{"type":"line","axis_config":{"categories":["t1","t2"],"x_label":"time","y_label":"ratio"},"series":[{"name":"ttft","data":[{"label":"t2","value":2.5},{"label":"t1","value":1}]}]}},
	{"type":"data_visualization","title":"pie title","chart":{"type":"pie","segments":[{"label":"p1","value":3}]}},
	{"type":"data_table","caption":"table caption","page_size":5,"row_header_column_index":0,"rows":[
		[{"type":"raw_text","text":"head"},{"type":"raw_text","text":"head2"}],
		[{"type":"raw_number","value":7.5},{"type":"raw_number","value":8,"text":"eight"}],
		[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"rich cell"}]}]},
		 {"type":"action_cell","element":{"type":"button","action_id":"cell","text":{"type":"plain_text","text":"cell button"}},"fallback":{"type":"raw_text","text":"-"}}]]},
	{"type":"rich_text","elements":[{"type":"rich_text_quote","elements":[{"type":"link","url":"https://x.test"},{"type":"user","user_id":"U0BOB"},{"type":"channel","channel_id":"C0INCIDENTS"},
		{"type":"usergroup","usergroup_id":"S0ONCALL"},{"type":"broadcast","range":"here"},{"type":"emoji","name":"fire"},{"type":"date","timestamp":1,"format":"{date}","fallback":"then"},{"type":"text","text":"leaf","style":{"italic":true,"strike":true,"code":true}}]},
		{"type":"rich_text_preformatted","elements":[{"type":"text","text":"pre"}]}]}
]`

func TestEveryKindIsTakenShownAndRead(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	ts := postBlocks(t, s, everyKind)
	m, _ := s.Message(room, ts)
	for _, want := range []string{"title a &amp; b", "see the runbook of @U0BOB", "small", "image title", "how many", "a number", "chart title", "ttft", "ratio", "pie title", "table caption", "head", "7.5", "eight", "rich cell", "cell button", "leaf"} {
		if !strings.Contains(m.VisibleText(), want) {
			t.Errorf("visible text lacks %q: %s", want, m.VisibleText())
		}
	}
	if m.Versions[0].VisibleText() != m.VisibleText() {
		t.Error("the first version reads differently")
	}
	_, page := fetch(t, s, "/")
	for _, want := range []string{
		`<h3 class="header level-2">title a &amp;amp; b</h3>`, "🖼 picture", "🖼 icon", "🖼 graph", "image title", "pick", `<option value="in">inside</option>`, `<option value="1">*one*</option>`,
		"[timepicker]", "how many", "(optional)", "a number", `value="a@b.test"`, "table caption", `<td class="number">7.5</td>`, "eight", "<p>rich cell</p>", "cell button", "@bob", "#incidents", "@oncall", "@here", "🔥", "then", "<code><s><em>leaf</em></s></code>", "<pre>pre</pre>", `<path d="M`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	buttons := m.Buttons()
	if len(buttons) != 1 || buttons[0].ActionID != "cell" {
		t.Errorf("buttons = %+v, want the one in the table", buttons)
	}
	if _, ok := m.Button("approve"); ok {
		t.Error("found a button that is not there")
	}
}

func TestChartsAreReadBackInTheOrderOfTheirCategories(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	m, _ := s.Message(room, postBlocks(t, s, everyKind))
	want := []Chart{
		{Title: "chart title", Type: "line", Labels: []string{"t1", "t2"}, XLabel: "time", YLabel: "ratio", Series: []ChartSeries{{Name: "ttft", Values: []float64{1, 2.5}}}},
		{Title: "pie title", Type: "pie", Labels: []string{"p1"}, Series: []ChartSeries{{Name: "pie title", Values: []float64{3}}}},
	}
	if diff := cmp.Diff(want, m.Charts()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryElementCanBeUsedByTheRightPerson(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	b := startBot(t, s, nil)
	ts := postBlocks(t, s, everyKind)
	for action, option := range map[string]string{"grouped": "in", "radio": "1", "time": "11:00", "channel": room, "talk": room, "cell": "", "n": "3", "m": "b@c.test"} {
		if _, err := s.Click(t.Context(), ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: action, Option: option}); err != nil {
			t.Errorf("%s: %v", action, err)
			continue
		}
		if got := b.last(t).ActionCallback.BlockActions[0]; got.ActionID != action {
			t.Errorf("%s: the bot got %+v", action, got)
		}
	}
	if _, err := s.Click(t.Context(), ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: "when"}); err == nil {
		t.Error("an element that the double cannot use was used")
	}
}
