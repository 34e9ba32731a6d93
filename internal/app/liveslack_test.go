package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// Everything that the configuration names in Slack is looked up, and what is wrong with it comes with what to do.
func TestLiveLooksUpEverythingThatIsNamedInSlack(t *testing.T) {
	t.Parallel()
	everybody := []string{"U0ALICE", "U0GUEST", "U0LEFT", "U0ROBOT", "U0STRANGER", "U0NOBODY"}
	for _, tt := range []struct {
		name    string
		slack   fakeslack.Options
		prepare func(s *fakeslack.Server, o *app.Options)
		want    map[string]string // where: text; one that begins with "ok: " is good
	}{
		{
			name: "all is well", want: map[string]string{
				"slack": "ok: workspace", "slack, app token": "ok: can open connections", "slack, scopes": "ok: all that are used",
				"slack, channel C0INCIDENTS": "ok: can be read", "slack, user group S0ONCALL": "ok: 2 members",
				"slack, user U0ALICE": "ok: can approve",
			},
		},
		{
			name: "who can't approve",
			prepare: func(_ *fakeslack.Server, o *app.Options) {
				approve(o, incident.Approvers{Users: everybody, Groups: []string{"S0EMPTY", "S0NONE"}})
			},
			want: map[string]string{
				"slack, user U0ALICE": "ok: can approve", "slack, user U0GUEST": "a guest, who can't approve: remove",
				"slack, user U0LEFT": "a deactivated account", "slack, user U0ROBOT": "a bot",
				"slack, user U0STRANGER": "somebody of another workspace", "slack, user U0NOBODY": "user_not_found: No account",
				"slack, user group S0EMPTY": "has no members", "slack, user group S0NONE": "no_such_subteam: No user group",
			},
		},
		{
			name: "the bot is not in the channel",
			prepare: func(s *fakeslack.Server, _ *app.Options) {
				s.PutChannel(fakeslack.Channel{ID: "C0INCIDENTS", BotAbsent: true})
			},
			want: map[string]string{"slack, channel C0INCIDENTS": "not_in_channel: Invite the app into the channel"},
		},
		{
			name: "the app token is revoked", prepare: func(s *fakeslack.Server, _ *app.Options) { s.RevokeAppToken() },
			want: map[string]string{
				"slack": "ok: workspace", "slack, app token": "token_revoked: Create an app-level token",
			},
		},
		{
			name: "the app token lacks its scope", slack: fakeslack.Options{AppScopes: []string{}},
			want: map[string]string{
				"slack, app token": "missing_scope (needs connections:write): Create an app-level token",
			},
		},
		{
			name:  "scopes are missing",
			slack: fakeslack.Options{Scopes: []string{"channels:history", "groups:history", "commands"}},
			want: map[string]string{
				"slack, scopes": "missing: chat:write, users:read, usergroups:read; add them under OAuth & Permissions",
			},
		},
		{
			name: "a scope is missing that the bot can do without",
			slack: fakeslack.Options{
				Scopes: []string{"chat:write", "users:read", "usergroups:read", "channels:history", "groups:history"},
			},
			want: map[string]string{"slack, scopes": "ok: all that are required; without commands"},
		},
		{
			name:  "channels can't be read",
			slack: fakeslack.Options{Scopes: []string{"chat:write", "users:read", "usergroups:read"}},
			want: map[string]string{
				"slack, scopes":              "ok: all that are required; without commands, channels:history",
				"slack, channel C0INCIDENTS": "ok: not checked whether the app is in the channel: the token lacks channels:history",
			},
		},
		{
			name: "a bot token that Slack refuses",
			prepare: func(s *fakeslack.Server, o *app.Options) {
				o.Config.Slack.Token = config.Fixed("xoxb-other")
				s.ExpectError("auth.test", "invalid_auth", 1)
			},
			want: map[string]string{
				"slack": "invalid_auth: The bot token is missing or not valid", "slack, app token": "ok: can open",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.slack.SocketMode = true
			s := fakeslack.Start(t, tt.slack)
			o := inSlack(options(t), s, true)
			approve(&o, incident.Approvers{Users: []string{"U0ALICE"}, Groups: []string{"S0ONCALL"}})
			s.PutUsergroup(fakeslack.Usergroup{ID: "S0EMPTY"})
			if tt.prepare != nil {
				tt.prepare(s, &o)
			}
			found, err := app.Live(context.WithoutCancel(t.Context()), o)
			if err != nil {
				t.Fatal(err)
			}
			said := map[string]string{}
			for _, f := range found {
				said[f.Where] = f.Text
				if f.Good {
					said[f.Where] = "ok: " + f.Text
				}
				for _, secret := range []config.Secret{o.Config.Slack.Token, o.Config.Slack.AppToken} {
					if strings.Contains(f.Text, secret.Reveal()) {
						t.Errorf("a secret shows: %s", f.Text)
					}
				}
			}
			for where, want := range tt.want {
				got := said[where]
				if strings.HasPrefix(got, "ok: ") != strings.HasPrefix(want, "ok: ") || !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", where, got, want)
				}
			}
			if n := s.SocketsAccepted(); n != 0 || len(s.CallsTo("chat.postMessage")) != 0 {
				t.Errorf("a check opened %d connections, or posted", n)
			}
		})
	}
}

// approve makes these the approvers of the first pool.
func approve(o *app.Options, a incident.Approvers) {
	o.Config.Pools[0].Approvers = map[incident.StepKind]incident.Approvers{"": a}
}
