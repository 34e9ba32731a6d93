package fakeslack

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

// decisionView has every kind of input: a reason, a value within bounds, a time to be quiet, and boxes.
func decisionView() slack.ModalViewRequest {
	pick := func(value, text string) *slack.OptionBlockObject {
		return slack.NewOptionBlockObject(value, label(text), nil)
	}
	input := func(id string, optional bool, element slack.BlockElement) slack.Block {
		block := slack.NewInputBlock(id, label(id), nil, element)
		block.Optional = optional
		return block
	}
	limit := slack.NewNumberInputBlockElement(nil, "value", false)
	limit.MinValue, limit.MaxValue, limit.InitialValue = "8", "160", "112"
	quiet := slack.NewOptionsSelectBlockElement("static_select", nil, "value",
		pick("1h", "an hour"), pick("8h", "8 hours"))
	quiet.InitialOption = pick("8h", "8 hours")
	boxes := slack.NewCheckboxGroupsBlockElement("value",
		pick("snooze", "Snooze"), pick("tell", "Tell others"), pick("x", "X"))
	boxes.InitialOptions = []*slack.OptionBlockObject{pick("tell", "Tell others")}
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: label("Throttle"), Submit: label("Approve"), Blocks: slack.Blocks{BlockSet: []slack.Block{
			input("reason", true, slack.NewPlainTextInputBlockElement(nil, "value")),
			input("limit", false, limit), input("quiet", true, quiet), input("boxes", true, boxes),
		}},
	}
}

// decided returns a workspace in which Alice has that view open.
func decided(t *testing.T) (*Server, *bot, View) {
	t.Helper()
	s, _, click := clicked(t, Options{})
	client := slack.New(s.Token(), slack.OptionAPIURL(s.APIURL()))
	if _, err := client.OpenViewContext(t.Context(), press(t, s, click).TriggerID, decisionView()); err != nil {
		t.Fatal(err)
	}
	return s, startBot(t, s, nil), s.Views()[0]
}

func TestEveryInputIsSubmittedAsSlackDoes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		given                map[string]string
		reason, limit, quiet string
		boxes                string
	}{
		{"as it was filled in", nil, "", "112", "8h", "tell"},
		{
			"changed",
			map[string]string{"reason": "load test", "limit": "8", "quiet": "1h", "boxes": "tell\nsnooze"},
			"load test", "8", "1h", "tell snooze",
		},
		{"emptied", map[string]string{"quiet": "", "boxes": ""}, "", "112", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, b, v := decided(t)
			r := SubmitRequest{User: v.User, ViewID: v.ID, Values: map[string]map[string]string{}}
			for id, value := range tt.given {
				r.Values[id] = map[string]string{"value": value}
			}
			if _, err := s.SubmitView(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			state := b.last(t).View.State.Values
			var boxes []string
			for _, o := range state["boxes"]["value"].SelectedOptions {
				boxes = append(boxes, o.Value)
			}
			if got := state["reason"]["value"].Value; got != tt.reason {
				t.Errorf("reason = %q, want %q", got, tt.reason)
			}
			if got := state["limit"]["value"].Value; got != tt.limit {
				t.Errorf("limit = %q, want %q", got, tt.limit)
			}
			if got := state["quiet"]["value"].SelectedOption.Value; got != tt.quiet {
				t.Errorf("quiet = %q, want %q", got, tt.quiet)
			}
			if got := strings.Join(boxes, " "); got != tt.boxes {
				t.Errorf("boxes = %q, want %q", got, tt.boxes)
			}
			for id, kind := range map[string]string{
				"reason": "plain_text_input", "limit": "number_input", "quiet": "static_select", "boxes": "checkboxes",
			} {
				if got := string(state[id]["value"].Type); got != kind {
					t.Errorf("type of %s = %q, want %q", id, got, kind)
				}
			}
		})
	}
}

func TestWhatAnInputDoesNotTake(t *testing.T) {
	t.Parallel()
	s, b, v := decided(t)
	for _, bad := range []struct{ input, value string }{
		{"limit", ""},
		{"limit", "7"},
		{"limit", "161"},
		{"limit", "12.5"},
		{"limit", "many"},
		{"limit", "0x10"},
		{"limit", "1e2"},
		{"quiet", "2h"},
		{"boxes", "tell\nnone"},
	} {
		r := SubmitRequest{User: v.User, ViewID: v.ID, Values: map[string]map[string]string{bad.input: {"value": bad.value}}}
		if _, err := s.SubmitView(t.Context(), r); !errors.Is(err, ErrNotVisible) || b.count() != 0 {
			t.Errorf("%s = %q: %v, %d sent, want nothing sent", bad.input, bad.value, err, b.count())
		}
	}
	if !s.Views()[0].Open {
		t.Error("the view was closed")
	}
}

func TestThePageShowsAForm(t *testing.T) {
	t.Parallel()
	s, _, v := decided(t)
	_, page := fetch(t, s, "/?user="+v.User)
	_, form, _ := strings.Cut(page, `<form class="modal"`)
	missing := slices.DeleteFunc([]string{
		`<span class="input-label">reason <span class="optional">(optional)</span></span>`,
		`<input type="text" data-block="limit"`, `value="112"`, `<option value="8h" selected>8 hours</option>`,
		`<div class="checkboxes" role="group" data-block="boxes"`,
		`<input type="checkbox" value="tell" checked>`, `<input type="checkbox" value="x">`, `>Approve</button>`,
	}, func(part string) bool { return strings.Contains(form, part) })
	if len(missing) > 0 {
		t.Errorf("the form lacks %q: %s", missing, form)
	}
}
