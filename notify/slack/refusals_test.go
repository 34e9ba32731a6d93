package slack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// setup changes an office before somebody clicks.
type setup func(f *office, c *fakeslack.ClickRequest)

func allow(users ...string) setup {
	return func(f *office, _ *fakeslack.ClickRequest) { f.desk.approvers = incident.Approvers{Users: users} }
}

// inKubernetes has Kubernetes answer so about everybody's right to decide.
func inKubernetes(err error) setup {
	return func(f *office, _ *fakeslack.ClickRequest) {
		f.desk.mu.Lock()
		defer f.desk.mu.Unlock()
		f.desk.inKubernetes = func(_ string, pause bool) error {
			if pause {
				return errors.New("asked about a pause")
			}
			return err
		}
	}
}

func TestClickThatMustNotCountGetsAClearAnswerAndChangesNothing(t *testing.T) {
	t.Parallel()
	value := func(v string) setup { return func(_ *office, c *fakeslack.ClickRequest) { c.Value = &v } }
	for _, tt := range []struct {
		name, user string
		cfg        InteractionsConfig
		prepare    setup
		want       string
	}{
		{name: "not on the list", user: "U0CAROL", want: "You can't decide on this, so nothing was changed. Approvers: <"},
		{name: "empty list", user: "U0ALICE", prepare: allow(), want: "`approvers` is empty in the configuration"},
		{name: "guest", user: "U0GUEST", prepare: allow("U0GUEST"), want: "Guests can't"},
		{name: "deactivated", user: "U0LEFT", prepare: allow("U0LEFT"), want: "deactivated"},
		{name: "bot", user: "U0ROBOT", prepare: allow("U0ROBOT"), want: "Bots can't"},
		{name: "stranger", user: "U0STRANGER", prepare: allow("U0STRANGER"), want: "other workspaces"},
		{
			name: "account of another workspace", user: "U0ALICE", want: "other workspaces",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.PutUser(fakeslack.User{ID: "U0ALICE", TeamID: "T0ELSEWHERE"})
			},
		},
		{
			name: "user of another workspace in the payload", user: "U0ALICE", want: "other workspaces",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.UserTeamID = "T0ELSEWHERE" },
		},
		{
			name: "not in the group", user: "U0CAROL", want: "You can't decide on this, so nothing was changed. Approvers: <",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.desk.approvers = incident.Approvers{Groups: []string{"S0ONCALL"}}
			},
		},
		{
			name: "group that is switched off", user: "U0ALICE",
			want: "You can't decide on this, so nothing was changed. Approvers: <",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.PutUsergroup(fakeslack.Usergroup{ID: "S0ONCALL", Users: []string{"U0ALICE"}, Disabled: true})
				f.desk.approvers = incident.Approvers{Groups: []string{"S0ONCALL"}}
			},
		},
		{
			name: "group that cannot be read", user: "U0ALICE", want: "Could not read the usergroup",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.desk.approvers = incident.Approvers{Groups: []string{"S0ONCALL"}}
				f.Fail("usergroups.users.list", retries+1, fakeslack.Fault{HTTPStatus: 503})
			},
		},
		{
			name: "not mapped to a Kubernetes user", user: "U0ALICE", want: "isn't mapped to a Kubernetes user",
			prepare: inKubernetes(ErrUnmapped),
		},
		{
			name: "no right in Kubernetes", user: "U0ALICE", want: "doesn't have the permission `update incidents/decision`",
			prepare: inKubernetes(fmt.Errorf("%w: forbidden", ErrNoRight)),
		},
		{
			name: "Kubernetes does not answer", user: "U0ALICE", want: "Could not check your permissions in Kubernetes",
			prepare: inKubernetes(errors.New("connection refused")),
		},
		{
			name: "a right in Kubernetes, and not on the list", user: "U0CAROL", want: "You can't decide on this",
			prepare: inKubernetes(nil),
		},
		{
			name: "group that does not exist", user: "U0ALICE", want: "Could not read the usergroup",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.desk.approvers = incident.Approvers{Groups: []string{"S0GONE"}}
				f.ExpectError("usergroups.users.list", "no_such_subteam", 1)
			},
		},
		{
			name: "account that cannot be looked up", user: "U0ALICE", want: "Could not read your account from Slack",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.Fail("users.info", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Minute})
			},
		},
		{
			name: "another app", user: "U0ALICE", cfg: InteractionsConfig{AppID: "A0FAKE"}, want: "another app",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.AppID = "A0OTHER" },
		},
		{
			name: "another workspace", user: "U0ALICE", want: "another workspace",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.TeamID, c.UserTeamID = "T0OTHER", "T0OTHER" },
		},
		{
			name: "another workspace than configured", user: "U0ALICE", cfg: InteractionsConfig{Team: "T0CONFIGURED"},
			want: "another workspace",
		},
		{
			name: "another organisation", user: "U0ALICE", cfg: InteractionsConfig{Team: "T0FAKE", Enterprise: "E0OURS"},
			want:    "another workspace",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.EnterpriseID = "E0OTHER" },
		},
		{
			name: "own workspace unknown", user: "U0ALICE", want: "which workspace this bot belongs to",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.Fail("auth.test", retries+1, fakeslack.Fault{HTTPStatus: 503})
			},
		},
		{
			name: "another channel", user: "U0ALICE", want: "not the incident's channel",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.PayloadChannel = "C0OTHER" },
		},
		{
			name: "another message", user: "U0ALICE", want: "out of date",
			prepare: func(_ *office, c *fakeslack.ClickRequest) { c.PayloadMessageTS = "1700000000.000001" },
		},
		{
			name: "message not known yet", user: "U0ALICE", want: "still being posted",
			prepare: func(f *office, c *fakeslack.ClickRequest) { c.MessageTS = f.desk.msg.TS; f.desk.msg.TS = "" },
		},
		{
			name: "value of another incident", user: "U0ALICE", prepare: value(`{"i":"inc-other","s":"p1-s3","d":"x"}`),
			want: "Unknown incident",
		},
		{
			name: "value with more in it", user: "U0ALICE", prepare: value(`{"i":"inc-7kq2mz4a","s":"p1-s3","d":"x","to":"9"}`),
			want: "Unknown action",
		},
		{name: "value that is no JSON", user: "U0ALICE", prepare: value("approve"), want: "Unknown action"},
		{
			name: "value with something behind", user: "U0ALICE", prepare: value(`{"i":"a","s":"b","d":"c"}{}`),
			want: "Unknown action",
		},
		{
			name: "step that is not there", user: "U0ALICE", prepare: value(`{"i":"inc-7kq2mz4a","s":"p9-s9","d":"x"}`),
			want: "plan changed",
		},
		{
			name: "digest of another plan", user: "U0ALICE",
			prepare: value(`{"i":"inc-7kq2mz4a","s":"p1-s3","d":"000000000000"}`), want: "plan changed",
		},
		{
			name: "refused step", user: "U0ALICE", want: "This step is blocked",
			prepare: func(f *office, c *fakeslack.ClickRequest) {
				v, _ := buttonValue{Incident: f.desk.inc.ID, Step: "p1-s2", Digest: f.desk.inc.Plan.Digest}.encode()
				c.Value = &v
			},
		},
		{
			name: "step for a person", user: "U0ALICE", want: "manual",
			prepare: func(f *office, c *fakeslack.ClickRequest) {
				v, _ := buttonValue{Incident: f.desk.inc.ID, Step: "p1-s4", Digest: f.desk.inc.Plan.Digest}.encode()
				c.Value = &v
			},
		},
		{
			name: "too late", user: "U0ALICE", want: "has expired",
			prepare: func(f *office, _ *fakeslack.ClickRequest) { f.desk.inc.Plan.ExpiresAt = time.Now().Add(-time.Second) },
		},
		{
			name: "changes are paused", user: "U0ALICE",
			want: "Changes are paused for all pools by <@U0BOB>: a network change. Nothing was changed. Resume them with " +
				"vllm-medic resume, or /vllm-medic resume in Slack. Then approve again.",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				f.booth.pauses = []incident.Pause{{
					Reason: "a network change", By: incident.Actor{Kind: "slack", ID: "U0BOB"}, At: time.Now(),
				}}
			},
		},
		{
			name: "the pauses cannot be read", user: "U0ALICE", want: "Could not read the incident",
			prepare: func(f *office, _ *fakeslack.ClickRequest) { f.booth.broken = errors.New("db password=hunter2") },
		},
		{
			name: "decided already", user: "U0BOB", want: "Already approved by <@U0ALICE>",
			prepare: func(f *office, _ *fakeslack.ClickRequest) {
				s := story{t: f.t, inc: f.desk.inc, now: time.Now()}
				f.desk.inc = s.decide(incident.Approve, "p1-s3").inc
			},
		},
		{
			name: "restart without its confirmation", user: "U0ALICE", want: "separate confirmation",
			prepare: func(f *office, _ *fakeslack.ClickRequest) { f.desk.inc.Plan.Steps[2].Needs.Confirm = true },
		},
		{
			name: "store cannot be read", user: "U0ALICE", want: "Could not read the incident",
			prepare: func(f *office, _ *fakeslack.ClickRequest) { f.desk.readErr = errors.New("db password=hunter2") },
		},
		{
			name: "decision cannot be stored", user: "U0ALICE", want: "Could not store your decision",
			prepare: func(f *office, _ *fakeslack.ClickRequest) { f.desk.writeErr = errors.New("disk full") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, tt.cfg, asked(t, incident.ModeApprove).inc)
			c := f.request(tt.user, "approve:p1-s3")
			if tt.prepare != nil {
				tt.prepare(f, &c)
			}
			c.MessageTS = f.Messages(channel)[0].TS
			got := f.click(c)
			if !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q in it", got, tt.want)
			}
			if n := f.desk.decisions(); len(n) != 0 {
				t.Errorf("it was taken: %+v", n)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("the answer tells internals: %q", got)
			}
		})
	}
}
