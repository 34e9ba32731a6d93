package incident

import (
	"encoding/json"
	"strings"
)

// The JSON of an incident only gains fields. Where a fact was once a sentence, the sentence is still written beside it, for
// older versions and for readers of the API; and where a stored incident has nothing but the sentence, the fact is read out of
// it here. No other code may do that.

// What "checked" of a step has always said.
const (
	checkedText    = "by the API server"
	notCheckedText = "not checked by the API server"
)

// MarshalJSON writes the step with "checked", the sentence for its check.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	out := struct {
		plain
		Text string `json:"checked,omitempty"`
	}{plain: plain(s)}
	switch {
	case s.Checked.OK:
		out.Text = checkedText
	case s.Checked != Checked{}:
		out.Text = notCheckedText
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and steps that have only the sentence.
func (s *Step) UnmarshalJSON(b []byte) error {
	type plain Step
	in := struct {
		*plain
		Text string `json:"checked"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if s.Checked == (Checked{}) && in.Text != "" {
		s.Checked = Checked{OK: in.Text == checkedText, By: CheckedByServer}
	}
	return nil
}

// UnmarshalJSON fills in what an older version has written only as a path.
func (t *Target) UnmarshalJSON(b []byte) error {
	type plain Target
	if err := json.Unmarshal(b, (*plain)(t)); err != nil {
		return err
	}
	if t.Setting == "" {
		t.fromPath()
	}
	return nil
}

// fromPath reads "spec.replicas (scale)", "spec.minReplicas", "args[vllm] --max-num-batched-tokens" and
// "spec.rateLimit.local.rules[0].limit.requests", which are all the paths there were.
func (t *Target) fromPath() {
	path, sub, scaled := strings.Cut(t.Field, " (")
	if scaled {
		t.Subresource = strings.TrimSuffix(sub, ")")
	}
	if args, flag, found := strings.Cut(path, "] --"); found {
		t.Container, t.Setting = strings.TrimPrefix(args, "args["), flag
		return
	}
	t.Setting = path[strings.LastIndex(path, ".")+1:]
}
