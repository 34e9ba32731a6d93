package web_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

var alice = incident.Actor{Kind: "slack", ID: "U0ALICE"}

// asked is an incident that asks about a throttle and a restart.
func asked() incident.Incident {
	inc := rich()
	inc.Plan.Steps = []incident.Step{
		{
			ID: "p1-s1", Kind: incident.StepThrottle, State: incident.StepProposed, Title: "Throttle llama-70b from 256 to 128",
			From: incident.Set("256"), To: incident.Set("128"), Undo: incident.Set("256"), RevertAfter: 10 * time.Minute,
			Speed: "takes effect in seconds", Cost: "requests over the limit get a 503", Risk: "clients may retry",
			Needs: incident.Needs{Approvals: 2, Users: []string{"U0ALICE"}, Groups: []string{"S0ONCALL"}},
			Target: incident.Target{
				Kind: "BackendTrafficPolicy", Namespace: "llm", Name: "llama-70b", Field: "maxParallelRequests",
			},
			Guardrails: []incident.Guardrail{
				{Name: "bounds", Verdict: incident.GuardPass, Reason: "within 16 to 1024"},
				{Name: "max_step", Verdict: incident.GuardShrink, Reason: "max 50% per step; playbook asked for 64"},
			},
		},
		{
			ID: "p1-s2", Kind: "max_num_batched_tokens", State: incident.StepProposed, Title: "Set it",
			From: incident.Set("8192"), To: incident.Set("4096"), Needs: incident.Needs{Approvals: 1, Restart: true},
		},
		{
			ID: "p1-s3", Kind: incident.StepReplicas, State: incident.StepProposed, Title: "Scale llama-70b",
			From: incident.Set("2"), To: incident.Set("9"),
			Guardrails: []incident.Guardrail{{Name: "bounds", Verdict: incident.GuardRefuse, Reason: "at most 8"}},
		},
	}
	return inc
}

func mustHold(t *testing.T, page string, wants ...string) {
	t.Helper()
	page = whole.ReplaceAllString(page, "$1")
	for _, want := range wants {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// whole is a word of a command, which a line of the page never ends within.
var whole = regexp.MustCompile(`<span class="whole">([^<]*)</span>`)

func mustLack(t *testing.T, page string, bads ...string) {
	t.Helper()
	for _, bad := range bads {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

// The page decides nothing, so it says who can and how.
func TestAQuestionSaysHowItIsAnswered(t *testing.T) {
	t.Parallel()
	page := show(t, asked())
	const end = " --server https://medic.example.com</pre>"
	mustHold(t, page,
		`<p class="question">Throttle llama-70b from 256 to 128?</p>`, "If no one responds, nothing changes.",
		"Needs 2 approvals.", "Takes effect in seconds. Requests over the limit get a 503. Clients may retry.",
		"Reverts to 256 after 10 min healthy",
		"vllm-medic incidents approve inc-7kq2mz4a p1-s1 --digest 0a1b2c3d4e5f"+end,
		"<p class=\"small\">Instead: set max_num_batched_tokens 8192 → 4096:</p>",
		"vllm-medic incidents approve inc-7kq2mz4a p1-s2 --digest 0a1b2c3d4e5f --confirm-restart"+end,
		"vllm-medic incidents deny inc-7kq2mz4a --digest 0a1b2c3d4e5f"+end,
		`Decide in <a href="https://acme.slack.com/archives/C1/p1">Slack</a>, or on the command line`,
		"<dt>Approvers</dt><dd>2 approvals of: group S0ONCALL, slack:U0ALICE</dd>",
		"<dt>Time to effect</dt><dd>Takes effect in seconds.</dd>", "<dt>Undo</dt><dd>Reverts to 256",
		"BackendTrafficPolicy llm/llama-70b maxParallelRequests: 256 → 128",
		"<strong>reduced</strong> by max step: max 50% per step", "<strong>blocked</strong> by bounds: at most 8",
		"needs approval", `<meta http-equiv="refresh" content="15">`,
	)
	mustLack(t, page, "approve inc-7kq2mz4a p1-s3", ">deciding<", "<form", "<button", "<input")
}

func TestWhatIsNotAskedHasNoAnswer(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]incident.State{
		"closed": incident.StateClosed, "applying": incident.StateApplying, "watching": incident.StateWatching,
	} {
		inc := asked()
		inc.State, inc.ClosedAt = state, now
		if page := show(t, inc); strings.Contains(page, "vllm-medic incidents") || strings.Contains(page, "Decide in") {
			t.Errorf("%s: it says how to decide", name)
		}
	}
	inc := asked()
	inc.State, inc.MuteReason = incident.StateWatching, incident.MutedExpired
	mustHold(t, show(t, inc), "vllm-medic incidents ask inc-7kq2mz4a --server")
	inc = asked()
	inc.Plan.Steps[0].State, inc.UndoOffered = incident.StepApplied, "p1-s1"
	page := show(t, inc)
	mustHold(t, page, "Roll back to 256?", "vllm-medic incidents undo inc-7kq2mz4a p1-s1",
		"vllm-medic incidents keep inc-7kq2mz4a p1-s1", "it stays at 128.")
	mustLack(t, page, "incidents approve")
}

// What somebody pastes into a shell must be one word, whatever an id holds.
func TestCommandsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	inc := asked()
	inc.ID, inc.Plan.Digest = "inc'; rm -rf ~; '", "$(id)"
	mustHold(t, show(t, inc),
		"approve &#39;inc&#39;\\&#39;&#39;; rm -rf ~; &#39;\\&#39;&#39;&#39; p1-s1 --digest &#39;$(id)&#39; --server")
}

func TestAPageUpdatesItselfUnlessTheReaderStopsThat(t *testing.T) {
	t.Parallel()
	inc := rich()
	s := newSite(t)
	s.always["pauses"], s.always["show"] = []incident.Pause{}, inc
	page := s.look("/incidents/inc-1")
	mustHold(t, page, `http-equiv="refresh"`, `<a href="/incidents/inc-1?refresh=off">Stop</a>`,
		"As of <time datetime=\"2026-03-01T03:00:00Z\">", "<title>llama-70b: needs approval · vllm-medic</title>")
	page = s.look("/incidents/inc-1?refresh=off")
	mustHold(t, page, "not updating", `<a href="/incidents/inc-1">Update</a>`)
	mustLack(t, page, `http-equiv="refresh"`)
	inc.State = incident.StateClosed
	s.always["show"] = inc
	mustLack(t, s.look("/incidents/inc-1"), `http-equiv="refresh"`, "updates every", "not updating")
}

// After its end an incident is read for what happened, and that is not its last plan.
func TestAClosedIncidentBeginsWithWhatWasDone(t *testing.T) {
	t.Parallel()
	inc := asked()
	inc.State, inc.ClosedAt, inc.HealthySince = incident.StateClosed, now.Add(20*time.Minute), now.Add(10*time.Minute)
	inc.DiagnosedAt, inc.WorstSeverity = now.Add(12*time.Second), "critical"
	ttft := func(v float64) incident.Reading {
		return incident.Reading{
			Short: "TTFT p95", Unit: incident.UnitSeconds, Value: &v, Threshold: new(2.0), Direction: incident.HigherIsWorse,
			ThresholdFrom: incident.OriginSLO,
		}
	}
	inc.History = []incident.Made{{
		Step: "p1-s1", Kind: incident.StepReplicas, Title: "Scale llama-70b from 2 to 3 replicas",
		Target: incident.Target{Setting: incident.SettingReplicas}, From: incident.Set("2"), To: incident.Set("3"),
		By: []incident.Actor{ada}, AskedAt: now, DecidedAt: now.Add(time.Minute), AppliedAt: now.Add(time.Minute),
		LiveAt: now.Add(5 * time.Minute), VerifiedAt: now.Add(10 * time.Minute), Verdict: incident.VerdictRecovered,
		State: incident.StepApplied,
		Check: &incident.Comparison{Finding: incident.FoundHealthy, Moves: []incident.Move{
			{Signal: "ttft", Moved: incident.MovedBetter, Before: ttft(7.2), After: ttft(0.8)},
		}},
	}}
	page := show(t, inc)
	head, _, _ := strings.Cut(page, "<h2>")
	mustHold(t, head,
		"<h1>llama-70b: resolved in 10 min</h1>", `<span class="tag resolved">resolved</span>`,
		"<dt>Cause</dt><dd>One pod is slow and the others are well.</dd>", "<dt>Diagnosed</dt><dd>after 12 s</dd>",
		"<dt>Done</dt><dd>Scale llama-70b from 2 to 3 replicas: approved by ada after 1 min, applied 03:01 UTC, "+
			"live after 4 min, fixed</dd>",
		"<dt>Result</dt><dd>Resolved in 10 min.</dd>", "<dt>Duration</dt><dd>20 min</dd>",
	)
	mustHold(t, page, "<strong>Scale 2 → 3</strong> <span class=\"tag\">Fixed</span>", "approved by ada",
		`<td>TTFT p95</td><td data-label="before">7.2 s</td><td data-label="after" class="good">800 ms</td>`)
	inc.History, inc.HealthySince = nil, time.Time{}
	mustHold(t, show(t, inc), "<dt>Done</dt><dd>Nothing was changed.</dd>", "no change made")
}

// What was found once the change had been rolled back is not what the change was made for.
func TestAClosedIncidentNamesWhatItsChangesWereMadeFor(t *testing.T) {
	t.Parallel()
	inc := asked()
	inc.State, inc.ClosedAt, inc.HealthySince = incident.StateClosed, now.Add(20*time.Minute), now.Add(10*time.Minute)
	inc.Diagnosis = &incident.Diagnosis{Name: "long_outputs", Summary: "Requests ask for long outputs.", Doc: "docs/lo.md"}
	inc.Plan.Steps = nil
	scaled := func(cause incident.Cause) incident.Made {
		return incident.Made{
			Kind: incident.StepReplicas, Title: "Scale it", Target: incident.Target{Setting: incident.SettingReplicas},
			From: incident.Set("2"), To: incident.Set("3"), By: []incident.Actor{ada}, AppliedAt: now, UndoneAt: now,
			State: incident.StepUndone, Verdict: incident.VerdictUnchanged, Cause: cause,
		}
	}
	inc.History = []incident.Made{
		scaled(incident.Cause{Name: "queueing", Summary: "Requests queue."}),
		scaled(incident.Cause{Name: "slow_pod", Summary: "One pod is slow. The others are well.", Doc: "docs/slow.md"}),
	}
	page := show(t, inc)
	mustHold(t, page, "<dt>Cause</dt><dd>One pod is slow.</dd>", "docs.example.com/docs/slow.md",
		"Scale it for queueing: approved by ada", "<strong>Scale 2 → 3 for queueing</strong>",
		"Scale it: approved by ada", "<h2>Last diagnosis</h2>\n<p><strong>Requests ask for long outputs.</strong>")
	mustLack(t, page, "<h2>Why</h2>", "docs/lo.md")
	inc.History = nil
	mustHold(t, show(t, inc), "<dt>Cause</dt><dd>Requests ask for long outputs.</dd>", "<h2>Why</h2>")
}

func TestTheTimelineHasAlertsPeopleAndChangesTheNewestFirst(t *testing.T) {
	t.Parallel()
	inc := rich()
	inc.Cluster.Changes = []incident.RecentChange{
		{At: now.Add(-time.Minute), Kind: incident.ChangeRollout, Object: "Deployment llm/x", Text: "image changed"},
		{At: now.Add(-time.Minute), Kind: incident.ChangeScale, Object: "Deployment llm/x", Text: "own doing", Own: true},
	}
	inc.Journal = []incident.Entry{
		{Seq: 1, At: now, Kind: incident.KindAlerts, Said: incident.Note{Kind: incident.NoteFiring, Names: "HighTTFT"}},
		{Seq: 2, At: now, Kind: incident.KindStarted, Said: incident.Note{Kind: incident.NoteStarted}},
		{
			Seq: 3, At: now.Add(time.Minute), Kind: incident.KindDecided, By: &alice,
			Said: incident.Note{Kind: incident.NoteApproved, By: alice, Step: "Scale 2 to 3"},
		},
		{Seq: 4, At: now.Add(time.Minute), Kind: incident.KindClaimed, Said: incident.Note{
			Kind: incident.NoteClaimed, Why: "inc-1.p1-s1.apply.17",
		}},
		{Seq: 5, At: now.Add(2 * time.Minute), Kind: incident.KindWritten, Said: incident.Note{
			Kind: incident.NoteDone, Step: "Scale 2 to 3",
		}},
	}
	page := show(t, inc)
	_, line, _ := strings.Cut(page, "<h2>Timeline</h2>")
	at := -1
	for _, want := range []string{
		`<li class="change">`, "Applied: Scale 2 to 3.", `<li class="person">`, "slack:U0ALICE approved: Scale 2 to 3.",
		`<li class="alert">`, "Opened by HighTTFT.", "image changed",
	} {
		next := strings.Index(line, want)
		if next <= at {
			t.Errorf("%q is missing, or not in its place", want)
		}
		at = next
	}
	mustLack(t, line, "Claimed", "apply.17", "Investigation started", "own doing")
}

// past is a reading with a past that ends in last.
func past(values ...float64) incident.Reading {
	r := incident.Reading{
		Short: "TTFT p95", Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Threshold: new(2.0),
		Value: new(values[len(values)-1]), ThresholdFrom: incident.OriginSLO,
	}
	for n, v := range values {
		at := now.Add(time.Duration(n-len(values)+1) * time.Minute)
		r.Series = append(r.Series, incident.Point{At: at, Value: v})
	}
	return r
}

func TestAReadingPastItsLimitIsDrawn(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now.Add(-2*time.Minute))
	inc.Readings = map[string]incident.Reading{"ttft_p95": past(0, 1, 2, 4, 4)}
	inc.Cluster.Changes = []incident.RecentChange{
		{At: now.Add(-3 * time.Minute), Object: "Deployment llm/x", Text: "new image"},
		{At: now.Add(-time.Hour), Object: "Deployment llm/x", Text: "long before"},
	}
	page := show(t, inc)
	mustHold(t, page,
		`<path class="line" d="M 0,120 150,90 300,60 450,0 600,0"/>`,
		`<line class="limit" x1="0" x2="600" y1="60" y2="60"/>`, `<rect class="zone" x="0" y="0" width="600" height="60"/>`,
		`aria-label="TTFT p95 from 02:56:00 to 03:00:00: first 0 s, last 4 s, highest 4 s; target 2 s"`,
		`<line class="mark alert" x1="300" x2="300"`, `<line class="mark other" x1="150" x2="150"`,
		"Deployment llm/x: new image</li>", "First alert</li>",
	)
	_, key, _ := strings.Cut(page, `<ul class="key">`)
	key, _, _ = strings.Cut(key, "</ul>")
	mustLack(t, key, "long before")
}

// What a chart is made of is foreign: it stays in its box, and what cannot be drawn is left out.
func TestACurveKeepsWithinItsBox(t *testing.T) {
	t.Parallel()
	same := past(5, 5, 5)
	for n := range same.Series {
		same.Series[n].At = now
	}
	for name, c := range map[string]struct {
		r     incident.Reading
		drawn bool
	}{
		"none":       {incident.Reading{Value: new(9.0), Threshold: new(1.0), Direction: incident.HigherIsWorse}, false},
		"two points": {past(1, 9), false}, "at one time": {same, false},
		"not numbers": {past(math.NaN(), math.Inf(1), math.Inf(-1), math.NaN(), 9), false},
		"huge":        {past(1e300, 1, 9), false}, "negative": {past(-5, -1, 9), true}, "flat": {past(9, 9, 9, 9), true},
	} {
		inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
		inc.Readings = map[string]incident.Reading{"ttft_p95": c.r}
		page := show(t, inc)
		if got := strings.Contains(page, "<figure>"); got != c.drawn {
			t.Errorf("%s: drawn %v", name, got)
		}
		mustLack(t, page, "NaN", "Inf")
		for _, part := range strings.Split(page, ` points="`)[1:] {
			points, _, _ := strings.Cut(part, `"`)
			for point := range strings.FieldsSeq(points) {
				var x, y float64
				if _, err := fmt.Sscanf(point, "%g,%g", &x, &y); err != nil || x < 0 || x > 600 || y < 0 || y > 120 {
					t.Errorf("%s: a point is %q", name, point)
				}
			}
		}
	}
}

// A link leads to a page of the web, or there is none.
func TestForeignAddressesAreLinksOnlyToPages(t *testing.T) {
	t.Parallel()
	for address, linked := range map[string]bool{
		"https://prometheus.example.com/graph?g0.expr=up": true, "javascript:alert(1)": false, "//evil.example.com": false,
		"data:text/html,x": false, "https://user:secret@example.com/": false, "": false,
	} {
		inc := rich()
		inc.Alerts[0].GeneratorURL = address
		page := show(t, inc)
		_, alerts, _ := strings.Cut(page, "<h2>Alerts</h2>")
		if got := strings.Contains(alerts, "<td><a href="); got != linked {
			t.Errorf("%s: linked %v", address, got)
		}
		mustLack(t, page, "secret")
	}
	inc := rich()
	inc.Diagnosis.Doc = "docs/playbooks/bad-replica.md"
	r := inc.Readings["ttft_worst_pod"]
	r.Query = "sum(rate(x[5m]))"
	inc.Readings["ttft_worst_pod"] = r
	mustHold(t, show(t, inc), `<a href="https://acme.slack.com/archives/C1/p1">Slack message</a>`,
		`<a href="https://docs.example.com/docs/playbooks/bad-replica.md">Runbook</a>`,
		`<a href="https://prometheus.example.com/graph?g0.expr=sum`, `<a href="/api/v1/incidents/inc-7kq2mz4a">JSON</a>`)
}

// What the message links to, the page does as well; what is not configured, or would not lead to a page, is no link.
func TestThePageLeadsToGrafanaAndASilence(t *testing.T) {
	t.Parallel()
	pool := incident.Pool{
		Name: "llama-70b", Match: map[string]string{"model_name": "llama"}, Matchers: map[string]string{"namespace": "llm"},
	}
	inc := rich()
	inc.Alerts[0].Labels["model_name"] = "llama"
	at := func(e present.Elsewhere) string {
		e.Pools = []incident.Pool{pool}
		s := newSite(t, func(s *site) { s.elsewhere = e })
		s.expect("show", "inc-1", inc, nil)
		s.expect("pauses", nil, []incident.Pause{}, nil)
		return s.look("/incidents/inc-1")
	}
	mustHold(t, at(present.Elsewhere{Grafana: "https://grafana.example.com/x", Alertmanager: "https://am.example.com"}),
		`<a href="https://grafana.example.com/x/d/vllm-medic-pools?from=`,
		`;var-namespace=llm&amp;var-pool=llama-70b">Grafana</a>`,
		`<a href="https://am.example.com/#/silences/new?filter=`,
		`%7Balertname%3D%22vLLMHighTTFT%22%2C%20model_name%3D%22llama%22`,
		`">Silence in Alertmanager</a>`)
	for _, e := range []present.Elsewhere{
		{}, {Grafana: "javascript:alert(1)//", Alertmanager: "https://user:secret@am.example.com"},
	} {
		mustLack(t, at(e), ">Grafana<", "Silence in", "javascript:", "user:secret")
	}
}
