package fakeslack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyKind is a message with every block and element that the double takes.
var everyKind = `[
	{"type":"header","level":2,"text":{"type":"plain_text","text":"title a &amp; b"}},
	{"type":"section","text":{"type":"mrkdwn","text":"see <https://x.test|the runbook> of <@U0BOB>"}},
	{"type":"context","elements":[{"type":"plain_text","text":"small"}]},
	{"type":"actions","block_id":"a","elements":[
		{"type":"button","action_id":"go","text":{"type":"plain_text","text":"press"}},
		{"type":"static_select","action_id":"pick","placeholder":{"type":"plain_text","text":"pick"},
			"options":[{"text":{"type":"plain_text","text":"inside"},"value":"in"}]},
		{"type":"radio_buttons","action_id":"radio","options":[{"text":{"type":"mrkdwn","text":"*one*"},"value":"1",
			"description":{"type":"plain_text","text":"d"}}]}]},
	{"type":"input","block_id":"i1","label":{"type":"plain_text","text":"how many"},
		"hint":{"type":"plain_text","text":"a number"},"optional":true,
		"element":{"type":"number_input","action_id":"n","is_decimal_allowed":false,"min_value":"1"}},
	{"type":"input","block_id":"i2","label":{"type":"plain_text","text":"why"},
		"element":{"type":"plain_text_input","action_id":"m","initial_value":"because"}},
	{"type":"data_visualization","title":"chart title","chart":{"type":"line",
		"axis_config":{"categories":["t1","t2"],"x_label":"time","y_label":"ratio"},
		"series":[{"name":"ttft","data":[{"label":"t2","value":2.5},{"label":"t1","value":1}]}]}},
	{"type":"table","rows":[
		[{"type":"raw_text","text":"head"},{"type":"raw_text","text":"head2"}],
		[{"type":"raw_number","value":7.5},{"type":"raw_number","value":8,"text":"eight"}]]}
]`

func TestEveryKindIsTakenReadShownAndUsed(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	b := startBot(t, s, nil)
	ts := postBlocks(t, s, everyKind)
	m, _ := s.Message(room, ts)
	for _, want := range []string{
		"title a &amp; b", "see the runbook of @U0BOB", "small", "how many", "a number",
		"chart title", "ttft", "ratio", "head", "7.5", "eight", "press",
	} {
		if !strings.Contains(m.VisibleText(), want) {
			t.Errorf("visible text lacks %q: %s", want, m.VisibleText())
		}
	}
	_, page := fetch(t, s, "/")
	for _, want := range []string{
		`<h3 class="header level-2">title a &amp;amp; b</h3>`, "pick", `<option value="in">inside</option>`,
		`<option value="1">*one*</option>`,
		"how many", "(optional)", "a number", `value="because"`, `<td class="number">7.5</td>`, "eight", "@bob",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	chart := []Chart{{
		Title: "chart title", Type: "line", Labels: []string{"t1", "t2"}, XLabel: "time", YLabel: "ratio",
		Series: []ChartSeries{{Name: "ttft", Values: []float64{1, 2.5}}},
	}}
	if diff := cmp.Diff(chart, m.Charts()); diff != "" {
		t.Errorf("charts in the order of their categories: %s", diff)
	}
	if _, ok := m.Button("approve"); ok || len(m.Buttons()) != 1 {
		t.Errorf("buttons = %+v, want one", m.Buttons())
	}
	for action, option := range map[string]string{"go": "", "pick": "in", "radio": "1", "n": "3", "m": "so"} {
		if _, err := s.Click(t.Context(),
			ClickRequest{User: "U0BOB", Channel: room, MessageTS: ts, ActionID: action, Option: option}); err != nil {
			t.Errorf("%s: %v", action, err)
			continue
		}
		if got := b.last(t).ActionCallback.BlockActions[0]; got.ActionID != action {
			t.Errorf("%s: the bot got %+v", action, got)
		}
	}
}
