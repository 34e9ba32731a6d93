package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "\u202egnp\u200b\x00"

// hostile is an incident in which every text that comes from outside is HTML.
func hostile() incident.Incident {
	inc := incident.New("inc-1", evil, incident.ModeApprove, true, now)
	inc.State, inc.Note, inc.Dialect = incident.StateDeciding, evil, evil
	inc.Alerts = []incident.Alert{{
		Fingerprint: "f", Firing: true,
		Labels: map[string]string{"alertname": evil, "pod": evil}, Annotations: map[string]string{"summary": evil},
		StartsAt: now,
	}}
	inc.Readings = map[string]incident.Reading{evil: {
		Signal: evil, Title: evil, Error: evil, Warning: evil,
		Threshold: new(1.0), Pods: []incident.PodValue{{Pod: evil, Value: 2}, {Pod: evil, Value: 1}},
	}}
	inc.Cluster = incident.Cluster{
		Changes: []incident.RecentChange{{At: now, Kind: evil, Object: evil, Text: evil}},
		Crashes: []incident.Crash{{
			Pod: evil, Container: evil, Reason: evil, ExitCode: 1,
			Log: []string{evil, "</pre></div>" + evil},
		}},
		Error: evil, Unread: []incident.Unread{{Part: incident.PartNodes, Why: evil}},
	}
	inc.DeadAlerts = []incident.DeadAlert{{Alert: evil, Expr: evil, Missing: []string{evil}, Instead: evil, Why: evil}}
	inc.Diagnosis = &incident.Diagnosis{
		Name: evil, Summary: evil,
		Never: []incident.Never{{Change: evil}, {Change: evil, Knob: evil, Why: evil}}, Unusual: []string{evil},
		Skipped:  []string{evil},
		Evidence: []incident.Condition{{Text: evil, Truth: incident.True, Seen: evil, Threshold: evil}},
	}
	inc.Others = []incident.Other{{Name: evil, Verdict: incident.False, Why: evil}}
	inc.Plan = &incident.Plan{Digest: evil, Steps: []incident.Step{{
		ID: "p1-s1", Title: evil, State: evil, Reason: evil, Diff: evil,
		Guardrails:   []incident.Guardrail{{Name: evil, Verdict: evil, Reason: evil}},
		Verification: &incident.Verification{Verdict: evil, Why: evil},
	}}}
	inc.AppliedEarlier = []incident.Step{{
		ID: "p0-s1", Kind: incident.StepThrottle, Title: evil,
		State: incident.StepApplied, Tried: evil, Why: evil,
	}}
	inc.History = []incident.Made{{
		Title: evil, By: []incident.Actor{{Kind: "kubernetes", ID: evil}}, AppliedAt: now, State: incident.StepApplied,
	}}
	inc.Journal = []incident.Entry{{At: now, Text: evil}}
	return inc
}

func TestThePageHasWhatWasAppliedAndUndone(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.State = incident.StateClosed
	inc.History = []incident.Made{{
		Title: "Scale 2 to 3", By: []incident.Actor{ada}, AppliedAt: now, State: incident.StepUndone, UndoneAt: now,
		UndoneBy: &ada,
	}}
	page := show(t, inc)
	want := "Scale 2 to 3: approved by ada, applied 03:00 UTC; rolled back 03:00 UTC by ada"
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}

func TestPagesEscapeWhatComesFromOutside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	pause := incident.Pause{Pool: evil, Reason: evil, By: incident.Actor{Kind: "kubernetes", ID: evil}, At: now}
	s.expect("show", "inc-1", hostile(), nil)
	s.expect("pauses", nil, []incident.Pause{pause}, nil)
	closed := hostile()
	closed.State = incident.StateClosed
	s.listed([]incident.Incident{hostile()}, []incident.Incident{closed}, pause)
	for _, path := range []string{"/incidents/inc-1", "/"} {
		rec := s.ask(get, path, "viewer-token", "")
		page := rec.Body.String()
		if rec.Code != http.StatusOK || !strings.Contains(page, "&lt;script&gt;") {
			t.Fatalf("%s: %d %.300s", path, rec.Code, page)
		}
		for _, bad := range []string{
			"<script", "<img", `">'`, "</pre></div>&", "javascript:", evil, "\u202e", "\u200b", "\x00",
		} {
			if strings.Contains(page, bad) {
				t.Errorf("%s holds %q as it came", path, bad)
			}
		}
		mustBeStrict(t, path, rec.Header(), page)
	}
}

// mustBeStrict holds that a page loads nothing, runs nothing, and has no style but its own.
func mustBeStrict(t *testing.T, path string, head http.Header, page string) {
	t.Helper()
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	if got := head.Get("Content-Security-Policy"); got != want {
		t.Errorf("%s: policy %q, want %q", path, got, want)
	}
	for _, bad := range []string{" style=", "<link", "@import", "url(", "onclick", "unsafe-inline"} {
		if strings.Contains(page, bad) {
			t.Errorf("%s holds %q", path, bad)
		}
	}
	if head.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(head.Get("Content-Type"), "text/html") {
		t.Errorf("%s: headers %v", path, head)
	}
}

func TestAReadingWithoutDataIsNotShownAsAValue(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Readings = map[string]incident.Reading{
		"a": {Signal: "a", Title: "Time to first token"},
		"b": {Signal: "b", Title: "Cache use", Value: new(0.5), Unit: incident.UnitRatio},
	}
	page := show(t, inc)
	for _, want := range []string{"no data", "Cache use", "50"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestReadingsPastTheirLimitComeFirstAndTheOthersInTheirGroups(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Readings = map[string]incident.Reading{
		"waiting":       {Title: "Waiting", Value: new(2.0), Threshold: new(10.0), Direction: incident.HigherIsWorse},
		"engine_resets": {Title: "Engine restarts", Value: new(0.0)},
		"ttft_p95":      {Title: "TTFT p95", Value: new(7.0), Threshold: new(2.0), Direction: incident.HigherIsWorse},
		"my_own":        {Title: "Of my own", Value: new(1.0)},
		"kv_usage":      {Title: "KV cache", Value: new(0.97), Threshold: new(0.9), Direction: incident.HigherIsWorse},
		"tpot_p95":      {Title: "TPOT p95", Value: new(0.02)},
	}
	page, at := show(t, inc), -1
	for _, text := range []string{
		"<strong>Out of limits</strong>", ">KV cache</td>", ">TTFT p95</td>", "<strong>Latency</strong>", ">TPOT p95</td>",
		"<strong>Queue and batch</strong>", ">Waiting</td>", "<strong>Pods and engines</strong>", ">Engine restarts</td>",
		"<strong>Other</strong>", ">Of my own</td>",
	} {
		next := strings.Index(page, text)
		if next <= at {
			t.Errorf("%s is not there, or too early", text)
		}
		at = next
	}
	for _, none := range []string{"<strong>Traffic</strong>", "<strong>Errors</strong>"} {
		if strings.Contains(page, none) {
			t.Errorf("%s is there without a reading", none)
		}
	}
}

// What everybody should know about the bot itself stands above the list.
func TestANoticeAndAPauseStandAboveTheList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.notice = "Playbooks on disk are invalid: mine.yaml:6:50: <b>"
	s.listed(nil, nil, pauseOf("llama"))
	page := s.look("/")
	for _, want := range []string{
		`<pre class="banner">Playbooks on disk are invalid: mine.yaml:6:50: &lt;b&gt;</pre>`,
		"<strong>Changes are paused</strong> for pool llama by ada,", "maintenance",
		"<code>vllm-medic resume --pool llama --server https://medic.example.com</code>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestAnEmptyListSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.listed(nil, nil)
	if page := s.look("/"); !strings.Contains(page, "No incidents yet") || strings.Contains(page, "paused") {
		t.Errorf("page %s", page)
	}
	s.expect("pauses", nil, []incident.Pause{}, nil)
	s.expect("list", incident.Filter{State: "closed", Pool: "llama", Limit: 101}, []incident.Incident{}, nil)
	if page := s.look("/?state=closed&pool=llama"); !strings.Contains(page, "No incident matches these filters.") ||
		!strings.Contains(page, "<option selected>llama</option>") ||
		!strings.Contains(page, `<option value="closed" selected>`) {
		t.Errorf("page %s", page)
	}
}

func TestPagesWithoutAStoreSayWhy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	away := errors.New("disk full")
	s.expect("pauses", nil, nil, away)
	s.refused(s.ask(get, "/", "viewer-token", ""), http.StatusServiceUnavailable)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	s.expect("list", incident.Filter{State: "open", AllPools: true, Limit: 101}, nil, away)
	s.refused(s.ask(get, "/", "viewer-token", ""), http.StatusServiceUnavailable)
	s.expect("show", "inc-9", nil, incident.ErrNotFound)
	s.refused(s.ask(get, "/incidents/inc-9", "viewer-token", ""), http.StatusNotFound)
	s.refused(s.ask(get, "/?state=deciding", "viewer-token", ""), http.StatusBadRequest)
}

func TestThePageShowsWhatStandsAndWhatIsForAPerson(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.AppliedEarlier = []incident.Step{{
		ID: "p1-s1", Kind: incident.StepThrottle, Title: "Throttle llama",
		State: incident.StepApplied, AppliedAt: now,
	}}
	inc.Plan = &incident.Plan{Digest: "d1", Steps: []incident.Step{
		{
			ID: "p2-s1", Kind: incident.StepReplicas, Title: "Scale llama", State: incident.StepProposed,
			Tried: "tried at 03:12 UTC: worse",
		},
		{ID: "p2-s2", Kind: incident.StepManual, Title: "Look at the gateway", State: incident.StepProposed},
	}}
	page := show(t, inc)
	for _, want := range []string{
		"Active changes from earlier", "Throttle llama", "tried at 03:12 UTC: worse",
		">manual<",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Count(page, ">proposed<") != 1 {
		t.Error("a manual step is shown as if it could be approved")
	}
}
