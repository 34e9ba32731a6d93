package fakeslack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// a returns n characters; every second one has two bytes, because limits count
// characters.
func a(n int) string { return strings.Repeat("aé", n/2) + strings.Repeat("a", n%2) }

func list(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func plainText(n int) string { return fmt.Sprintf(`{"type":"plain_text","text":%q}`, a(n)) }

func mrkdwnText(n int) string { return fmt.Sprintf(`{"type":"mrkdwn","text":%q}`, a(n)) }

func buttonWith(fields string) string {
	return `{"type":"button","text":` + plainText(3) + fields + `}`
}

func actions(elements string) string { return `[{"type":"actions","elements":` + elements + `}]` }

func selectOf(options string) string {
	return actions(`[{"type":"static_select","action_id":"s","options":` + options + `}]`)
}

func optionWith(text, value string) string {
	return `{"text":` + text + `,"value":` + fmt.Sprintf("%q", value) + `}`
}

func confirmWith(title, text, confirm, deny int) string {
	return actions("[" + buttonWith(`,"confirm":{"title":`+plainText(title)+`,"text":`+mrkdwnText(text)+
		`,"confirm":`+plainText(confirm)+`,"deny":`+plainText(deny)+`}`) + "]")
}

// chartWith has series named by names, with points points each.
func chartWith(kind string, title, series, points, label, axisLabel int) string {
	name := padded
	categories := list(points, func(i int) string { return fmt.Sprintf("%q", name("c", i, label)) })
	data := list(points, func(i int) string { return fmt.Sprintf(`{"label":%q,"value":%d}`, name("c", i, label), i) })
	return fmt.Sprintf(`[{"type":"data_visualization","title":%q,"chart":{"type":%q,"series":%s,`+
		`"axis_config":{"categories":%s,"x_label":%q,"y_label":%q}}}]`,
		a(title), kind,
		list(series, func(i int) string { return fmt.Sprintf(`{"name":%q,"data":%s}`, name("s", i, label), data) }),
		categories, a(axisLabel), a(axisLabel))
}

// padded returns a distinct name of exactly length characters.
func padded(prefix string, i, length int) string {
	head := fmt.Sprintf("%s%02d", prefix, i)
	return head + a(length-len(head))
}

func TestBlockLimitsPassAtTheLimitAndFailOneOver(t *testing.T) {
	t.Parallel()
	section := func(text string) string { return `[{"type":"section","text":` + text + `}]` }
	header := func(n int) string { return `[{"type":"header","text":` + plainText(n) + `}]` }
	fields := func(n, length int) string {
		return `[{"type":"section","fields":` + list(n, func(int) string { return mrkdwnText(length) }) + `}]`
	}
	cells := func(rows, columns int, cell string) string {
		return `[{"type":"table","rows":` + list(rows, func(int) string {
			return list(columns, func(int) string { return cell })
		}) + `}]`
	}
	cell := func(n int) string { return fmt.Sprintf(`{"type":"raw_text","text":%q}`, a(n)) }
	tests := []struct {
		name     string
		at, over string
		code     string // what over answers; "" is invalid_blocks
		detail   string // part of the details of over
	}{
		{
			"50 blocks", list(50, func(int) string { return `{"type":"divider"}` }),
			list(51, func(int) string { return `{"type":"divider"}` }), "",
			"no more than 50 items allowed [json-pointer:/blocks]",
		},
		{
			"section text 3000", section(mrkdwnText(3000)), section(mrkdwnText(3001)), "",
			"must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
		},
		{
			"section text not empty", section(plainText(1)), section(plainText(0)), "",
			"must be more than 0 characters [json-pointer:/blocks/0/text/text]",
		},
		{"section text or fields", fields(1, 1), `[{"type":"section"}]`, "", "must define either `text` or `fields`"},
		{"10 fields", fields(10, 10), fields(11, 10), "", "[json-pointer:/blocks/0/fields]"},
		{
			"fields of 2000", fields(2, 2000), fields(2, 2001), "",
			"must be less than 2001 characters [json-pointer:/blocks/0/fields/1/text]",
		},
		{"header 150", header(150), header(151), "", "must be less than 151 characters [json-pointer:/blocks/0/text/text]"},
		{
			"header is plain_text", header(1), `[{"type":"header","text":` + mrkdwnText(1) + `}]`, "",
			"[json-pointer:/blocks/0/text/type]",
		},
		{
			"header level 4", `[{"type":"header","level":4,"text":` + plainText(1) + `}]`,
			`[{"type":"header","level":5,"text":` + plainText(1) + `}]`, "", "/blocks/0/level",
		},
		{
			"10 context elements", `[{"type":"context","elements":` + list(10, func(int) string { return mrkdwnText(2) }) + `}]`,
			`[{"type":"context","elements":` + list(11, func(int) string { return mrkdwnText(2) }) + `}]`, "",
			"no more than 10 items",
		},
		{
			"25 actions", actions(list(25, func(int) string { return buttonWith("") })),
			actions(list(26, func(int) string { return buttonWith("") })), "",
			"no more than 25 items allowed [json-pointer:/blocks/0/elements]",
		},
		{"one action at least", actions("[" + buttonWith("") + "]"), actions("[]"), "", "no less than 1 items"},
		{
			"button text 75", actions(`[{"type":"button","text":` + plainText(75) + `}]`),
			actions(`[{"type":"button","text":` + plainText(76) + `}]`), "", "must be less than 76",
		},
		{
			"button value 2000", actions("[" + buttonWith(`,"value":"`+a(2000)+`"`) + "]"),
			actions("[" + buttonWith(`,"value":"`+a(2001)+`"`) + "]"), "", "elements/0/value",
		},
		{
			"button url 3000", actions("[" + buttonWith(`,"url":"https://x.test/`+a(3000-15)+`"`) + "]"),
			actions("[" + buttonWith(`,"url":"https://x.test/`+a(3001-15)+`"`) + "]"), "", "elements/0/url",
		},
		{
			"button url is a URL", actions("[" + buttonWith(`,"url":"https://x.test/"`) + "]"),
			actions("[" + buttonWith(`,"url":"over there"`) + "]"), "", "must be a valid URL",
		},
		{
			"button style", actions("[" + buttonWith(`,"style":"danger"`) + "]"),
			actions("[" + buttonWith(`,"style":"green"`) + "]"), "", "valid enum value",
		},
		{
			"action_id 255", actions("[" + buttonWith(`,"action_id":"`+a(255)+`"`) + "]"),
			actions("[" + buttonWith(`,"action_id":"`+a(256)+`"`) + "]"), "", "elements/0/action_id",
		},
		{
			"action_id unique in its block",
			actions("[" + buttonWith(`,"action_id":"x"`) + "," + buttonWith(`,"action_id":"y"`) + "]"),
			actions("[" + buttonWith(`,"action_id":"x"`) + "," + buttonWith(`,"action_id":"x"`) + "]"), "",
			"`action_id` already exists",
		},
		{
			"block_id 255", `[{"type":"divider","block_id":"` + a(255) + `"}]`,
			`[{"type":"divider","block_id":"` + a(256) + `"}]`, "", "/blocks/0/block_id",
		},
		{
			"block_id unique", `[{"type":"divider","block_id":"x"},{"type":"divider","block_id":"y"}]`,
			`[{"type":"divider","block_id":"x"},{"type":"divider","block_id":"x"}]`, "",
			"`block_id` already exists [json-pointer:/blocks/1/block_id]",
		},
		{"confirm title 100", confirmWith(100, 1, 1, 1), confirmWith(101, 1, 1, 1), "", "confirm/title/text"},
		{"confirm text 300", confirmWith(1, 300, 1, 1), confirmWith(1, 301, 1, 1), "", "confirm/text/text"},
		{"confirm button 30", confirmWith(1, 1, 30, 1), confirmWith(1, 1, 31, 1), "", "confirm/confirm/text"},
		{"deny button 30", confirmWith(1, 1, 1, 30), confirmWith(1, 1, 1, 31), "", "confirm/deny/text"},
		{
			"100 options", selectOf(list(100, func(i int) string { return optionWith(plainText(2), fmt.Sprint(i)) })),
			selectOf(list(101, func(i int) string { return optionWith(plainText(2), fmt.Sprint(i)) })), "",
			"no more than 100 items",
		},
		{
			"option text 75", selectOf("[" + optionWith(plainText(75), "v") + "]"),
			selectOf("[" + optionWith(plainText(76), "v") + "]"), "", "options/0/text/text",
		},
		{
			"option value 75", selectOf("[" + optionWith(plainText(2), a(75)) + "]"),
			selectOf("[" + optionWith(plainText(2), a(76)) + "]"), "", "options/0/value",
		},
		{
			"5 overflow options",
			actions(`[{"type":"overflow","options":` + list(5, func(int) string { return optionWith(plainText(2), "v") }) +
				`}]`), actions(`[{"type":"overflow","options":` +
				list(6, func(int) string { return optionWith(plainText(2), "v") }) + `}]`), "", "no more than 5 items",
		},
		{"table rows 100", cells(100, 1, cell(1)), cells(101, 1, cell(1)), "", "no more than 100 items"},
		{"table cells 20", cells(1, 20, cell(1)), cells(1, 21, cell(1)), "", "1 to 20 cells"},
		{"table text 10000", cells(5, 1, cell(2000)), cells(5, 1, cell(2001)), "", "less than 10001 characters together"},
		{
			"one table", cells(1, 1, cell(1)),
			strings.TrimSuffix(cells(1, 1, cell(1)), "]") + "," + strings.TrimPrefix(cells(1, 1, cell(1)), "["),
			"invalid_attachments", "only_one_table_allowed",
		},
		{"chart title 50", chartWith("line", 50, 1, 1, 3, 1), chartWith("line", 51, 1, 1, 3, 1), "", "/blocks/0/title"},
		{"chart 6 series", chartWith("line", 1, 6, 2, 3, 1), chartWith("line", 1, 7, 2, 3, 1), "", "chart/series"},
		{"chart 1 series", chartWith("line", 1, 1, 2, 3, 1), chartWith("line", 1, 0, 2, 3, 1), "", "chart/series"},
		{"chart 20 points", chartWith("line", 1, 2, 20, 3, 1), chartWith("line", 1, 2, 21, 3, 1), "", "series/0/data"},
		{"chart 1 point", chartWith("line", 1, 1, 1, 3, 1), chartWith("line", 1, 1, 0, 3, 1), "", "series/0/data"},
		{
			"chart labels 20", chartWith("line", 1, 1, 2, 20, 1), chartWith("line", 1, 1, 2, 21, 1), "",
			"must be less than 21 characters",
		},
		{
			"chart axis labels 50", chartWith("line", 1, 1, 2, 3, 50), chartWith("line", 1, 1, 2, 3, 51), "",
			"axis_config/x_label",
		},
		{"chart type", chartWith("line", 1, 1, 2, 3, 1), chartWith("scatter", 1, 1, 2, 3, 1), "", "chart/type"},
		{"2 charts", charts(2), charts(3), "", "no more than 2 data_visualization blocks"},
		{"text of all blocks 13200", list(5, func(i int) string {
			return `{"type":"section","text":` + mrkdwnText([]int{3000, 3000, 3000, 3000, 1200}[i]) + `}`
		}), list(5, func(i int) string {
			return `{"type":"section","text":` + mrkdwnText([]int{3000, 3000, 3000, 3000, 1201}[i]) + `}`
		}), "msg_blocks_too_long", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, Options{})
			if out := call(t, s, "chat.postMessage",
				map[string]string{"channel": room, "text": "x", "blocks": tt.at}); out["ok"] != true {
				t.Fatalf("at the limit: %v", out)
			}
			code := tt.code
			if code == "" {
				code = "invalid_blocks"
			}
			s.ExpectError("chat.postMessage", code, 1)
			out := call(t, s, "chat.postMessage", map[string]string{"channel": room, "text": "x", "blocks": tt.over})
			if out["ok"] != false || out["error"] != code || out["http_status"] != 200 {
				t.Fatalf("one over: %v, want %s", out, code)
			}
			if all := fmt.Sprint(out["errors"]); tt.detail != "" && !strings.Contains(all, tt.detail) {
				t.Errorf("errors = %s, want %q in them", all, tt.detail)
			}
			if tt.detail != "" && !strings.Contains(fmt.Sprint(out["response_metadata"]), "[ERROR] ") {
				t.Errorf("response_metadata = %v, want messages", out["response_metadata"])
			}
			if n := len(s.Messages(room)); n != 1 {
				t.Errorf("%d messages in the channel, want the first only", n)
			}
		})
	}
}

func TestBlocksThatSlackRejects(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, blocks, code, detail string }{
		{
			"alert in a message", `[{"type":"alert","text":` + plainText(3) + `}]`, "invalid_blocks",
			"unsupported type: alert [json-pointer:/blocks/0]",
		},
		{"a chart that the bot does not send", chartWith("bar", 1, 1, 2, 3, 1), "invalid_blocks", "chart/type"},
		{
			"rich text in a table", `[{"type":"table","rows":[[{"type":"rich_text","elements":[]}]]}]`, "invalid_blocks",
			"unsupported type: rich_text",
		},
		{"unknown block", `[{"type":"hologram"}]`, "invalid_blocks", "unsupported type: hologram"},
		{
			"unknown property", actions("[" + buttonWith(`,"disabled":true`) + "]"), "invalid_blocks",
			"invalid additional property: disabled [json-pointer:/blocks/0/elements/0]",
		},
		{
			"an input in actions", actions(`[{"type":"plain_text_input"}]`), "invalid_blocks",
			"unsupported type: plain_text_input",
		},
		{
			"mrkdwn on a button", actions(`[{"type":"button","text":` + mrkdwnText(2) + `}]`), "invalid_blocks",
			"elements/0/text/type",
		},
		{
			"emoji in mrkdwn", `[{"type":"section","text":{"type":"mrkdwn","text":"x","emoji":true}}]`, "invalid_blocks",
			"invalid additional property: emoji",
		},
		{"no text in a button", actions(`[{"type":"button"}]`), "invalid_blocks", "missing required field: text"},
		{
			"confirm without deny",
			actions("[" +
				buttonWith(`,"confirm":{"title":`+plainText(1)+`,"text":`+plainText(1)+`,"confirm":`+plainText(1)+`}`) + "]"),
			"invalid_blocks", "missing required field: deny",
		},
		{
			"rows of different width",
			`[{"type":"table","rows":[[{"type":"raw_text","text":"a"}],[{"type":"raw_text","text":"a"},` +
				`{"type":"raw_text","text":"b"}]]}]`, "invalid_blocks", "as many cells as the first row",
		},
		{
			"series with one name",
			`[{"type":"data_visualization","title":"t","chart":{"type":"line","axis_config":{"categories":["a"]},` +
				`"series":[{"name":"x","data":[{"label":"a","value":1}]},{"name":"x","data":[{"label":"a","value":1}]}]}}]`,
			"invalid_blocks", "series names must be unique",
		},
		{
			"a value that is text",
			`[{"type":"data_visualization","title":"t","chart":{"type":"line","axis_config":{"categories":["a"]},` +
				`"series":[{"name":"x","data":[{"label":"a","value":"1"}]}]}}]`, "invalid_blocks", "must be a number",
		},
		{"not JSON", `[{`, "invalid_blocks_format", ""},
		{"not a list", `{"type":"divider"}`, "invalid_blocks_format", ""},
		{"a list of texts", `["divider"]`, "invalid_blocks_format", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, e := checkMessageBlocks(tt.blocks)
			if e == nil || e.code != tt.code || !strings.Contains(strings.Join(e.details, "\n"), tt.detail) {
				t.Errorf("error = %+v, want %s with %q", e, tt.code, tt.detail)
			}
		})
	}
}

func TestBlocksComeBackWithTheIDsThatSlackFillsIn(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	ts := postBlocks(t, s,
		`[{"type":"section","text":{"type":"mrkdwn","text":"a < b"},"accessory":`+buttonWith("")+
			`},{"type":"divider","block_id":"mine"}]`)
	m, _ := s.Message(room, ts)
	var blocks []struct {
		BlockID string `json:"block_id"`
		Text    struct {
			Text     string
			Verbatim *bool
		}
		Accessory struct {
			ActionID string `json:"action_id"`
		}
	}
	if err := json.Unmarshal(m.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	if blocks[0].BlockID == "" || blocks[0].Accessory.ActionID == "" || blocks[0].Text.Verbatim == nil ||
		*blocks[0].Text.Verbatim {
		t.Errorf("section = %+v, want ids and verbatim:false filled in", blocks[0])
	}
	if blocks[1].BlockID != "mine" || blocks[0].Text.Text != "a < b" {
		t.Errorf("blocks = %s, want what was sent to stay", m.Blocks)
	}
}

func FuzzMessageBlocksNeverPanicAndStayValid(f *testing.F) {
	for _, seed := range []string{
		oneButton, charts(2), selectOf("[" + optionWith(plainText(2), "v") + "]"),
		`[{"type":"table","rows":[[{"type":"raw_number","value":1}]],"column_settings":[null]}]`, `[null]`,
		`[{"type":"section","fields":[null,3]}]`, `[{"type":"header","level":1e300,"text":null}]`, `null`, ``,
		confirmWith(1, 1, 1, 1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		tree, e := checkMessageBlocks(raw)
		if e != nil {
			if e.code == "" {
				t.Fatal("refused without a reason")
			}
			return
		}
		s := New(Options{})
		stored := s.completeBlocks(tree)
		if _, e := checkMessageBlocks(string(stored)); e != nil && !strings.Contains(raw, "blk0") &&
			!strings.Contains(raw, "act0") {
			t.Fatalf("accepted %q, then refused what is stored %s: %v %v", raw, stored, e.code, e.details)
		}
		page := s.renderer().pageBlocks("", stored, nil)
		if want := max(1, len(tree)); len(page) != want { // without blocks the text is one
			t.Fatalf("%d blocks on the page, want %d", len(page), want)
		}
		visibleText("", stored)
		interactives(stored)
	})
}
