package slack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// mild makes an incident of a story one of a pool, that may fold.
func mild(inc incident.Incident, n int) incident.Incident {
	inc.ID, inc.Pool, inc.WorstSeverity = fmt.Sprintf("inc-%08d", n), fmt.Sprintf("pool-%02d", n), "warning"
	inc.Alerts = slices.Clone(inc.Alerts)
	for i := range inc.Alerts {
		inc.Alerts[i].Labels = maps.Clone(inc.Alerts[i].Labels)
		inc.Alerts[i].Labels["severity"] = "warning"
	}
	return inc
}

// digests are those that people see, by name of the golden file.
func digests(t *testing.T) map[string]incident.Digest {
	t.Helper()
	all := stories(t)
	waiting, watching, closed := asked(t, incident.ModeApprove).inc, all["30-denied"], all["40-closed"]
	if watching.ID == "" || closed.ID == "" {
		t.Fatalf("the stories are called otherwise: %v", slices.Sorted(maps.Keys(all)))
	}
	later := mild(waiting, 4)
	plan := *later.Plan
	plan.ExpiresAt = plan.ExpiresAt.Add(-10 * time.Minute) // it ends before that of pool 1
	later.Plan = &plan
	storm := incident.Digest{
		ID: "digest-abcdefghij", Version: 9, Since: start.Add(-8 * time.Minute), Came: 12, Within: 10 * time.Minute,
		Folded: []incident.Incident{
			mild(closed, 0), mild(waiting, 1), mild(watching, 2), mild(all["01-received"], 3), later,
		},
		Shown: []string{"inc-5", "inc-6"}, LastCall: 3,
		Calls: []incident.Call{
			{Seq: 1, Incident: "inc-00000001", Entry: incident.Entry{Mention: []string{"U0ALICE", "S0ONCALL"}}},
			{Seq: 2, Incident: "inc-00000004", Entry: incident.Entry{Mention: []string{"S0ONCALL", "U0BOB"}}},
			{Seq: 3, Incident: "inc-00000001", Entry: incident.Entry{Mention: []string{"U0ALICE"}}},
		},
	}
	over := storm
	over.Folded, over.Shown = []incident.Incident{mild(closed, 0), mild(closed, 1)}, nil
	unfolded := incident.Digest{ID: storm.ID, Since: storm.Since, Shown: []string{"inc-1", "inc-2", "inc-3"}}
	one := storm
	one.Folded, one.Shown, one.Came = []incident.Incident{mild(all["01-received"], 3)}, nil, 6
	return map[string]incident.Digest{
		"60-digest": storm, "61-digest-begins": one, "62-digest-closed": over, "63-digest-unfolded": unfolded,
	}
}

func TestADigestSaysWhatItHas(t *testing.T) {
	t.Parallel()
	v := RenderDigest(digests(t)["60-digest"], links)
	text := shownText(v)
	for _, want := range []string{
		"7 new incidents since 03:02 UTC", "*2 need approval*", "2 open, nothing to decide", "1 closed",
		"2 shown separately",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	at := -1
	for _, pool := range []string{"pool-04", "pool-01", "pool-02", "pool-03", "pool-00"} {
		next := strings.Index(text, pool)
		if next <= at {
			t.Errorf("%s is not where it belongs:\n%s", pool, text)
		}
		at = next
	}
	if !strings.Contains(v.Text, "2 need approval") || !strings.HasSuffix(v.Text, "[digest-abcdefghij]") {
		t.Errorf("the text of the notification: %q", v.Text)
	}
}

// A digest that lasts says since which day, what is wrong now, and how many it no longer has a line for.
func TestAnOldDigestIsAboutNow(t *testing.T) {
	t.Parallel()
	d := digests(t)["60-digest"]
	for n := range d.Folded { // the closed one alone has another cause
		diagnosis := *d.Folded[1].Diagnosis
		if d.Folded[n].Open() {
			diagnosis.Name = "kv-thrash"
		}
		d.Folded[n].Diagnosis = &diagnosis
	}
	d.At, d.Closed = d.Since.Add(23*time.Hour), 30
	if text := shownText(RenderDigest(d, links)); !strings.Contains(text, "37 new incidents since 03:02 UTC") ||
		!strings.Contains(text, "4 of 4: *KV thrash*") || !strings.Contains(text, "31 closed") ||
		!strings.Contains(text, "30 more") {
		t.Errorf("of today:\n%s", text)
	}
	d.At = d.Since.Add(25 * time.Hour)
	if text := shownText(RenderDigest(d, links)); !strings.Contains(text, "since Nov 21, 03:02 UTC") {
		t.Errorf("of yesterday:\n%s", text)
	}
	for n := range d.Folded {
		d.Folded[n].State, d.Folded[n].ClosedAt = incident.StateClosed, start
	}
	text := shownText(RenderDigest(d, links))
	if !strings.Contains(text, "35 gathered incidents") || strings.Contains(text, "KV thrash") {
		t.Errorf("of the cause of 4 out of 35 it says:\n%s", text)
	}
}

// It is all that a phone shows at night.
func TestThePushOfADigestSaysHowBadItIs(t *testing.T) {
	t.Parallel()
	all := digests(t)
	off := all["61-digest-begins"]
	off.Came, off.Within = 0, 0
	for name, c := range map[string]struct {
		d    incident.Digest
		want string
	}{
		"begins": {all["61-digest-begins"], "Storm: 6 incidents in 10 min, also pool-03: alerts firing. " +
			"Further ones are gathered here. [digest-abcdefghij]"},
		"goes on": {all["60-digest"], "Storm: 12 incidents in 10 min, also pool-04: TTFT p95 7.2 s (target 2 s), " +
			"and 3 more. 2 need approval. 3 of 4: KV cache full. Further ones are gathered here. [digest-abcdefghij]"},
		"nothing folds": {off, "1 new incident since 03:02 UTC, also pool-03: alerts firing. [digest-abcdefghij]"},
		"over":          {all["62-digest-closed"], "All closed: 2 incidents. 2 of 2: KV cache full. [digest-abcdefghij]"},
	} {
		if got := digestPush(c.d); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
	d := all["60-digest"]
	_, text := renderCall(d, d.Calls, d.LastCall)
	if !strings.Contains(text, "Approval needed for 2 incidents, the first by 03:30 UTC: pool-04, pool-01.") {
		t.Error(text)
	}
	_, text = renderCall(d, d.Calls[:1], 1)
	if !strings.Contains(text, "Approval needed for 1 incident by 03:40 UTC: pool-01.") {
		t.Error(text)
	}
}

func TestDigestsKeepToTheVoice(t *testing.T) {
	t.Parallel()
	for name, d := range digests(t) {
		said := texts(RenderDigest(d, links))
		if len(d.Calls) > 0 {
			blocks, text := renderCall(d, d.Calls, d.LastCall)
			said = append(append(said, texts(View{Blocks: blocks})...), text)
		}
		for _, text := range said {
			voice.Check(t, name, voice.Message(text, "abort_spike", "kv_usage", "ttft_p95", "queue_time_p95"))
		}
	}
}

func TestACallNamesEveryIncidentOnceAndCallsEverybodyOnce(t *testing.T) {
	t.Parallel()
	d := digests(t)["60-digest"]
	blocks, text := renderCall(d, d.Calls, d.LastCall)
	shown := texts(View{Blocks: blocks})[1]
	for _, want := range []string{"<@U0ALICE>", "<!subteam^S0ONCALL>", "<@U0BOB>", "pool-01", "pool-04"} {
		if strings.Count(shown, want) != 1 || strings.Count(text, want) != 1 {
			t.Errorf("%q is not there once:\n%s\n%s", want, shown, text)
		}
	}
	if !strings.Contains(shown, "Approval needed for 2 incidents") || !strings.Contains(shown, "approve by <!date^") ||
		!strings.HasSuffix(text, "[digest-abcdefghij/3]") {
		t.Errorf("%s\n%s", shown, text)
	}
}

// What is shown separately may be on fire: the digest says nothing of it that it doesn't know.
func TestADigestClosesOnlyWhatItHas(t *testing.T) {
	t.Parallel()
	d := digests(t)["62-digest-closed"]
	d.Folded, d.Shown = d.Folded[:1], []string{"inc-2", "inc-3", "inc-4", "inc-5", "inc-6"}
	v := RenderDigest(d, links)
	if text := shownText(v); !strings.Contains(text, "⚪ 1 gathered incident closed, 5 shown separately") ||
		strings.Contains(text, "All closed") || strings.Contains(v.Text, "All closed") ||
		strings.Count(text, "shown separately") != 1 {
		t.Errorf("%s\n%s", text, v.Text)
	}
	d.Closed = 7
	if text := shownText(RenderDigest(d, links)); !strings.Contains(text, "⚪ 8 gathered incidents closed, 5 shown") {
		t.Errorf("%s", text)
	}
}

func TestADigestSaysWhatNeedsAHuman(t *testing.T) {
	t.Parallel()
	d := digests(t)["60-digest"]
	failed := stories(t)["26-drift"]
	if !needsHuman(failed) {
		t.Fatalf("the story is called otherwise: %+v", failed)
	}
	d.Folded = append(d.Folded, mild(failed, 9))
	text := shownText(RenderDigest(d, links))
	for _, want := range []string{"*2 need approval* · *1 needs a human* · 2 open, nothing to decide", "Needs a human."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if at := strings.Index(text, "pool-09"); at < strings.Index(text, "pool-01") || at > strings.Index(text, "pool-02") {
		t.Errorf("it isn't after those that wait:\n%s", text)
	}
}

// What one reply takes of the calls it shows whole: everybody is mentioned, and every incident has its line.
func TestNobodyIsLeftOutOfTheCalls(t *testing.T) {
	t.Parallel()
	d := incident.Digest{ID: "digest-abcdefghij", Since: start, LastCall: 50}
	waiting := asked(t, incident.ModeApprove).inc
	for n := range 50 {
		inc := mild(waiting, n)
		d.Folded = append(d.Folded, inc)
		who := []string{fmt.Sprintf("U0%05d", 2*n), fmt.Sprintf("S0%05d", 2*n+1)}
		d.Calls = append(d.Calls, incident.Call{Seq: int64(n + 1), Incident: inc.ID, Entry: incident.Entry{Mention: who}})
	}
	var shown, texted string
	for after := int64(0); after < d.LastCall; {
		p := d.Pending(after, time.Time{}, start)
		blocks, text := renderCall(d, p.Calls, p.Last)
		shown, texted, after = shown+strings.Join(texts(View{Blocks: blocks}), " "), texted+text, p.Last
	}
	for n := range 50 {
		for _, want := range []string{
			fmt.Sprintf("<@U0%05d>", 2*n), fmt.Sprintf("<!subteam^S0%05d>", 2*n+1), fmt.Sprintf("pool-%02d", n),
		} {
			if !strings.Contains(shown, want) || !strings.Contains(texted, want) {
				t.Errorf("%s is left out", want)
			}
		}
	}
}

// whole holds a digest against every limit, and that none of its incidents is lost without a word.
func whole(t *testing.T, d incident.Digest) {
	t.Helper()
	v := RenderDigest(d, ViewOptions{})
	n, err := size(v.Blocks)
	if err != nil || n > maxTotal || len(v.Blocks) > maxBlocks || len(v.Blocks) == 0 ||
		utf8.RuneCountInString(v.Text) > maxText {
		t.Fatalf("size %d (%v), %d blocks, text of %d", n, err, len(v.Blocks), utf8.RuneCountInString(v.Text))
	}
	s := newValidator(t)
	ts := s.send("chat.postMessage", "", "", v.Text, v.Blocks)
	s.send("chat.update", ts, "", v.Text, v.Blocks)
	silent := slices.Clone(d.Calls)
	for n := range silent {
		silent[n].Entry.Mention = nil
	}
	blocks, text := renderCall(d, silent, d.LastCall)
	s.send("chat.postMessage", "", ts, text, blocks)
	mustBeTame(t, s.s)
	blocks, text = renderCall(d, d.Calls, d.LastCall)
	s.send("chat.postMessage", "", ts, text, blocks)
	m, _ := s.s.Message("C0INCIDENTS", ts)
	lines := 0
	for _, b := range m.Buttons() {
		action := actionOf(b.ActionID)
		value, no := decodeDigestValue(action, b.Value)
		if no != nil || value.Digest != d.ID {
			t.Errorf("button %s carries %q: %v", b.ActionID, b.Value, no)
		}
		if action == actionShow {
			lines++
		}
	}
	if left := len(d.Folded) + d.Closed - lines; left > 0 && !strings.Contains(shownText(v), present.More(left)) {
		t.Errorf("%d of %d incidents have a line, and the others are not counted:\n%s", lines, len(d.Folded), shownText(v))
	}
}

func TestADigestKeepsEveryLimitWhateverItsIncidentsSay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		c := newChaos(seed, "x")
		d := incident.Digest{ID: "digest-1", Version: 3, Since: start, Closed: c.IntN(3), LastCall: 60}
		for n := range c.IntN(3) {
			d.Unreadable = append(d.Unreadable, fmt.Sprintf("inc-newer-%d", n))
		}
		for n := range 60 {
			inc := c.incident()
			inc.ID = fmt.Sprintf("inc-%d", n)
			d.Folded = append(d.Folded, inc)
			d.Calls = append(d.Calls, incident.Call{
				Seq: int64(n + 1), Incident: inc.ID,
				Entry: incident.Entry{Text: c.text(), Mention: []string{fmt.Sprintf("U0%05d", n), c.text()}},
			})
		}
		whole(t, d)
	}
	for _, d := range digests(t) {
		whole(t, d)
	}
}

// What Slack refuses is shown simpler, and the message is found again by the digest's id.
func TestADigestIsPostedEditedAndCalledFor(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, fakeslack.Options{})
	d := digests(t)["60-digest"]
	w.Fail("chat.postMessage", 1, fakeslack.Fault{Error: "invalid_blocks"})
	ts, err := w.notifier.PostDigest(t.Context(), channel, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.notifier.UpdateDigest(t.Context(), channel, ts, d); err != nil {
		t.Fatal(err)
	}
	if err := w.notifier.Call(t.Context(), channel, ts, d, d.Calls, d.LastCall); err != nil {
		t.Fatal(err)
	}
	for seq, parent := range map[int64]string{0: "", 3: ts} {
		_, found, err := w.notifier.FindPosted(t.Context(), channel, parent, d.ID, seq, time.Now().Add(-time.Hour))
		if err != nil || !found {
			t.Errorf("line %d is not found: %v", seq, err)
		}
	}
	if _, found, err := w.notifier.FindPosted(t.Context(), channel, ts, d.ID, 2, time.Now().Add(-time.Hour)); err != nil ||
		found {
		t.Errorf("a line that was not posted is found: %v", err)
	}
	if m, _ := w.Message(channel, ts); len(m.Buttons()) != 6 {
		t.Errorf("%d buttons", len(m.Buttons()))
	}
}

// office with a digest of two incidents in place of its incident's message.
func newDigestOffice(t *testing.T, cfg InteractionsConfig) (*office, incident.Digest) {
	t.Helper()
	f := newOffice(t, cfg, asked(t, incident.ModeApprove).inc)
	d := digests(t)["60-digest"]
	ts, err := f.notifier.PostDigest(t.Context(), channel, d)
	if err != nil {
		t.Fatal(err)
	}
	f.desk.msg = incident.Message{Incident: d.ID, Kind: incident.KindDigest, Channel: channel, TS: ts}
	f.desk.folded = map[string]bool{d.Folded[0].ID: true, d.Folded[1].ID: true}
	return f, d
}

func TestShowGivesAnIncidentItsMessage(t *testing.T) {
	t.Parallel()
	f, d := newDigestOffice(t, InteractionsConfig{})
	first := "show:" + d.Folded[0].ID
	for _, c := range []struct{ user, action, want string }{
		{"U0BOB", first, "Posting its message in this channel."},
		{"U0ALICE", first, "It has its own message in this channel already."},
		{"U0CAROL", "show_all", "Posting 1 message in this channel."},
		{"U0CAROL", "show_all", "Every open incident of it has its own message already."},
	} {
		if got := f.click(f.request(c.user, c.action)); got != c.want {
			t.Errorf("%s clicks %s: %q, want %q", c.user, c.action, got, c.want)
		}
	}
	if len(f.desk.decisions()) != 0 || len(f.desk.done()) != 0 {
		t.Error("to show something decides nothing")
	}
}

// A channel gets many messages only after somebody has read how many, and none for what has ended.
func TestShowAllAsksFirst(t *testing.T) {
	t.Parallel()
	s := newValidator(t)
	for name, want := range map[string]string{
		"60-digest": "Post 4 messages? " +
			"Each of the 4 open incidents gets its own message in this channel. Closed ones don't.",
		"61-digest-begins": "", "62-digest-closed": "", "63-digest-unfolded": "",
	} {
		v := RenderDigest(digests(t)[name], links)
		m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
		got := ""
		for _, b := range m.Buttons() {
			if b.ActionID == actionShowAll {
				got = b.Confirm.Title + " " + b.Confirm.Text
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	d := digests(t)["60-digest"]
	closed := d.Folded[0]
	for n := range maxDigestLines {
		d.Folded = append(d.Folded, mild(closed, 10+n))
	}
	if text := shownText(RenderDigest(d, links)); !strings.Contains(text, "5 more: `vllm-medic incidents list`") {
		t.Errorf("Show all does not show what has ended:\n%s", text)
	}
}

func TestShowIsRefused(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		user, want string
		change     func(f *office, d incident.Digest, r *fakeslack.ClickRequest)
	}{
		"a guest":          {user: "U0GUEST", want: "Guests can't use vllm-medic."},
		"a bot":            {user: "U0ROBOT", want: "Bots can't use vllm-medic."},
		"a stranger":       {user: "U0STRANGER", want: "People from other workspaces can't"},
		"a former account": {user: "U0LEFT", want: "This account is deactivated."},
		"no answer about the account": {
			want: "Could not read your account",
			change: func(f *office, _ incident.Digest, _ *fakeslack.ClickRequest) {
				f.Fail("users.info", 1, fakeslack.Fault{HTTPStatus: 429, RetryAfter: time.Minute})
			},
		},
		"another workspace": {
			want: "another workspace",
			change: func(_ *office, _ incident.Digest, r *fakeslack.ClickRequest) {
				r.TeamID, r.UserTeamID = "T0OTHER", "T0OTHER"
			},
		},
		"another message": {
			want: "out of date",
			change: func(_ *office, _ incident.Digest, r *fakeslack.ClickRequest) {
				r.PayloadMessageTS = "1700000000.000100"
			},
		},
		"another channel": {
			want:   "another channel|not the incident's channel",
			change: func(_ *office, _ incident.Digest, r *fakeslack.ClickRequest) { r.PayloadChannel = "C0OTHER" },
		},
		"an incident that is not in it": {
			want: "Unknown incident",
			change: func(_ *office, d incident.Digest, r *fakeslack.ClickRequest) {
				r.Value = text(`{"g":"` + d.ID + `","i":"inc-other"}`)
			},
		},
		"another digest": {
			want: "Unknown incident",
			change: func(_ *office, _ incident.Digest, r *fakeslack.ClickRequest) {
				r.Value = text(`{"g":"digest-other","i":"inc-00000000"}`)
			},
		},
		"all in place of one": {
			want: "Unknown action",
			change: func(_ *office, d incident.Digest, r *fakeslack.ClickRequest) {
				r.Value = text(`{"g":"` + d.ID + `"}`)
			},
		},
		"a value of an incident": {
			want: "Unknown action",
			change: func(_ *office, _ incident.Digest, r *fakeslack.ClickRequest) {
				r.Value = text(`{"i":"inc-00000000"}`)
			},
		},
		"a store that fails": {
			want: "Could not show it",
			change: func(f *office, _ incident.Digest, _ *fakeslack.ClickRequest) {
				f.desk.writeErr = errors.New("disk full")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, d := newDigestOffice(t, InteractionsConfig{})
			r := f.request(c.user, "show:"+d.Folded[0].ID)
			if c.user == "" {
				r.User = "U0ALICE"
			}
			if c.change != nil {
				c.change(f, d, &r)
			}
			got, ok := f.click(r), false
			for want := range strings.SplitSeq(c.want, "|") {
				ok = ok || strings.Contains(got, want)
			}
			if !ok {
				t.Errorf("answer = %q, want %q in it", got, c.want)
			}
			if !f.desk.folded[d.Folded[0].ID] {
				t.Error("it was unfolded")
			}
		})
	}
}
