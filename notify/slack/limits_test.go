package slack

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// validator is a workspace without a socket.
type validator struct {
	t *testing.T
	s *fakeslack.Server
}

func newValidator(t *testing.T, links ...string) validator {
	t.Helper()
	return validator{t, fakeslack.New(fakeslack.Options{AllowedLinks: links})}
}

// send posts or updates what was rendered and returns the timestamp.
func (v validator) send(method, ts, threadTS string, text string, blocks []slackgo.Block) string {
	v.t.Helper()
	body, err := json.Marshal(map[string]any{
		"channel": "C0INCIDENTS", "text": text, "blocks": blocks, "ts": ts,
		"thread_ts": threadTS,
	})
	if err != nil {
		v.t.Fatal(err)
	}
	args := map[string]any{}
	if err := json.Unmarshal(body, &args); err != nil {
		v.t.Fatal(err)
	}
	for _, k := range []string{"ts", "thread_ts"} {
		if args[k] == "" {
			delete(args, k)
		}
	}
	if body, err = json.Marshal(args); err != nil {
		v.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(v.t.Context(), http.MethodPost, "/api/"+method, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+v.s.Token())
	w := httptest.NewRecorder()
	v.s.ServeHTTP(w, r)
	var out struct {
		OK               bool
		Error, TS        string
		ResponseMetadata struct{ Messages []string } `json:"response_metadata"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		v.t.Fatal(err)
	}
	if !out.OK {
		v.t.Fatalf("%s: %s %v\n%s", method, out.Error, out.ResponseMetadata.Messages, body)
	}
	return out.TS
}

// mustKeepLimits renders an incident in every way and holds it against Slack's rules and ours.
func mustKeepLimits(t *testing.T, inc incident.Incident) {
	t.Helper()
	s := newValidator(t)
	for _, opts := range []ViewOptions{{}, {NoChart: true}, {Brief: true, NoChart: true}} {
		v := Render(inc, opts)
		n, err := size(v.Blocks)
		if err != nil || n > maxTotal || len(v.Blocks) > maxBlocks || len(v.Blocks) == 0 ||
			utf8.RuneCountInString(v.Text) > maxText {
			t.Fatalf("size %d (%v), %d blocks, text of %d", n, err, len(v.Blocks), utf8.RuneCountInString(v.Text))
		}
		if !strings.HasSuffix(v.Text, reference(inc.ID, 0)) {
			t.Errorf("the text does not end in the reference: %q", v.Text)
		}
		ts := s.send("chat.postMessage", "", "", v.Text, v.Blocks)
		s.send("chat.update", ts, "", v.Text, v.Blocks)
		if m, ok := s.s.Message("C0INCIDENTS", ts); !ok {
			t.Error("the message is not there")
		} else {
			mustOfferDecisions(t, inc, m)
		}
	}
	mustBeTame(t, s.s)
}

// mustOfferDecisions holds that no button is missing from a question because of its size, that at most one of
// them is the primary one, and that none is shown that would do nothing.
func mustOfferDecisions(t *testing.T, inc incident.Incident, m fakeslack.Message) {
	t.Helper()
	want := map[string]bool{}
	_, undo := present.Offered(inc)
	asking := inc.State == incident.StateDeciding && inc.Pool != ""
	open := inc.Proposed()
	if asking && !undo && len(open) > 0 {
		want[actionDenyAll] = true
		for _, s := range open[:min(5, len(open))] {
			want[s.ID] = true
		}
	}
	primary := 0
	for _, b := range m.Buttons() {
		v, err := decodeValue(b.Value)
		if err != nil || v.Incident != inc.ID {
			t.Errorf("button %s carries %q: %v", b.ActionID, b.Value, err)
		}
		if b.Style == "primary" {
			primary++
		}
		s, ok := inc.Step(v.Step)
		action := actionOf(b.ActionID)
		switch verb, _, decision := verbOf(action); {
		case action == "":
			t.Errorf("button %s is none of ours", b.ActionID)
		case decision && action != actionDenyAll && !ok:
			t.Errorf("button %s is for no step", b.ActionID)
		case verb == incident.Approve && (s.Needs.Restart || s.Needs.Confirm) != (b.Confirm != nil):
			t.Errorf("button %s: confirmation is %v", b.ActionID, b.Confirm)
		case decision && verb != incident.Undo && (!asking || undo != (verb == incident.Keep)):
			t.Errorf("button %s in state %s, undo offered %t", b.ActionID, inc.State, undo)
		case verb == incident.Approve:
			delete(want, s.ID)
		case action == actionDenyAll:
			delete(want, actionDenyAll)
		}
	}
	if len(want) > 0 {
		t.Errorf("no buttons for %v", want)
	}
	if primary > 1 {
		t.Errorf("%d buttons stand out", primary)
	}
}

// mustBeTame holds that nothing but our own mentions of known actors is live.
func mustBeTame(t *testing.T, s *fakeslack.Server) {
	t.Helper()
	for _, m := range s.LiveMentions() {
		if m.Kind != "user" || m.Text != "<@U0ALICE>" {
			t.Errorf("live %s at %s: %q", m.Kind, m.At, m.Text)
		}
	}
	if bad := s.Unexpected(); len(bad) > 0 {
		t.Errorf("unexpected: %v", bad)
	}
}

func TestRenderKeepsEveryLimitWhateverTheIncidentSays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		mustKeepLimits(t, newChaos(seed, strings.Repeat("ä&<", int(seed)*8)).incident())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzRender(f *testing.F) {
	for i, s := range nasty {
		f.Add(uint64(i), s)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) { mustKeepLimits(t, newChaos(seed, text).incident()) })
}

func FuzzRenderEntry(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, dryRun bool) {
		s := newValidator(t)
		parent := s.send("chat.postMessage", "", "", "parent", nil)
		inc := incident.Incident{ID: "inc-abc", DryRun: dryRun}
		blocks, fallback := renderEntry(inc, incident.Entry{Seq: 3, Text: text})
		if !strings.HasSuffix(fallback, reference("inc-abc", 3)) || utf8.RuneCountInString(fallback) > maxText {
			t.Errorf("fallback = %q", fallback)
		}
		s.send("chat.postMessage", "", parent, fallback, blocks)
		mustBeTame(t, s.s)
	})
}

func TestRenderOfRealStoriesIsFullAndTame(t *testing.T) {
	t.Parallel()
	for name, inc := range stories(t) {
		mustKeepLimits(t, inc)
		v := Render(inc, links)
		s := newValidator(t, "https://medic.example.com/", "https://docs.example.com/", "https://prometheus.example.com/")
		ts := s.send("chat.postMessage", "", "", v.Text, v.Blocks)
		mustBeTame(t, s.s)
		m, _ := s.s.Message("C0INCIDENTS", ts)
		if first, _, _ := strings.Cut(m.VisibleText(), "\n"); inc.DryRun && !strings.HasPrefix(first, unreal(inc)) {
			t.Errorf("%s: the dry run is not marked in the first line", name)
		}
		if !inc.DryRun && strings.Contains(m.VisibleText(), "DRY RUN") {
			t.Errorf("%s: marked as a dry run", name)
		}
		var answers []string
		for _, b := range m.Buttons() {
			answers = append(answers, b.ActionID)
		}
		if slices.ContainsFunc(answers, func(a string) bool { return strings.HasPrefix(a, "undo") }) && inc.DryRun {
			t.Errorf("%s: a dry run offers an undo", name)
		}
	}
}

func TestLargestIncidentStillOffersItsDecisions(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("&", 3000)
	inc := asked(t, incident.ModeApprove, batchStep()).inc
	inc.Pool, inc.Note, inc.Dialect = huge, huge, huge
	inc.Diagnosis.Summary, inc.Diagnosis.Never, inc.Diagnosis.Unusual = huge,
		slices.Repeat([]incident.Never{{Why: huge}}, 20), slices.Repeat([]string{huge}, 20)
	for n := range inc.Diagnosis.Evidence {
		inc.Diagnosis.Evidence[n].Text, inc.Diagnosis.Evidence[n].Seen, inc.Diagnosis.Evidence[n].Threshold = huge, huge, huge
	}
	s := inc.Plan.Steps[0]
	s.Title, s.Why, s.Diff, s.Cost, s.Speed, s.Risk = huge, huge, huge, huge, huge, huge
	for n := range s.Guardrails {
		s.Guardrails[n].Reason, s.Guardrails[n].Name = huge, huge
	}
	s.Guardrails = append(s.Guardrails, s.Guardrails...)
	inc.Plan.Steps = nil
	for n := range 9 {
		s.ID = "p1-s" + string(rune('1'+n))
		inc.Plan.Steps = append(inc.Plan.Steps, s)
	}
	for n := range 9 {
		w := s
		w.ID, w.State = "p0-s"+string(rune('1'+n)), incident.StepApplied
		inc.AppliedEarlier = append(inc.AppliedEarlier, w)
	}
	mustKeepLimits(t, inc)
}
