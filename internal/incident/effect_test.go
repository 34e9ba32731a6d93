package incident

import (
	"strings"
	"testing"
)

// A policy has no pods that follow it: what is waited for is the gateway.
func TestAThrottleIsNotToldAsARollout(t *testing.T) {
	t.Parallel()
	written := applied(t, throttleStep())
	undone := must(t, verifying(t, throttleStep()), verdict(VerdictWorse), Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}},
		WriteClaimed{WriteID: "w"}, Written{Result: ResultApplied})
	for _, tt := range []struct {
		name string
		inc  Incident
		ev   Event
		want string
	}{
		{"in effect", written, RolledOut{Note: "The gateway has accepted the policy.", SettleUntil: now}, "The change is in effect. The gateway has accepted the policy. The signals settle"},
		{"refused", written, RolledOut{Failed: true, Note: "The gateway does not take the policy: Invalid: x"}, "The change did not take effect: The gateway does not take the policy"},
		{"restored", undone, RolledOut{Note: "The gateway has accepted the policy."}, "is 184 again. The gateway has accepted the policy."},
		{"restored and refused", undone, RolledOut{Failed: true, Note: "The gateway does not take the policy: Invalid: x"}, "is 184 again, but that did not take effect. The gateway"},
	} {
		res, err := Apply(tt.inc, tt.ev, now)
		if err != nil {
			t.Fatal(err)
		}
		if text := texts(res.Entries); !strings.Contains(text, tt.want) || strings.Contains(text, "rollout") {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
	}
	for name, step := range map[string]Step{"Waiting for the gateway to accept it.": throttleStep(), "Waiting for the rollout.": scaleStep("2", "3")} {
		res, err := Apply(must(t, applying(t, step), WriteClaimed{WriteID: "w1"}), Written{Result: ResultApplied}, now)
		if err != nil || !strings.Contains(texts(res.Entries), name) {
			t.Errorf("%q: %q, %v", name, texts(res.Entries), err)
		}
	}
}

func texts(entries []Entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return strings.Join(out, "\n")
}

func TestReadyReplicasAreToldAsPeopleSayIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ready, want *int64
		text        string
	}{
		{new(int64(2)), new(int64(3)), "2 of 3 ready"},
		{new(int64(3)), new(int64(3)), "3 of 3 ready"},
		{new(int64(3)), new(int64(2)), "3 ready, 2 wanted"},
		{new(int64(0)), new(int64(0)), "0 of 0 ready"},
		{nil, new(int64(3)), ""},
		{new(int64(3)), nil, ""},
	} {
		if got := (Cluster{Replicas: tt.want, ReadyReplicas: tt.ready}).ReadyText(); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
	}
}
