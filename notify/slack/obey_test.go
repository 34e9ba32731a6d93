package slack

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

func TestCommandsDoTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	old, alice := time.Now().Add(-time.Hour), incident.Actor{Kind: "slack", ID: "U0ALICE"}
	for _, tt := range []struct {
		text, user string
		prepare    func(f *office)
		want       []string
		pauses     []string // "pool: reason" afterwards
		asked      string   // the reason of the fresh plan
	}{
		{text: "", want: []string{"/vllm-medic pause [POOL] REASON", "/vllm-medic show ID"}},
		{text: "help", user: "U0CAROL", want: []string{"/vllm-medic status"}},
		{text: "reboot llama", want: []string{"Unknown command “reboot”", "/vllm-medic status"}},
		{
			text: "status", user: "U0CAROL",
			want: []string{"Changes aren't paused.", "Open incidents: 1, 1 of them need approval."},
		},
		{
			text: "STATUS", want: []string{"paused for pool mixtral", "too <hot>", "Playbooks on disk are invalid"},
			prepare: func(f *office) {
				f.booth.pauses = []incident.Pause{{Pool: "mixtral", Reason: "too <hot>", By: alice, At: old}}
				f.booth.notice = "Playbooks on disk are invalid"
			},
			pauses: []string{"mixtral: too <hot>"},
		},
		{text: "incidents", user: "U0CAROL", want: []string{"llama", "needs approval"}},
		{text: "incidents", want: []string{"No open incidents."}, prepare: func(f *office) { f.booth.open = nil }},
		{text: "show $ID", user: "U0CAROL", want: []string{"llama", "needs approval", "proposed", "Its message is in"}},
		{text: "show inc-other", want: []string{"Unknown incident"}},
		{text: "show", want: []string{"Say which incident"}},
		{text: "pause llama too hot", want: []string{"paused for pool llama", "too hot"}, pauses: []string{"llama: too hot"}},
		{
			text: "pause  everything is   on fire ", want: []string{"paused for all pools"},
			pauses: []string{": everything is on fire"},
		},
		{text: "pause", want: []string{"Say why"}},
		{text: "pause llama", want: []string{"Say why"}},
		{
			text: "pause llama x", want: []string{"begun before", "Deployment llm/llama"}, pauses: []string{"llama: x"},
			prepare: func(f *office) {
				f.booth.writes = []incident.Write{{Pool: "llama", Target: "Deployment llm/llama"}, {Pool: "mixtral", Target: "no"}}
			},
		},
		{text: "pause mixtral x", want: []string{"othing was changed"}},                  // Alice is no approver there
		{text: "pause mixtral x", user: "U0CAROL", want: []string{"othing was changed"}}, // nor is Carol, in no group
		{
			text: "pause mixtral x", user: "U0CAROL", want: []string{"paused for pool mixtral"}, pauses: []string{"mixtral: x"},
			prepare: func(f *office) { f.PutUsergroup(fakeslack.Usergroup{ID: "S0NIGHT", Users: []string{"U0CAROL"}}) },
		},
		{
			text: "pause mixtral x", user: "U0CAROL", want: []string{"Could not read the usergroup", "othing was changed"},
			prepare: func(f *office) { f.Fail("usergroups.users.list", 1, fakeslack.Fault{Error: "missing_scope"}) },
		},
		{
			text: "pause llama x", want: []string{"othing was changed"},
			prepare: func(f *office) { f.booth.acting = nil }, // an empty list is nobody
		},
		{
			text: "pause x", want: []string{"othing was changed"},
			prepare: func(f *office) { f.booth.acting = nil },
		},
		{
			text: "pause llama x", want: []string{"may not be in effect"},
			prepare: func(f *office) { f.booth.broken = errors.New("disk full") },
		},
		{
			text: "resume llama", want: []string{"allowed again for pool llama", "paused for all pools"},
			pauses: []string{": all"},
			prepare: func(f *office) {
				f.booth.pauses = []incident.Pause{
					{Pool: "llama", Reason: "x", By: alice, At: old}, {Reason: "all", By: alice, At: old},
				}
			},
		},
		{
			// Who may decide on one kind of step only stops all of them, and does not start them again.
			text: "pause llama x", want: []string{"paused for pool llama"}, pauses: []string{"llama: x"},
			prepare: func(f *office) {
				f.booth.acting["llama"] = []incident.Approvers{{Users: []string{"U0BOB"}}, {Users: []string{"U0ALICE"}}}
			},
		},
		{
			text: "resume llama", want: []string{"othing was changed"}, pauses: []string{"llama: x"},
			prepare: func(f *office) {
				f.booth.acting["llama"] = []incident.Approvers{{Users: []string{"U0ALICE"}}, {Users: []string{"U0BOB"}}}
				f.booth.pauses = []incident.Pause{{Pool: "llama", Reason: "x", By: alice, At: old}}
			},
		},
		{text: "resume llama", want: []string{"No pause was in effect for pool llama"}},
		{text: "resume lama", want: []string{"There's no pool “lama”", "llama, mixtral"}},
		{
			// Whoever approves in one pool only must not start changes in another.
			text: "resume", want: []string{"othing was changed"}, pauses: []string{": all"},
			prepare: func(f *office) { f.booth.pauses = []incident.Pause{{Reason: "all", By: alice, At: old}} },
		},
		{
			text: "resume", user: "U0BOB", want: []string{"allowed again for all pools"},
			prepare: func(f *office) { f.booth.pauses = []incident.Pause{{Reason: "all", By: alice, At: old}} },
		},
		{text: "ask $ID we added nodes", want: []string{"Asking again"}, asked: "we added nodes"},
		{text: "ask $ID", user: "U0CAROL", want: []string{"othing was changed"}},
		{
			// The request was answered after the command came in, so it's not what the command was about.
			text: "ask $ID", want: []string{"plan changed"},
			prepare: func(f *office) { f.desk.inc.Plan.CreatedAt = time.Now().Add(time.Hour) },
		},
		{
			// The rights are those of the button: approvers of the steps of the plan.
			text: "ask $ID", want: []string{"othing was changed"},
			prepare: func(f *office) { f.desk.approvers = incident.Approvers{Users: []string{"U0BOB"}} },
		},
		{text: "ask", want: []string{"Say which incident"}},
		{text: "ask inc-other", want: []string{"Unknown incident"}},
		{
			text: "ask $ID", want: []string{"not stored"},
			prepare: func(f *office) { f.booth.refuse = &incident.RefusedError{Reason: "not stored"} },
		},
	} {
		t.Run(cmp.Or(tt.text, "nothing"), func(t *testing.T) {
			t.Parallel()
			overBoth(t, func(t *testing.T, open newIn) {
				f := open(t, InteractionsConfig{AppID: fakeslack.AppID}, asked(t, incident.ModeApprove).inc)
				f.booth.staffed()
				f.booth.open = []incident.Incident{f.desk.inc}
				f.PutUsergroup(fakeslack.Usergroup{ID: "S0NIGHT"})
				if tt.prepare != nil {
					tt.prepare(f)
				}
				got := strings.ReplaceAll(f.command(fakeslack.CommandRequest{
					User: tt.user, Text: strings.ReplaceAll(tt.text, "$ID", f.desk.inc.ID),
				}), "*", "")
				for _, want := range tt.want {
					if !strings.Contains(got, want) {
						t.Errorf("answer = %q, want %q in it", got, want)
					}
				}
				pauses, acts := f.booth.state()
				var all []string
				for _, p := range pauses {
					all = append(all, p.Pool+": "+p.Reason)
					if p.By.Kind != "slack" || (tt.prepare == nil && p.By.ID != cmp.Or(tt.user, "U0ALICE")) || p.At.IsZero() {
						t.Errorf("pause = %+v", p)
					}
				}
				if !slices.Equal(all, tt.pauses) {
					t.Errorf("pauses = %q, want %q", all, tt.pauses)
				}
				if ev, ok := onlyAct(acts); (tt.asked != "") != ok || ev.Reason != tt.asked {
					t.Errorf("events = %+v", acts)
				}
			})
		})
	}
}

// Killed after the pause was ended and before the command was finished: the next process meets the command again, and
// must not undo what somebody decided in between.
func TestACommandThatIsHandledTwiceEndsNoLaterPause(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.booth.staffed()
	f.booth.pauses = []incident.Pause{{Pool: "llama", Reason: "first", At: time.Now().Add(-time.Hour)}}
	f.stop()
	res, err := f.Command(t.Context(), fakeslack.CommandRequest{
		User: "U0ALICE", Channel: channel, Command: CommandName, Text: "resume llama",
	})
	if err != nil {
		t.Fatal(err)
	}
	killed := f.another(InteractionsConfig{})
	killed.clicks = unfinished{f.shelf}
	if err := f.handleOne(killed); err == nil {
		t.Fatal("the command was finished")
	}
	if pauses, _ := f.booth.state(); len(pauses) != 0 {
		t.Fatalf("not resumed: %+v", pauses)
	}
	bob := incident.Pause{
		Pool: "llama", Reason: "it got worse", By: incident.Actor{Kind: "slack", ID: "U0BOB"}, At: time.Now(),
	}
	if err := f.booth.SetPause(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	f.shelf.age(0)
	f.run(f.another(InteractionsConfig{}))
	answers, err := f.WaitAnswers(t.Context(), res.ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers[1].VisibleText(); !strings.Contains(got, "set after your command, so it stays") ||
		!strings.Contains(got, "it got worse") {
		t.Errorf("answer = %q", got)
	}
	if pauses, _ := f.booth.state(); !slices.Equal(pauses, []incident.Pause{bob}) {
		t.Errorf("pauses %+v", pauses)
	}
}

func onlyAct(acts []incident.Event) (incident.AskedAgain, bool) {
	if len(acts) != 1 {
		return incident.AskedAgain{}, false
	}
	ev, ok := acts[0].(incident.AskedAgain)
	return ev, ok
}

// Nobody but a full member of the own workspace learns anything or changes anything.
func TestCommandsAreForFullMembersOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		c       fakeslack.CommandRequest
		prepare func(f *office)
		want    string
	}{
		{name: "guest", c: fakeslack.CommandRequest{User: "U0GUEST"}, want: "Guests can't"},
		{name: "bot", c: fakeslack.CommandRequest{User: "U0ROBOT"}, want: "Bots can't"},
		{name: "deactivated", c: fakeslack.CommandRequest{User: "U0LEFT"}, want: "deactivated"},
		{name: "stranger", c: fakeslack.CommandRequest{User: "U0STRANGER"}, want: "other workspaces"},
		{name: "another workspace", c: fakeslack.CommandRequest{TeamID: "T0OTHER"}, want: "another workspace"},
		{name: "another app", c: fakeslack.CommandRequest{AppID: "A0OTHER"}, want: "another app"},
		{
			name: "lookup fails", want: "Could not read your account",
			prepare: func(f *office) { f.Fail("users.info", 3, fakeslack.Fault{HTTPStatus: 503}) },
		},
	} {
		for _, text := range []string{"incidents", "pause llama x"} {
			t.Run(tt.name+" "+text, func(t *testing.T) {
				t.Parallel()
				overBoth(t, func(t *testing.T, open newIn) {
					f := open(t, InteractionsConfig{AppID: fakeslack.AppID}, asked(t, incident.ModeApprove).inc)
					f.booth.staffed()
					f.booth.open = []incident.Incident{f.desk.inc}
					if tt.prepare != nil {
						tt.prepare(f)
					}
					c := tt.c
					c.Text = text
					got := f.command(c)
					if !strings.Contains(got, tt.want) || strings.Contains(got, "llama") || strings.Contains(got, "pause [POOL]") {
						t.Errorf("answer = %q", got)
					}
					if pauses, acts := f.booth.state(); len(pauses)+len(acts) != 0 {
						t.Errorf("pauses %+v, events %+v", pauses, acts)
					}
				})
			})
		}
	}
}

func TestAForgedCommandIsRefused(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.booth.staffed()
	for name, c := range map[string]fakeslack.CommandRequest{"bad": {BadSignature: true}, "none": {Unsigned: true}} {
		c.User, c.Channel, c.Command, c.Text = "U0ALICE", channel, CommandName, "pause llama x"
		if res, err := f.Command(t.Context(), c); !errors.Is(err, fakeslack.ErrRefused) || res.Status != 401 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if pauses, _ := f.booth.state(); len(pauses) != 0 {
		t.Errorf("pauses %+v", pauses)
	}
}

func TestALateCommandIsRefusedAndSaysSo(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.booth.staffed()
		f.stop()
		res, err := f.Command(t.Context(), fakeslack.CommandRequest{
			User: "U0ALICE", Channel: channel, Command: CommandName, Text: "pause llama x",
		})
		if err != nil {
			t.Fatal(err)
		}
		f.shelf.age(6 * time.Minute)
		f.run(f.another(InteractionsConfig{}))
		answers, err := f.WaitAnswers(t.Context(), res.ID, 1)
		if err != nil || !strings.Contains(answers[0].Text, "Send it again") {
			t.Errorf("answers %+v, %v", answers, err)
		}
		if pauses, _ := f.booth.state(); len(pauses) != 0 {
			t.Errorf("pauses %+v", pauses)
		}
	})
}

// Names of alerts and reasons are foreign text: they call nobody and make no link.
func TestWhatCommandsTellIsHarmless(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{
		ID: "inc-`<!channel>", Pool: "<!here>*x* @here", State: "odd<!channel> @channel", OpenedAt: time.Now(),
		Diagnosis: &incident.Diagnosis{Summary: "<@U0ALICE> & <http://x|y> https://x @here"},
	}
	p := incident.Pause{
		Pool: "<!here>", Reason: "<!channel> https://x @everyone", By: incident.Actor{Kind: "token", ID: "<@U1>"},
		At: time.Now(),
	}
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.booth.staffed()
	const typed = "https://x@here"
	for _, text := range []string{
		incidentLine(inc), pauseLine(p), poolList([]string{"<!here> https://x"}),
		earlierWrites([]incident.Write{{Target: "<!here> https://x @here"}}, ""),
		f.command(fakeslack.CommandRequest{Text: typed}), f.command(fakeslack.CommandRequest{Text: "resume " + typed}),
	} {
		for _, live := range []string{"<!channel", "<!here", "<@U", "<http", "https://", "@here", "@channel", "@everyone"} {
			if strings.Contains(text, live) {
				t.Errorf("%q has %s", text, live)
			}
		}
	}
}
