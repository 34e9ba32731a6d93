package fakeslack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthTestNamesTheBot(t *testing.T) {
	t.Parallel()
	_, client := start(t, Options{EnterpriseID: "E0ORG"})
	got, err := client.AuthTestContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.UserID != BotUserID || got.TeamID != TeamID || got.BotID != "B0MEDIC" || got.EnterpriseID != "E0ORG" {
		t.Errorf("answer = %+v", got)
	}
}

func TestUserInfoHasTheFlagsThatDecide(t *testing.T) {
	t.Parallel()
	_, client := start(t, Options{})
	type flags struct{ Deleted, Bot, Guest, Stranger, Elsewhere bool }
	want := map[string]flags{
		"U0ALICE": {}, "U0GUEST": {Guest: true}, "U0LEFT": {Deleted: true}, "U0ROBOT": {Bot: true},
		"U0STRANGER": {Stranger: true, Elsewhere: true}, BotUserID: {Bot: true},
	}
	for id, w := range want {
		u, err := client.GetUserInfoContext(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := flags{u.Deleted, u.IsBot, u.IsRestricted || u.IsUltraRestricted, u.IsStranger, u.TeamID != TeamID}
		if got != w {
			t.Errorf("%s = %+v, want %+v", id, got, w)
		}
	}
	_, err := client.GetUserInfoContext(t.Context(), "U9")
	wantSlackError(t, err, "user_not_found")
}

func TestUsergroupMembers(t *testing.T) {
	t.Parallel()
	s, client := start(t, Options{})
	got, err := client.GetUserGroupMembersContext(t.Context(), "S0ONCALL")
	if diff := cmp.Diff([]string{"U0ALICE", "U0BOB"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	s.PutUsergroup(Usergroup{ID: "S0ONCALL", Users: []string{"U0CAROL"}, Disabled: true})
	if got, err = client.GetUserGroupMembersContext(t.Context(), "S0ONCALL"); err != nil || len(got) != 0 {
		t.Errorf("a disabled group has %v, %v, want nobody", got, err)
	}
	_, err = client.GetUserGroupMembersContext(t.Context(), "S9")
	wantSlackError(t, err, "no_such_subteam")
}
