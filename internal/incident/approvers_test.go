package incident

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestFourEyes(t *testing.T) {
	t.Parallel()
	rule := Approvers{Users: []string{"U1", "U2"}, FourEyes: true}
	carol := Actor{Kind: "kubernetes", ID: "carol"}
	chosen := func(t *testing.T, by Actor) Incident {
		t.Helper()
		inc := deciding(t, scaleStep("2", "3"))
		s := inc.Plan.Steps[0]
		inc.Narrowings = []Narrowing{{Kind: s.Kind, Target: s.Target.Key(), From: s.From, To: s.To, By: by}}
		return inc
	}
	inc := must(t, deciding(t, scaleStep("2", "3")))
	if inc = must(t, inc, under(inc, alice, rule)); inc.State != StateDeciding {
		t.Errorf("one person was enough: %s", inc.State)
	}
	if why := refusedFor(t, inc, under(inc, alice, rule)); why != RefusedTwice {
		t.Errorf("the same person twice: %s", why)
	}
	if inc = must(t, inc, under(inc, bob, rule)); inc.State != StateApplying {
		t.Errorf("two people were not enough: %s", inc.State)
	}
	inc = chosen(t, alice)
	if why := refusedFor(t, inc, under(inc, alice, rule)); why != RefusedFourEyes {
		t.Errorf("who chose the value: %s", why)
	}
	if got := must(t, inc, under(inc, bob, rule)); got.State != StateApplying {
		t.Errorf("somebody else: %s", got.State)
	}
	if got := must(t, inc, under(inc, alice, Approvers{Users: []string{"U1"}})); got.State != StateApplying {
		t.Errorf("without four eyes: %s", got.State)
	}
	inc = chosen(t, carol)
	if why := refusedFor(t, inc, under(inc, alice, rule)); why != RefusedFourEyes {
		t.Errorf("somebody who may be the same person: %s", why)
	}
	for name, tc := range map[string]struct {
		a         Approvers
		approvals []Actor
		chosenBy  *Actor
		want      bool
	}{
		"nobody":                      {rule, nil, nil, false},
		"one":                         {rule, []Actor{alice}, nil, false},
		"two":                         {rule, []Actor{alice, bob}, nil, true},
		"perhaps one":                 {rule, []Actor{alice, carol}, nil, false},
		"the chooser alone":           {rule, []Actor{alice}, &alice, false},
		"another one":                 {rule, []Actor{bob}, &alice, true},
		"the chooser and another":     {rule, []Actor{alice, bob}, &alice, true},
		"too few":                     {Approvers{Count: 2, FourEyes: true}, []Actor{bob}, &alice, false},
		"without the setting, one":    {Approvers{}, []Actor{alice}, &alice, true},
		"without the setting, no one": {Approvers{}, nil, nil, false},
	} {
		if got := tc.a.Enough(tc.approvals, tc.chosenBy); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Where Slack accounts are mapped to Kubernetes users, an account and its user are one person, through whatever channel
// they come, and two people may use two channels. An account that is not mapped may be anybody's.
func TestPeopleAreToldApartAcrossChannels(t *testing.T) {
	t.Parallel()
	kube := func(id string) Actor { return Actor{Kind: "kubernetes", ID: id} }
	rule := Approvers{
		Users: []string{"U1", "U2", "U3"}, Count: 2, FourEyes: true,
		Identities: map[string]string{"U1": "ana", "U2": "ben", "U4": "ana"},
	}
	unmapped, second := Actor{Kind: "slack", ID: "U3"}, Actor{Kind: "slack", ID: "U4"}
	for name, tc := range map[string]struct {
		first, then Actor
		want        NoteKind // empty: they are two
	}{
		"an account and its user":                {alice, kube("ana"), RefusedTwice},
		"a user and their account":               {kube("ana"), alice, RefusedTwice},
		"two accounts of one user":               {alice, second, RefusedTwice},
		"an account and another user":            {alice, kube("ben"), ""},
		"a user and another one's account":       {kube("ana"), bob, ""},
		"two accounts of two users":              {alice, bob, ""},
		"an account without a user, and a user":  {unmapped, kube("ana"), RefusedSameChannel},
		"a user, and an account without a user":  {kube("ana"), unmapped, RefusedSameChannel},
		"a mapped account, and one without user": {alice, unmapped, RefusedSameChannel},
		"the same account, without a user":       {unmapped, unmapped, RefusedTwice},
		"an account, and a name of nobody known": {alice, kube("kubernetes-admin"), RefusedSameChannel},
		"an account, and a prefixed name":        {alice, kube("oidc:ben"), RefusedSameChannel},
		"an account, and a service account":      {alice, kube("system:serviceaccount:llm:ci"), RefusedSameChannel},
		"a name of nobody known, and an account": {kube("kubernetes-admin"), alice, RefusedSameChannel},
		"a user, and a name of nobody known":     {kube("ana"), kube("kubernetes-admin"), ""},
		"two names of nobody known":              {kube("cai"), kube("dan"), ""},
	} {
		inc := must(t, deciding(t, scaleStep("2", "3")), under(deciding(t, scaleStep("2", "3")), tc.first, rule))
		if tc.want != "" {
			if why := refusedFor(t, inc, under(inc, tc.then, rule)); why != tc.want {
				t.Errorf("%s: %s, want %s", name, why, tc.want)
			}
		} else if got := must(t, inc, under(inc, tc.then, rule)); got.State != StateApplying {
			t.Errorf("%s: the incident is %s", name, got.State)
		}
		if got := rule.Enough([]Actor{tc.first, tc.then}, nil); got != (tc.want == "") {
			t.Errorf("%s: enough before the write: %t", name, got)
		}
	}
	// Whoever chose the value is not the other one, whatever their channel.
	chosen := deciding(t, scaleStep("2", "3"))
	s := chosen.Plan.Steps[0]
	ana := kube("ana")
	chosen.Narrowings = []Narrowing{{Kind: s.Kind, Target: s.Target.Key(), From: s.From, To: s.To, By: ana}}
	one := rule
	one.Count = 0
	for _, by := range []Actor{alice, second, unmapped, ana} {
		if why := refusedFor(t, chosen, under(chosen, by, one)); why != RefusedFourEyes {
			t.Errorf("%s approves what ana chose: %s", by, why)
		}
	}
	inSlack := chosen
	inSlack.Narrowings = []Narrowing{{Kind: s.Kind, Target: s.Target.Key(), From: s.From, To: s.To, By: alice}}
	if why := refusedFor(t, inSlack, under(inSlack, kube("kubernetes-admin"), one)); why != RefusedFourEyes {
		t.Errorf("a name of nobody known approves what an account chose: %s", why)
	}
	if got := must(t, chosen, under(chosen, bob, one)); got.State != StateApplying {
		t.Errorf("somebody else in another channel: %s", got.State)
	}
}

// The refusal names whoever can't be told apart from the new one, and one name of nobody known spoils the mix.
func TestOneUnknownNameKeepsAllInOneChannel(t *testing.T) {
	t.Parallel()
	kube := func(id string) Actor { return Actor{Kind: "kubernetes", ID: id} }
	rule := Approvers{Users: []string{"U1", "U2"}, Count: 3, Identities: map[string]string{"U1": "ana", "U2": "ben"}}
	inc := deciding(t, scaleStep("2", "3"))
	inc = must(t, inc, under(inc, kube("ana"), rule))
	inc = must(t, inc, under(inc, kube("admin"), rule))
	_, err := Apply(inc, under(inc, bob, rule), now)
	no, ok := errors.AsType[*RefusedError](err)
	if !ok || no.Said.Kind != RefusedSameChannel || no.Said.By != kube("admin") || no.Said.Other != bob {
		t.Errorf("got %v", err)
	}
	if inc = must(t, inc, under(inc, kube("ben"), rule)); inc.State != StateApplying {
		t.Errorf("three names in one channel: %s", inc.State)
	}
	if rule.Enough([]Actor{kube("ana"), kube("admin"), bob}, nil) {
		t.Error("three that may be two are enough before the write")
	}
}

// Two accounts that approved, and turn out to be one person's, are one approval.
func TestApprovalsThatTurnOutToBeOnePersonsCountOnce(t *testing.T) {
	t.Parallel()
	rule := Approvers{Users: []string{"U1", "U2", "U3"}, Count: 3}
	inc := deciding(t, scaleStep("2", "3"))
	inc = must(t, inc, under(inc, alice, rule))
	inc = must(t, inc, under(inc, bob, rule))
	rule.Identities = map[string]string{"U1": "ana", "U2": "ana", "U3": "cai"}
	res, err := Apply(inc, under(inc, Actor{Kind: "slack", ID: "U3"}, rule), now)
	if err != nil || res.Incident.State != StateDeciding {
		t.Fatalf("two people were enough for three: %s, %v", res.Incident.State, err)
	}
	part := func(e Entry) bool { return e.Said.Kind == NoteApprovedPart && e.Said.Count == 2 && e.Said.Of == 3 }
	if !slices.ContainsFunc(res.Entries, part) {
		t.Errorf("not told as 2 of 3: %+v", res.Entries)
	}
}

// Asking again approves nothing: what is found then may be a plan that whoever asked has never seen, and may not
// approve.
func TestWhoAskedAgainIsNotOneOfTheFourEyes(t *testing.T) {
	t.Parallel()
	rule := Approvers{Users: []string{"U1", "U2"}, FourEyes: true}
	for name, diagnosis := range map[string]string{"the same plan": "queueing", "a plan of another kind": "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := scaleStep("2", "3")
			if diagnosis == "memory" {
				step = throttleStep()
			}
			inc := must(t, deciding(t, scaleStep("2", "3")), Expired{}, AskedAgain{By: alice})
			step.Needs.Approvals = rule.Needed(inc.ChosenBy(step))
			inc = must(t, inc, found(diagnosis, step), Asked{ExpiresAt: now.Add(time.Hour)})
			if got := inc.Plan.Steps[0].Needs.Approvals; got != 2 {
				t.Errorf("the step shows that it needs %d", got)
			}
			one := func(inc Incident, by Actor) Decided {
				d := approve(inc, "p2-s1", by)
				d.Approvers = &rule
				return d
			}
			for _, first := range []Actor{alice, bob} {
				if got := must(t, inc, one(inc, first)); got.State != StateDeciding {
					t.Errorf("%s alone was enough: %s", first, got.State)
				}
			}
			// Whoever asked may still be one of the two, by approving.
			inc = must(t, inc, one(inc, alice))
			if inc = must(t, inc, one(inc, bob)); inc.State != StateApplying {
				t.Errorf("two people were not enough: %s", inc.State)
			}
		})
	}
}
