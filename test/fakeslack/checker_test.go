package fakeslack

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
)

// everyKind is a message with every block, element and property that the double takes.
const everyKind = `[
	{"type":"header","level":2,"text":{"type":"plain_text","text":"title a &amp; b","emoji":true}},
	{"type":"section","block_id":"s","expand":true,
		"text":{"type":"mrkdwn","text":"see <https://x.test|the runbook> of <@U0BOB>","verbatim":true},
		"fields":[{"type":"mrkdwn","text":"field *one*"},{"type":"plain_text","text":"field two"}],
		"accessory":{"type":"button","action_id":"ask","style":"danger","value":"v","url":"https://x.test",
			"accessibility_label":"ask them","text":{"type":"plain_text","text":"ask"},
			"confirm":{"title":{"type":"plain_text","text":"Sure?"},"text":{"type":"mrkdwn","text":"really"},
				"confirm":{"type":"plain_text","text":"Yes"},"deny":{"type":"plain_text","text":"No"},"style":"danger"}}},
	{"type":"context","elements":[{"type":"plain_text","text":"small"},{"type":"mrkdwn","text":"print"}]},
	{"type":"divider","block_id":"d"},
	{"type":"actions","block_id":"a","elements":[
		{"type":"button","action_id":"go","text":{"type":"plain_text","text":"press"}},
		{"type":"static_select","action_id":"pick","placeholder":{"type":"plain_text","text":"choose"},"focus_on_load":false,
			"options":[{"text":{"type":"plain_text","text":"inside"},"value":"in"},
				{"text":{"type":"plain_text","text":"outside"},"value":"out"}],
			"initial_option":{"text":{"type":"plain_text","text":"outside"},"value":"out"}},
		{"type":"overflow","action_id":"more","options":[{"text":{"type":"plain_text","text":"snooze"},"value":"z",
			"description":{"type":"plain_text","text":"for an hour"},"url":"https://x.test"}]}]},
	{"type":"data_visualization","title":"chart title","chart":{"type":"line",
		"axis_config":{"categories":["t1","t2"],"x_label":"time","y_label":"ratio"},
		"series":[{"name":"ttft","data":[{"label":"t2","value":2.5},{"label":"t1","value":1}]},
			{"name":"limit","data":[{"label":"t1","value":2},{"label":"t2","value":2}]}]}},
	{"type":"table","column_settings":[{"align":"left","is_wrapped":true}],"rows":[
		[{"type":"raw_text","text":"head"},{"type":"raw_text","text":"head2"}],
		[{"type":"raw_number","value":7.5},{"type":"raw_number","value":8,"text":"eight"}]]},
	{"type":"container","block_id":"c","is_collapsible":true,"default_collapsed":true,"width":"full",
		"title":{"type":"plain_text","text":"11 checks passed"},"subtitle":{"type":"mrkdwn","text":"at *03:11*"},
		"child_blocks":[{"type":"context","block_id":"in","elements":[{"type":"mrkdwn","text":"quota left"}]},
			{"type":"actions","elements":[{"type":"button","action_id":"deep","text":{"type":"plain_text","text":"folded"}}]}]},
	{"type":"container","title":{"type":"plain_text","text":"always open"},"has_header_divider":true,
		"child_blocks":[{"type":"divider"}]},
	{"type":"rich_text","block_id":"r","elements":[
		{"type":"rich_text_section","elements":[
			{"type":"text","text":"*as* it <@U0BOB> is &amp; ","style":{"bold":true,"italic":false,"strike":false,
				"underline":false,"code":false}},
			{"type":"user","user_id":"U0CAROL"},
			{"type":"date","timestamp":1700000000,"format":"{time}","fallback":"22:13 UTC"}]},
		{"type":"rich_text_list","style":"bullet","indent":0,"offset":0,"border":0,"elements":[
			{"type":"rich_text_section","elements":[{"type":"text","text":":fire: _one_"}]},
			{"type":"rich_text_section","elements":[{"type":"text","text":"pod=*two*","style":{"code":true}}]}]},
		{"type":"rich_text_preformatted","border":0,"elements":[{"type":"text","text":"a: |\n  *b*"}]}]}
]`

// everyInput is a view with every input, and with what a message does not have.
const everyInput = `{"type":"modal","private_metadata":"inc1","callback_id":"deny",
	"title":{"type":"plain_text","text":"Deny"},"submit":{"type":"plain_text","text":"Deny it"},
	"close":{"type":"plain_text","text":"Back"},
	"blocks":[
		{"type":"input","block_id":"reason","dispatch_action":false,"label":{"type":"plain_text","text":"why"},
			"hint":{"type":"plain_text","text":"for the journal"},
			"element":{"type":"plain_text_input","action_id":"text","initial_value":"because","multiline":true,
				"min_length":3,"max_length":20,"placeholder":{"type":"plain_text","text":"reason"}}},
		{"type":"input","block_id":"n","optional":true,"label":{"type":"plain_text","text":"how many"},
			"element":{"type":"number_input","action_id":"n","is_decimal_allowed":false,"initial_value":"2","min_value":"1",
				"max_value":"9","focus_on_load":true}},
		{"type":"input","label":{"type":"plain_text","text":"how long"},"element":{"type":"static_select",
			"options":[{"text":{"type":"plain_text","text":"an hour"},"value":"1h"}]}},
		{"type":"alert","level":"warning","text":{"type":"mrkdwn","text":"it restarts pods"}},
		{"type":"input","block_id":"also","optional":true,"label":{"type":"plain_text","text":"what else"},
			"element":{"type":"checkboxes","action_id":"also",
				"options":[{"text":{"type":"mrkdwn","text":"*snooze* it"},"value":"snooze",
						"description":{"type":"plain_text","text":"until morning"}},
					{"text":{"type":"plain_text","text":"tell others"},"value":"tell"}],
				"initial_options":[{"text":{"type":"plain_text","text":"tell others"},"value":"tell"}]}}]}`

// a returns n characters; every second one has two bytes, because limits count characters.
func a(n int) string { return strings.Repeat("aé", n/2) + strings.Repeat("a", n%2) }

func decoded(t *testing.T, raw string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// edit returns v with one place changed; what becomes nil is removed.
func edit(t *testing.T, v any, path []string, change func(old any) any) any {
	t.Helper()
	if len(path) == 0 {
		return change(v)
	}
	switch v := v.(type) {
	case object:
		if v[path[0]] = edit(t, v[path[0]], path[1:], change); v[path[0]] == nil {
			delete(v, path[0])
		}
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil {
			t.Fatal(err)
		}
		v[i] = edit(t, v[i], path[1:], change)
	}
	return v
}

// checkEdited checks everyKind or everyInput with a change at a pointer, which begins with /blocks or /view.
func checkEdited(t *testing.T, pointer string, change func(old any) any) *slackError {
	t.Helper()
	path := strings.Split(pointer, "/")[1:]
	var e *slackError
	if path[0] == "view" {
		_, e = checkView(string(encode(edit(t, decoded(t, everyInput), path[1:], change))))
	} else {
		_, e = checkMessageBlocks(string(encode(edit(t, decoded(t, everyKind), path[1:], change))))
	}
	return e
}

// sized returns as many characters or items as are wanted, made of what is there.
func sized(old any, n int) any {
	items, isList := old.([]any)
	switch {
	case !isList && strings.HasPrefix(fmt.Sprint(old), "https://x.test"):
		return "https://x.test/" + a(max(0, n-15))
	case !isList:
		return a(n)
	}
	out := make([]any, n)
	for i := range out {
		out[i] = items[0]
		if o, ok := items[0].(object); ok {
			o = maps.Clone(o)
			delete(o, "action_id")
			delete(o, "block_id")
			if _, has := o["name"]; has {
				o["name"] = fmt.Sprint(i)
			}
			out[i] = o
		}
	}
	return out
}

func TestLimitsOfTextsAndLists(t *testing.T) {
	t.Parallel()
	limits := map[string]int{
		"/blocks": 50, "/blocks/3/block_id": 255, "/blocks/0/text/text": 150,
		"/blocks/1/text/text": 3000, "/blocks/1/fields": 10, "/blocks/1/fields/0/text": 2000,
		"/blocks/2/elements": 10, "/blocks/2/elements/0/text": 3000, "/blocks/4/elements": 25,
		"/blocks/1/accessory/text/text": 75, "/blocks/1/accessory/value": 2000, "/blocks/1/accessory/url": 3000,
		"/blocks/1/accessory/action_id": 255, "/blocks/1/accessory/accessibility_label": 75,
		"/blocks/1/accessory/confirm/title/text": 100, "/blocks/1/accessory/confirm/text/text": 300,
		"/blocks/1/accessory/confirm/confirm/text": 30, "/blocks/1/accessory/confirm/deny/text": 30,
		"/blocks/4/elements/1/options": 100, "/blocks/4/elements/1/placeholder/text": 150,
		"/blocks/4/elements/1/options/0/text/text": 75, "/blocks/4/elements/1/options/0/value": 75,
		"/blocks/4/elements/2/options": 5, "/blocks/4/elements/2/options/0/description/text": 75,
		"/blocks/5/title": 50, "/blocks/5/chart/series": 6, "/blocks/5/chart/series/0/name": 20,
		"/blocks/5/chart/axis_config/x_label": 50, "/blocks/5/chart/axis_config/y_label": 50,
		"/blocks/6/rows": 100, "/blocks/7/title/text": 150, "/blocks/7/subtitle/text": 150, "/blocks/7/child_blocks": 10,
		"/blocks/9/elements": 100, "/blocks/9/elements/0/elements": 100, "/blocks/9/elements/0/elements/0/text": 3000,
		"/blocks/9/elements/1/elements": 100, "/blocks/9/elements/1/elements/0/elements": 100,
		"/blocks/9/elements/2/elements": 100, "/blocks/9/elements/2/elements/0/text": 3000,
		"/view/blocks": 100, "/view/title/text": 24, "/view/submit/text": 24, "/view/close/text": 24,
		"/view/private_metadata": 3000, "/view/callback_id": 255, "/view/blocks/0/label/text": 2000,
		"/view/blocks/0/hint/text": 2000, "/view/blocks/0/element/initial_value": 3000,
		"/view/blocks/0/element/placeholder/text": 150, "/view/blocks/4/element/options/0/text/text": 75,
	}
	for at, most := range limits {
		resize := func(n int) *slackError { return checkEdited(t, at, func(old any) any { return sized(old, n) }) }
		if e := resize(most); e != nil {
			t.Errorf("%s with %d: %+v", at, most, e)
		}
		e := resize(most + 1)
		details := ""
		if e != nil {
			details = strings.Join(e.details, "\n")
		}
		if !strings.Contains(details, fmt.Sprintf("less than %d characters [json-pointer:%s]", most+1, at)) &&
			!strings.Contains(details, fmt.Sprintf("no more than %d items allowed [json-pointer:%s]", most, at)) {
			t.Errorf("%s with %d: %+v, want a refusal", at, most+1, e)
		}
		if e := resize(0); e == nil && at != "/blocks" && !strings.HasSuffix(at, "/url") {
			t.Errorf("%s with nothing in it was taken", at)
		}
	}
}

// lines is a chart of one line whose labels are as long as told.
func lines(points, label int) any {
	var categories, data []any
	for i := range points {
		name := fmt.Sprintf("%02d", i) + a(label-2)
		categories, data = append(categories, name), append(data, object{"label": name, "value": float64(i)})
	}
	return object{"type": "data_visualization", "title": "t", "chart": object{
		"type": "line", "axis_config": object{"categories": categories}, "series": []any{object{"name": "one", "data": data}},
	}}
}

// cells is a table of equal cells.
func cells(rows, columns, length int) any {
	row := sized([]any{object{"type": "raw_text", "text": a(length)}}, columns)
	return object{"type": "table", "rows": sized([]any{row}, rows)}
}

// folded is a container of these blocks.
func folded(blocks ...any) any {
	return object{"type": "container", "title": object{"type": plain, "text": "more"}, "child_blocks": blocks}
}

// many is a number of sections and whatever comes behind them.
func many(sections int, behind ...any) []any {
	short := object{"type": "section", "text": object{"type": mrkdwn, "text": "x"}}
	return append(sized([]any{short}, sections).([]any), behind...)
}

func TestLimitsOfAWholeMessage(t *testing.T) {
	t.Parallel()
	section := func(n int) any { return object{"type": "section", "text": object{"type": mrkdwn, "text": a(n)}} }
	long := []any{section(3000), section(3000), section(3000), section(3000)}
	tests := []struct {
		at, over     []any
		code, detail string
	}{
		{[]any{lines(20, 3)}, []any{lines(21, 3)}, "invalid_blocks", "/chart/series/0/data"},
		{[]any{lines(1, 20)}, []any{lines(1, 21)}, "invalid_blocks", "/axis_config/categories/0"},
		{[]any{lines(1, 3)}, []any{lines(0, 3)}, "invalid_blocks", "/chart/series/0/data"},
		{[]any{lines(1, 3), lines(1, 3)}, []any{lines(1, 3), lines(1, 3), lines(1, 3)}, "invalid_blocks", "no more than 2"},
		{[]any{cells(1, 20, 1)}, []any{cells(1, 21, 1)}, "invalid_blocks", "no more than 20 items"},
		{[]any{cells(5, 1, 2000)}, []any{cells(5, 1, 2001)}, "invalid_blocks", "less than 10001 characters together"},
		{[]any{cells(1, 1, 1)}, []any{cells(1, 1, 1), cells(1, 1, 1)}, "invalid_attachments", "only_one_table_allowed"},
		{[]any{cells(1, 1, 1)}, []any{cells(1, 1, 1), folded(cells(1, 1, 1))}, "invalid_attachments", "only_one_table"},
		{many(39, folded(many(10)...)), many(40, folded(many(10)...)), "invalid_blocks", "no more than 50"},
		{append(long, section(1200)), append(long[:4:4], section(1201)), "msg_blocks_too_long", ""},
	}
	for i, tt := range tests {
		if _, e := checkMessageBlocks(string(encode(tt.at))); e != nil {
			t.Errorf("%d: at the limit: %+v", i, e)
		}
		_, e := checkMessageBlocks(string(encode(tt.over)))
		if e == nil || e.code != tt.code || !strings.Contains(strings.Join(e.details, "\n"), tt.detail) {
			t.Errorf("%d: over the limit: %+v, want %s with %q", i, e, tt.code, tt.detail)
		}
	}
}

func TestWhatSlackRejects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		at     string
		change any // nil removes what is there
		detail string
	}{
		{"/blocks/0/text/type", mrkdwn, "unsupported type: mrkdwn [json-pointer:/blocks/0/text]"},
		{"/blocks/0/text", "x", "must be an object [json-pointer:/blocks/0/text]"},
		{"/blocks/0/level", 5, "must be a whole number from 1 to 4 [json-pointer:/blocks/0/level]"},
		{"/blocks/1/text/emoji", true, "invalid additional property: emoji [json-pointer:/blocks/1/text]"},
		{"/blocks/1/text/verbatim", "no", "must be a boolean [json-pointer:/blocks/1/text/verbatim]"},
		{"/blocks/1/fields", object{}, "must be an array [json-pointer:/blocks/1/fields]"},
		{"/blocks/1/accessory/style", "green", "must be a valid enum value: primary, danger"},
		{"/blocks/1/accessory/url", "over there", "must be a valid URL"},
		{"/blocks/1/accessory/confirm/deny", nil, "missing required field: deny [json-pointer:/blocks/1/accessory/confirm]"},
		{"/blocks/2/elements/0/type", "button", "unsupported type: button"},
		{"/blocks/3/block_id", "a", "`block_id` already exists [json-pointer:/blocks/4/block_id]"},
		{"/blocks/3/type", "alert", "unsupported type: alert [json-pointer:/blocks/3]"},
		{"/blocks/3/type", "hologram", "unsupported type: hologram"},
		{"/blocks/3/type", "section", "must define either `text` or `fields` [json-pointer:/blocks/3]"},
		{"/blocks/4/elements/0/type", "plain_text_input", "unsupported type: plain_text_input"},
		{"/blocks/4/elements/0/text", nil, "missing required field: text [json-pointer:/blocks/4/elements/0]"},
		{"/blocks/4/elements/0/text/type", mrkdwn, "elements/0/text]"},
		{"/blocks/4/elements/0/disabled", true, "invalid additional property: disabled [json-pointer:/blocks/4/elements/0]"},
		{"/blocks/4/elements/0/action_id", 7, "must be a string"},
		{"/blocks/4/elements/0/action_id", "pick", "`action_id` already exists [json-pointer:/blocks/4/elements/1"},
		{"/blocks/5/chart/type", "bar", "must be a valid enum value: line [json-pointer:/blocks/5/chart/type]"},
		{"/blocks/5/chart/series/1/name", "ttft", "`name` already exists [json-pointer:/blocks/5/chart/series/1/name]"},
		{"/blocks/5/chart/series/1/data/0/value", "1", "must be a number"},
		{"/blocks/5/chart/series/1/data/0/label", "t9", "exactly one point for every category"},
		{"/blocks/5/chart/series/1/data/0/label", "t2", "exactly one point for every category"},
		{"/blocks/5/chart/series/1/data", []any{object{"label": "t1", "value": 1}}, "exactly one point for every category"},
		{"/blocks/5/chart/axis_config/categories/0", "t2", "categories must be unique"},
		{"/blocks/6/rows/0/0/type", "rich_text", "unsupported type: rich_text"},
		{"/blocks/6/rows/1", []any{object{"type": "raw_text", "text": "a"}}, "as many cells as the first row"},
		{"/blocks/7/title", nil, "missing required field: title [json-pointer:/blocks/7]"},
		{"/blocks/7/title/type", mrkdwn, "unsupported type: mrkdwn [json-pointer:/blocks/7/title]"},
		{"/blocks/7/is_collapsible", false, "to be true [json-pointer:/blocks/7/default_collapsed]"},
		{"/blocks/8/is_collapsible", true, "is true [json-pointer:/blocks/8/has_header_divider]"},
		{"/blocks/7/width", "huge", "must be a valid enum value: narrow"},
		{"/blocks/7/child_blocks/0/block_id", "c", "already exists [json-pointer:/blocks/7/child_blocks/0/block_id]"},
		{"/blocks/7/child_blocks/0", lines(1, 3), "data_visualization [json-pointer:/blocks/7/child_blocks/0]"},
		{"/blocks/7/child_blocks/0", folded(cells(1, 1, 1)), "unsupported type: container"},
		{"/blocks/9/text", "x", "invalid additional property: text [json-pointer:/blocks/9]"},
		{"/blocks/9/elements", nil, "missing required field: elements [json-pointer:/blocks/9]"},
		{"/blocks/9/elements/0/type", "text", "unsupported type: text [json-pointer:/blocks/9/elements/0]"},
		{"/blocks/9/elements/0/type", "rich_text_quote", "unsupported type: rich_text_quote"},
		{"/blocks/9/elements/0/border", 0, "invalid additional property: border [json-pointer:/blocks/9/elements/0]"},
		{"/blocks/9/elements/0/elements/0/type", mrkdwn, "unsupported type: mrkdwn"},
		{"/blocks/9/elements/0/elements/0/type", "broadcast", "unsupported type: broadcast"},
		{"/blocks/9/elements/0/elements/0/emoji", false, "invalid additional property: emoji"},
		{"/blocks/9/elements/0/elements/0/style", "bold", "must be an object"},
		{"/blocks/9/elements/0/elements/0/style/bold", "yes", "must be a boolean"},
		{"/blocks/9/elements/0/elements/0/style/unlink", true, "invalid additional property: unlink"},
		{"/blocks/9/elements/0/elements/1/user_id", "!here", "must be the id of a user"},
		{"/blocks/9/elements/0/elements/1/style", object{}, "invalid additional property: style"},
		{"/blocks/9/elements/0/elements/2/format", "time", "must be text with a {token} for the time"},
		{"/blocks/9/elements/0/elements/2/timestamp", "1700000000", "must be a whole number"},
		{"/blocks/9/elements/1/style", "dashed", "must be a valid enum value: bullet, ordered"},
		{"/blocks/9/elements/1/style", nil, "missing required field: style [json-pointer:/blocks/9/elements/1]"},
		{"/blocks/9/elements/1/indent", 9, "must be a whole number from 0 to 8"},
		{"/blocks/9/elements/1/border", 2, "must be a whole number from 0 to 1"},
		{"/blocks/9/elements/1/elements/0/type", "rich_text_list", "unsupported type: rich_text_list"},
		{"/blocks/9/elements/2/language", "yaml", "invalid additional property: language"},
		{"/blocks/9/elements/2/elements/0/type", "user", "unsupported type: user"},
		{"/view/blocks/3", folded(cells(1, 1, 1)), "unsupported type: container"},
		{"/view/blocks/1/element/max_value", "NaN", "a number of at most 15 digits, in a string"},
		{"/view/blocks/4/element/initial_options/0/value", "x", "must be one of the options"},
		{"/view/submit", nil, "missing required field: submit"},
		{"/view/blocks/0/element/max_length", 3001, "must be a whole number from 1 to 3000"},
		{"/view/blocks/3/level", "loud", "[json-pointer:/view/blocks/3/level]"},
		{"/view/blocks/3", lines(1, 3), "unsupported type: data_visualization"},
		{"/view/type", "home", "must be a valid enum value: modal"},
	}
	for _, tt := range tests {
		e := checkEdited(t, tt.at, func(any) any { return tt.change })
		if e == nil || (e.code != "invalid_blocks" && e.code != "invalid_arguments") ||
			!strings.Contains(strings.Join(e.details, "\n"), tt.detail) {
			t.Errorf("%s = %v: %+v, want %q", tt.at, tt.change, e, tt.detail)
		}
	}
	for _, raw := range []string{`[{`, `{"type":"divider"}`, `["divider"]`, `[null]`} {
		if _, e := checkMessageBlocks(raw); codeOf(e) != "invalid_blocks_format" {
			t.Errorf("%s: %+v", raw, e)
		}
	}
	for raw, code := range map[string]string{
		`[]`: "invalid_arguments", `null`: "invalid_arguments", `{"x":"` + a(maxView) + `"}`: "view_too_large",
	} {
		if _, e := checkView(raw); codeOf(e) != code {
			t.Errorf("%.20s: %+v, want %s", raw, e, code)
		}
	}
}

func FuzzPayloadsNeverPanicAndStayValid(f *testing.F) {
	for _, seed := range []string{
		everyKind, everyInput, oneButton, `[null]`, `[{"type":"section","fields":[null,3]}]`, `null`, ``, `{"blocks":null}`,
		`[{"type":"header","level":1e300,"text":null}]`, `{"blocks":[{"type":"input","element":null}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s := New(Options{})
		if content, e := s.readView(raw); e == nil {
			s.views = append(s.views, &view{id: "V1", user: "U0BOB", open: true, content: content})
			_, _ = fillIn(content, map[string]map[string]string{"reason": {"text": "because"}})
			if s.pageView("", "U0BOB").Views[0].ID != "V1" {
				t.Fatal("the view is not on the page")
			}
		}
		tree, e := checkMessageBlocks(raw)
		if e != nil {
			if e.code == "" {
				t.Fatal("refused without a reason")
			}
			return
		}
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
