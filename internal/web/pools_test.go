package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// fleet is a site with pools of which one is out of its target, one is well, and one cannot be read.
func fleet(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	well := past(0.3, 0.3, 0.3)
	s.pools = []incident.Pool{
		{
			Name: "calm", Mode: incident.ModeDryRun,
			Match: map[string]string{"namespace": "llm"}, Matchers: map[string]string{"model_name": "calm"},
		},
		{
			Name: "hot/pool", Mode: incident.ModeApprove,
			Workload: incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "hot"},
			SLO:      incident.SLO{Profile: "chat", TTFT: 2},
			Knobs:    incident.Knobs{Replicas: &incident.IntKnob{Min: 1, Max: 8}},
			Approvers: map[incident.StepKind]incident.Approvers{"": {
				Users: []string{"U0ALICE"}, Groups: []string{"S0ONCALL"}, Count: 2, FourEyes: true,
				Escalate: []incident.Escalation{{After: 15 * time.Minute, Groups: []string{"S0NIGHT"}}},
			}},
		},
		{Name: "lost", Mode: incident.ModeObserve},
		{Name: "young", Mode: incident.ModeObserve},
	}
	s.health = map[string]web.Health{
		"calm": {
			At: now.Add(-10 * time.Second), Readings: map[string]incident.Reading{"ttft_p95": well},
			Assessment: incident.Assessment{Health: incident.HealthOK},
		},
		"hot/pool": {
			At: now, Readings: map[string]incident.Reading{"ttft_p95": past(1, 2, 7.2)}, Dialect: "native",
			Assessment: incident.Assessment{Health: incident.HealthOverTarget, Because: []incident.Condition{{
				Signal: "ttft_p95", Truth: incident.False, Seen: "7.2 s", Relation: incident.RelationAtMost, Threshold: "2 s",
				ThresholdFrom: incident.OriginSLO,
			}}},
		},
		"lost": {
			At: now, Readings: map[string]incident.Reading{"ttft_p95": {Error: "connection refused"}},
			Assessment: incident.Assessment{Health: incident.HealthUnread, Why: "connection refused"},
		},
	}
	return s
}

func TestTheListShowsHowEachPoolIsDoingTheWorstFirst(t *testing.T) {
	t.Parallel()
	s := fleet(t)
	open := of("hot/pool", incident.StateInvestigating, time.Minute)
	s.listed([]incident.Incident{open}, nil, pauseOf("calm"))
	page := s.look("/")
	_, rest, _ := strings.Cut(page, "<h2>Pools</h2>")
	at := -1
	for _, want := range []string{
		`<a href="/pools/lost">lost</a>`, `<span class="tag unknown">unknown</span> can&#39;t be read: connection refused`,
		"observe",
		`<a href="/pools/young">young</a>`, `<span class="tag unknown">unknown</span> not read yet`,
		`<a href="/pools/hot%2Fpool">hot/pool</a>`,
		`<span class="tag critical">over target</span> TTFT p95 7.2 s (target 2 s)`,
		`<path class="line"`, `<a href="/incidents/inc-hot/pool">investigating</a>`,
		`<a href="/pools/calm">calm</a>`, ">healthy<", "within targets", "dry-run", ">paused<",
	} {
		next := strings.Index(rest[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or not in its place", want)
		}
		at += next + 1
	}
	if strings.Count(page, ">paused<") != 1 {
		t.Error("a pool is shown as paused that is not")
	}
}

// A pool is drawn by the line that its incident is followed by, also when another one rises meanwhile.
func TestAPoolIsDrawnByTheLineOfItsIncident(t *testing.T) {
	t.Parallel()
	total := past(1, 2, 7)
	total.Short = "E2E p95"
	total.Threshold = new(5.0)
	s := fleet(t)
	h := s.health["hot/pool"]
	h.Readings = map[string]incident.Reading{"ttft_p95": past(7, 7, 1), "e2e_p95": total}
	s.health["hot/pool"] = h
	open := of("hot/pool", incident.StateWatching, time.Minute)
	open.HealthySince = now
	open.Plan = &incident.Plan{Steps: []incident.Step{{
		ID: "p1-s1", Kind: incident.StepReplicas, State: incident.StepApplied, AppliedAt: now,
		Verification: &incident.Verification{At: now, Before: map[string]incident.Reading{"ttft_p95": past(1, 7, 7)}},
	}}}
	for _, tc := range []struct {
		open []incident.Incident
		want string
	}{{[]incident.Incident{open}, "TTFT p95"}, {nil, "E2E p95"}} {
		s.listed(tc.open, nil)
		page := s.look("/")
		_, row, _ := strings.Cut(page, `<a href="/pools/hot%2Fpool">`)
		mustHold(t, row[:strings.Index(row, "</tr>")], `aria-label="`+tc.want+" from")
		s.expect("pauses", nil, []incident.Pause{}, nil)
		s.expect("list", incident.Filter{Pool: "hot/pool", Limit: 20}, tc.open, nil)
		page = s.look("/pools/hot%2Fpool")
		_, first, _ := strings.Cut(page, "<figure>")
		mustHold(t, first[:strings.Index(first, "</figure>")], `aria-label="`+tc.want+" from")
	}
}

func TestAPoolSaysHowItIsDoingAndWhatMayBeChanged(t *testing.T) {
	t.Parallel()
	s := fleet(t)
	closed := of("hot/pool", incident.StateClosed, time.Hour)
	closed.ID, closed.ClosedAt = "inc-2", now
	s.expect("pauses", nil, []incident.Pause{}, nil)
	s.expect("list", incident.Filter{Pool: "hot/pool", Limit: 20},
		[]incident.Incident{of("hot/pool", incident.StateInvestigating, time.Minute), closed}, nil)
	page := s.look("/pools/hot%2Fpool")
	mustHold(t, page, "<title>hot/pool · vllm-medic</title>", "TTFT p95 7.2 s (target 2 s)", "<figure>",
		"<dt>Profile</dt><dd>chat</dd>", "<dt>TTFT p95</dt><dd>≤ 2 s</dd>", "<dt>Mode</dt><dd>approve</dd>",
		"Deployment llm/hot", "<dd>replicas 1 to 8</dd>",
		"2 approvals of: group S0ONCALL, slack:U0ALICE; four eyes; after 15 min also group S0NIGHT",
		"vllm-medic pause --reason REASON --pool hot/pool --server https://medic.example.com",
		"vllm-medic resume --pool hot/pool --server", `<a href="/incidents/inc-hot/pool">`, "/incidents/inc-2", "native")
	voice.Check(t, "a pool", voice.Page(page))
	mustBeStrict(t, "a pool", s.policyOf(t), page)
}

// policyOf has the headers of a page, whichever.
func (s *site) policyOf(t *testing.T) http.Header {
	t.Helper()
	s.listed(nil, nil)
	return s.ask(get, "/", "viewer-token", "").Header()
}

func TestAPoolThatIsNotConfiguredHasNoPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range []string{"/pools/nobody", "/pools/%ff", "/pools/llama%2F.."} {
		s.refused(s.ask(get, path, "viewer-token", ""), http.StatusNotFound)
	}
	s.refused(s.ask(get, "/pools/llama", "wrong-token", ""), http.StatusUnauthorized)
	s.refused(s.ask(get, "/status", "wrong-token", ""), http.StatusUnauthorized)
}

func TestTheStatusSaysWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	s := fleet(t)
	s.status = web.Status{
		Connections: []web.Connection{
			{Name: "Prometheus", State: web.ConnectionOK, Text: "answers for 3 pools", At: now.Add(-12 * time.Second)},
			{Name: "Slack", State: web.ConnectionFailing, Text: "token revoked", More: []string{"Install the app again."}},
			{Name: "Kubernetes", State: web.ConnectionOff, Text: "not configured; nothing can be changed"},
		},
		Permissions: []web.Connection{{
			Name: "Permissions, pool hot", State: web.ConnectionFailing, Text: "the bot lacks 1 permission",
			More: []string{"missing: patch deployments. Without it, replicas can't be adjusted."},
		}},
		PermissionsAt: now.Add(-time.Minute),
		Versions:      [][2]string{{"vllm-medic", "v1.2.3"}, {"Go", "go1.26"}},
		PlaybooksAt:   now.Add(-time.Hour),
	}
	s.playbooks = []web.Playbook{{
		Name: "high-ttft", Title: "High TTFT", Alerts: []string{"vLLMHighTTFT", "HighTTFT"}, Diagnoses: []string{"a", "b"},
	}}
	s.expect("pauses", nil, []incident.Pause{}, nil)
	page := s.look("/status")
	mustHold(t, page, "<h1>2 connections or permissions need attention</h1>", "answers for 3 pools", "12 s ago",
		`<span class="tag bad">failing</span></td><td>token revoked<br><span class="small">Install the app again.</span>`,
		`<span class="tag ">off</span>`, "missing: patch deployments.", "asked <time", "v1.2.3",
		`<a href="/playbooks/high-ttft">High TTFT</a>`,
		"vLLMHighTTFT, HighTTFT", "read <time", "Changes aren't paused.", "vllm-medic pause --reason REASON --server")
	voice.Check(t, "the status", voice.Page(page, "high-ttft"))
	s.status = web.Status{}
	s.expect("pauses", nil, []incident.Pause{pauseOf("")}, nil)
	mustHold(t, s.look("/status"), "<h1>Status</h1>", "Changes are paused, see above.", "Not asked yet")
}
