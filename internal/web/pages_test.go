package web_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'`

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
	s := newSite(t)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.State = incident.StateClosed
	inc.History = []incident.Made{{
		Title: "Scale 2 to 3", By: []incident.Actor{ada}, AppliedAt: now, State: incident.StepUndone, UndoneAt: now,
		UndoneBy: &ada,
	}}
	s.expect("show", "inc-1", inc, nil)
	page := s.ask(get, "/incidents/inc-1", "viewer-token", "").Body.String()
	want := "Scale 2 to 3: approved by ada, applied 03:00 UTC; rolled back 03:00 UTC by ada"
	if !strings.Contains(page, want) {
		t.Errorf("the page lacks %q", want)
	}
}

func TestPagesEscapeWhatComesFromOutside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.expect("show", "inc-1", hostile(), nil)
	s.expect("list", incident.Filter{AllPools: true, Limit: 101}, []incident.Incident{hostile()}, nil)
	s.expect("pauses", nil, []incident.Pause{{Pool: evil, Reason: evil, By: incident.Actor{Kind: "kubernetes", ID: evil}}},
		nil)
	for _, path := range []string{"/incidents/inc-1", "/"} {
		rec := s.ask(get, path, "viewer-token", "")
		page := rec.Body.String()
		if rec.Code != http.StatusOK || !strings.Contains(page, "&lt;script&gt;") {
			t.Fatalf("%s: %d %s", path, rec.Code, page)
		}
		for _, bad := range []string{"<script", "<img", `">'`, "</pre></div>&", evil} {
			if strings.Contains(page, bad) {
				t.Errorf("%s holds %q as it came", path, bad)
			}
		}
		if csp := rec.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "script-src") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if rec.Header().Get("X-Content-Type-Options") != "nosniff" ||
			!strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: headers %v", path, rec.Header())
		}
	}
}

func TestAReadingWithoutDataIsNotShownAsAValue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Readings = map[string]incident.Reading{
		"a": {Signal: "a", Title: "Time to first token"},
		"b": {Signal: "b", Title: "Cache use", Value: new(0.5), Unit: incident.UnitRatio},
	}
	s.expect("show", "inc-1", inc, nil)
	page := s.ask(get, "/incidents/inc-1", "viewer-token", "").Body.String()
	for _, want := range []string{"no data", "Cache use", "50"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestReadingsPastTheirLimitComeFirstAndTheOthersByTitle(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, now)
	inc.Readings = map[string]incident.Reading{
		"a": {Title: "Waiting", Value: new(2.0), Threshold: new(10.0), Direction: incident.HigherIsWorse},
		"b": {Title: "engine restarts", Value: new(0.0)},
		"c": {Title: "TTFT p95", Value: new(7.0), Threshold: new(2.0), Direction: incident.HigherIsWorse},
		"d": {Title: "Aborts"},
		"e": {Title: "KV cache", Value: new(0.97), Threshold: new(0.9), Direction: incident.HigherIsWorse},
		"f": {Title: "Running", Value: new(90.0), Threshold: new(1.0), Direction: incident.Neutral},
	}
	page, at := show(t, inc), -1
	for _, title := range []string{"KV cache", "TTFT p95", "Aborts", "engine restarts", "Running", "Waiting"} {
		next := strings.Index(page, "<td>"+title+"</td>")
		if next <= at {
			t.Errorf("%s is not listed, or too early", title)
		}
		at = next
	}
}

// What everybody should know about the bot itself stands above the list.
func TestANoticeStandsAboveTheList(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.notice = "Playbooks on disk are invalid: mine.yaml:6:50: <b>"
	s.expect("list", incident.Filter{AllPools: true, Limit: 101}, []incident.Incident{}, nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	if page := s.ask(get, "/", "viewer-token", "").Body.String(); !strings.Contains(page,
		`<pre class="banner">Playbooks on disk are invalid: mine.yaml:6:50: &lt;b&gt;</pre>`) {
		t.Errorf("the page is %s", page)
	}
}

func TestAnEmptyListSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.expect("list", incident.Filter{AllPools: true, Limit: 101}, []incident.Incident{}, nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	if page := s.ask(get, "/", "viewer-token", "").Body.String(); !strings.Contains(page, "No incidents yet") ||
		strings.Contains(page, "paused") {
		t.Errorf("page %s", page)
	}
}

func TestPagesWithoutAStoreSayWhy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	away := errors.New("disk full")
	s.expect("list", incident.Filter{AllPools: true, Limit: 101}, nil, away)
	s.refused(s.ask(get, "/", "viewer-token", ""), http.StatusServiceUnavailable)
	s.expect("list", incident.Filter{AllPools: true, Limit: 101}, []incident.Incident{}, nil)
	s.expect("pauses", nil, nil, away)
	s.refused(s.ask(get, "/", "viewer-token", ""), http.StatusServiceUnavailable)
	s.expect("show", "inc-9", nil, incident.ErrNotFound)
	s.refused(s.ask(get, "/incidents/inc-9", "viewer-token", ""), http.StatusNotFound)
}

func TestThePageShowsWhatStandsAndWhatIsForAPerson(t *testing.T) {
	t.Parallel()
	s := newSite(t)
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
	s.expect("show", "inc-1", inc, nil)
	page := s.ask(get, "/incidents/inc-1", "viewer-token", "").Body.String()
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

func TestTheListSaysThatThereAreMore(t *testing.T) {
	t.Parallel()
	for n, more := range map[int]bool{100: false, 101: true} {
		s := newSite(t)
		s.expect("list", incident.Filter{AllPools: true, Limit: 101},
			slices.Repeat([]incident.Incident{incident.New("inc-1", "llama", incident.ModeApprove, false, now)}, n), nil)
		s.expect("pauses", nil, []incident.Pause{}, nil)
		page := s.ask(get, "/", "viewer-token", "").Body.String()
		if got := strings.Count(page, `href="/incidents/inc-1"`); got != 100 ||
			strings.Contains(page, "Showing the newest 100") != more {
			t.Errorf("%d incidents: %d rows, more %v", n, got, more)
		}
	}
}
