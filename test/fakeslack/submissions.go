package fakeslack

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SubmitRequest says who submits a view, and with what in it.
type SubmitRequest struct {
	User   string `json:"user"`
	ViewID string `json:"view_id"`
	// Values are what is typed or chosen, by block_id and action_id: "" empties an input, and what is not named stays as
	// the view filled it in. Of checkboxes it is the values of those that are ticked, one a line.
	Values map[string]map[string]string `json:"values"`
}

// SubmitResult is what came of a submission.
type SubmitResult struct {
	ClickResult
	// Action is the response_action of the answer; empty and "clear": the view closed.
	Action string
	// Errors are the messages shown under input blocks.
	Errors map[string]string
}

// viewAnswer is what a bot may answer to a submission.
type viewAnswer struct {
	Action string            `json:"response_action"`
	Errors map[string]string `json:"errors"`
	View   json.RawMessage   `json:"view"`
}

// SubmitView sends a view_submission and applies the answer to the view: closed, errors shown or updated. What
// Slack's client itself would not submit (a required input left empty, a text too long) is ErrNotVisible.
func (s *Server) SubmitView(ctx context.Context, r SubmitRequest) (SubmitResult, error) {
	sent, v, err := s.prepareSubmission(r)
	if err != nil {
		return SubmitResult{}, fmt.Errorf("submit view %s: %w", r.ViewID, err)
	}
	result, err := s.deliver(ctx, sent)
	out := SubmitResult{ClickResult: result}
	if err != nil {
		return out, fmt.Errorf("submit view %s by %s: %w", r.ViewID, r.User, err)
	}
	if err := s.applySubmission(v, &out); err != nil {
		return out, fmt.Errorf("submit view %s: answer %.200q: %w", r.ViewID, out.Body, err)
	}
	return out, nil
}

// CloseView closes a view with its cross.
func (s *Server) CloseView(user, viewID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _, err := s.openViewOf(user, viewID)
	if err != nil {
		return fmt.Errorf("close view %s: %w", viewID, err)
	}
	v.open = false
	s.changed()
	return nil
}

func (s *Server) openViewOf(user, viewID string) (*view, User, error) {
	v := s.findView(viewID)
	u, known := s.users[user]
	if v == nil || !known || v.user != user {
		return nil, u, fmt.Errorf("%w: %q has no open view %q", ErrNotVisible, user, viewID)
	}
	return v, u, nil
}

func (s *Server) prepareSubmission(r SubmitRequest) (*sentClick, *view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, u, err := s.openViewOf(r.User, r.ViewID)
	if err != nil {
		return nil, nil, err
	}
	values, err := fillIn(v.content, r.Values)
	if err != nil {
		return nil, nil, err
	}
	sent := &sentClick{result: ClickResult{ID: s.nextID("submit")}}
	sent.root = sent.result.ID
	sent.result.TriggerID = s.newTrigger(r.User, sent.result.ID)
	wire := s.wireView(v)
	wire["state"] = answer{"values": values}
	payload := s.origin("view_submission", u, origin{})
	payload["view"], payload["trigger_id"], payload["response_urls"] = wire, sent.result.TriggerID, []any{}
	s.seal(sent, payload, signing{})
	s.clicks[sent.result.ID] = sent
	return sent, v, nil
}

// fillIn returns state.values, or why the client would not let the form go.
func fillIn(content object, given map[string]map[string]string) (answer, error) {
	values := answer{}
	used := 0
	blocks, _ := content["blocks"].([]any)
	for _, b := range blocks {
		block, _ := b.(object)
		element, _ := block["element"].(object)
		if text(block, "type") != "input" || element == nil {
			continue
		}
		blockID, actionID := text(block, "block_id"), text(element, "action_id")
		value, has := given[blockID][actionID]
		if has {
			used++
		} else {
			value = initialOf(element)
		}
		if value == "" && block["optional"] != true {
			return nil, fmt.Errorf("%w: input %q is required and empty", ErrNotVisible, blockID)
		}
		if err := fits(element, value); err != nil {
			return nil, fmt.Errorf("input %q: %w", blockID, err)
		}
		state, err := inputState(element, value)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", blockID, err)
		}
		values[blockID] = answer{actionID: state}
	}
	total := 0
	for _, actions := range given {
		total += len(actions)
	}
	if used != total {
		return nil, fmt.Errorf("%w: values for inputs that the view does not have", ErrNotVisible)
	}
	return values, nil
}

// fits says why the client would not take what was typed.
func fits(element object, value string) error {
	if value != "" && text(element, "type") == "number_input" {
		return fitsNumber(element, value)
	}
	n := float64(utf8.RuneCountInString(value))
	least, _ := element["min_length"].(float64)
	most, bounded := element["max_length"].(float64)
	if value != "" && n < least || bounded && n > most {
		return fmt.Errorf("%w: %d characters do not fit", ErrNotVisible, int(n))
	}
	return nil
}

func fitsNumber(element object, value string) error {
	if !decimal.holds(value) || (element["is_decimal_allowed"] != true && strings.Contains(value, ".")) {
		return fmt.Errorf("%w: %q is no number that it takes", ErrNotVisible, value)
	}
	least, bounded := element["min_value"].(string)
	if bounded && toNumber(value) < toNumber(least) {
		return fmt.Errorf("%w: %s is below %s", ErrNotVisible, value, least)
	}
	most, bounded := element["max_value"].(string)
	if bounded && toNumber(value) > toNumber(most) {
		return fmt.Errorf("%w: %s is above %s", ErrNotVisible, value, most)
	}
	return nil
}

// toNumber takes what decimal holds for.
func toNumber(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

func (s *Server) applySubmission(v *view, out *SubmitResult) error {
	var a viewAnswer
	if out.Body != "" {
		if err := json.Unmarshal([]byte(out.Body), &a); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	out.Action, out.Errors = a.Action, a.Errors
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed()
	switch a.Action {
	case "", "clear": // there is no stack of views here
		v.open = false
	case "errors":
		return v.showErrors(a.Errors)
	case "update":
		content, e := s.readView(string(a.View))
		if e != nil {
			return fmt.Errorf("%w: %s %v", ErrRefused, e.code, e.details)
		}
		s.replaceView(v, content)
	default:
		return fmt.Errorf("%w: unknown response_action %q", ErrRefused, a.Action)
	}
	return nil
}

// showErrors keeps Slack's rule that every key is the block_id of an input block.
func (v *view) showErrors(errs map[string]string) error {
	if len(errs) == 0 {
		return fmt.Errorf("%w: response_action errors without errors", ErrRefused)
	}
	blocks, _ := v.content["blocks"].([]any)
	for blockID := range errs {
		if !slices.ContainsFunc(blocks, func(b any) bool {
			block, _ := b.(object)
			return text(block, "type") == "input" && text(block, "block_id") == blockID
		}) {
			return fmt.Errorf("%w: errors name %q, which is no input block", ErrRefused, blockID)
		}
	}
	v.errors = errs
	return nil
}
