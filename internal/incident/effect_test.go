package incident

import (
	"testing"
)

// A policy has no pods that follow it: what is waited for is the gateway.
func TestAThrottleIsNotToldAsARollout(t *testing.T) {
	t.Parallel()
	written := applied(t, throttleStep())
	undone := must(t, verifying(t, throttleStep()), verdict(VerdictWorse),
		Decided{Decision: Decision{Step: "p1-s1", Verb: Undo, By: alice}},
		WriteClaimed{WriteID: "w"}, Written{Result: ResultApplied})
	for _, tt := range []struct {
		name string
		inc  Incident
		ev   Event
		want Note
	}{
		{
			"in effect", written,
			RolledOut{Why: Because("The gateway has accepted the policy."), SettleUntil: now},
			Note{Kind: NoteRolledOut, StepKind: StepThrottle, At: now, Cause: Because("The gateway has accepted the policy.")},
		},
		{
			"refused", written,
			RolledOut{Failed: true, Why: Because("The gateway does not take the policy: Invalid: x")},
			Note{
				Kind: NoteNotRolledOut, StepKind: StepThrottle,
				Cause: Because("The gateway does not take the policy: Invalid: x"),
			},
		},
		{"restored", undone, RolledOut{Why: Because("The gateway has accepted the policy.")}, Note{
			Kind: NoteUndone, By: alice, StepKind: StepThrottle, Target: throttleStep().Target, Value: Set("184"),
			Cause: Because("The gateway has accepted the policy."),
		}},
		{
			"restored and refused", undone,
			RolledOut{Failed: true, Why: Because("The gateway does not take the policy: Invalid: x")},
			Note{
				Kind: NoteUndone, By: alice, StepKind: StepThrottle, Target: throttleStep().Target, Value: Set("184"), Failed: true,
				Cause: Because("The gateway does not take the policy: Invalid: x"),
			},
		},
	} {
		res, err := Apply(tt.inc, tt.ev, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Entries[0].Said; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	for _, step := range []Step{throttleStep(), scaleStep("2", "3")} {
		res, err := Apply(must(t, applying(t, step), WriteClaimed{WriteID: "w1"}), Written{Result: ResultApplied}, now)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := res.Entries[0].Said, (Note{Kind: NoteDone, Step: step.Title, StepKind: step.Kind}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
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
