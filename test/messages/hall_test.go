package messages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/docs"
	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// hall is everything behind the pages: some incidents, and pools of which one is in trouble.
type hall struct {
	now       time.Time
	incidents []incident.Incident
	pauses    []incident.Pause
	pools     []incident.Pool
	health    map[string]web.Health
	playbooks []playbooks.Playbook
	// before are the readings of the trouble, with their past.
	before map[string]incident.Reading
	// told are the incidents of the report.
	told []reporttest.Posted
}

func (h hall) report(_ context.Context, p report.Period) (report.Report, error) {
	b := report.New(p, h.now)
	for _, l := range h.told {
		b.Add(l.Incident, l.At)
	}
	return b.Report(), nil
}

func (h hall) Incidents(_ context.Context, f incident.Filter) ([]incident.Incident, error) {
	out := []incident.Incident{}
	for _, inc := range h.incidents {
		open := inc.State != incident.StateClosed
		if (f.State == "" || (f.State == "open") == open) && (f.AllPools || f.Pool == inc.Pool) && len(out) < f.Limit {
			out = append(out, inc)
		}
	}
	return out, nil
}

func (h hall) IncidentWithJournal(_ context.Context, id string) (incident.Incident, error) {
	for _, inc := range h.incidents {
		if inc.ID == id {
			return inc, nil
		}
	}
	return incident.Incident{}, incident.ErrNotFound
}

func (h hall) Snapshots(context.Context, string) ([]incident.Snapshot, error) {
	return nil, incident.ErrNotFound
}

func (h hall) Act(context.Context, string, incident.Event) (incident.Incident, error) {
	return incident.Incident{}, incident.ErrNotFound
}

func (h hall) Decide(context.Context, string, incident.Decision) (incident.Incident, error) {
	return incident.Incident{}, incident.ErrNotFound
}

func (h hall) StartDrill(context.Context, incident.DrillOrder) (string, error) {
	return "", incident.ErrNotFound
}

func (h hall) SetPause(context.Context, incident.Pause) error { return incident.ErrNotFound }

func (h hall) ClearPause(context.Context, string, time.Time) (bool, error) { return false, nil }

func (h hall) Pauses(context.Context) ([]incident.Pause, error) { return h.pauses, nil }

func (h hall) OpenWrites(context.Context) ([]incident.Write, error) { return nil, nil }

func (h hall) Check(_ context.Context, shown access.Shown, _ access.Right) (incident.Actor, error) {
	if shown.Token == "" {
		return incident.Actor{}, access.ErrUnauthenticated
	}
	return incident.Actor{Kind: "kubernetes", ID: "ada"}, nil
}

func (h hall) shelf() []web.Playbook {
	var out []web.Playbook
	for _, p := range h.playbooks {
		out = append(out, web.Playbook{
			Name: p.Name, Title: p.Title, Runbook: docs.RunbookName(p.Doc), Alerts: p.Alerts, Diagnoses: p.Diagnoses,
		})
	}
	return out
}

// status is a bot of which one part does not work.
func (h hall) status(context.Context) web.Status {
	ok, failing := web.ConnectionOK, web.ConnectionFailing
	return web.Status{
		Connections: []web.Connection{
			{Name: "Prometheus", State: ok, Text: "answers for 4 pools", At: h.now.Add(-12 * time.Second)},
			{Name: "Kubernetes", State: ok, Text: "answers", At: h.now.Add(-2 * time.Minute)},
			{Name: "Alertmanager", State: ok, Text: "last delivery", At: h.now.Add(-40 * time.Second)},
			{Name: "Store", State: ok, Text: "postgres, takes commits"},
			{Name: "Messages", State: ok, Text: "all sent"},
			{Name: "Slack", State: ok, Text: "answers, Socket Mode, 1 open connection"},
		},
		Permissions: []web.Connection{
			{Name: "Permissions, pool llama-70b", State: ok, Text: "all that mode approve needs"},
			{
				Name: "Permissions, pool qwen-32b", State: failing,
				Text: "the bot lacks 1 permission; apply what vllm-medic rbac --config /etc/vllm-medic/medic.yaml prints",
				More: []string{"missing: patch deployments/scale in llm. Without it, replicas can't be adjusted."},
			},
			{Name: "Permissions, users", State: ok, Text: "approvals, pauses and reads with a Kubernetes token work"},
		},
		PermissionsAt: h.now.Add(-2 * time.Minute), PlaybooksAt: h.now.Add(-26 * time.Hour),
		Versions: [][2]string{{"vllm-medic", "v1.0.0 (3f2a9c1d5e7b)"}, {"Go", "go1.26"}, {"Store schema", "14"}},
	}
}

// past is what Prometheus remembers of a closed incident: the replayed trouble until the change was live, then what was
// read after it.
func (h hall) past(_ context.Context, inc incident.Incident, queries map[string]string, from, to time.Time,
) (map[string][]incident.Point, error) {
	out := map[string][]incident.Point{}
	for signal := range queries {
		trouble, after := h.before[signal].Series, inc.Readings[signal].Value
		if len(trouble) == 0 || after == nil || len(inc.History) == 0 {
			continue
		}
		m := inc.History[len(inc.History)-1]
		for at := from; !at.After(to); at = at.Add(30 * time.Second) {
			value := *after
			if at.Before(m.LiveAt.Add(time.Minute)) {
				back := int(m.AskedAt.Sub(at) / (90 * time.Second)) // the points of a reading's past are so far apart
				value = trouble[min(max(len(trouble)-1-back, 0), len(trouble)-1)].Value
			}
			out[signal] = append(out[signal], incident.Point{At: at, Value: value})
		}
	}
	return out, nil
}

// open has somebody sign in, or nobody, and look at a path. It is what the bot answers, with the fonts of this machine.
func (h hall) open(t *testing.T, path string, signedIn bool) string {
	t.Helper()
	return look(t, h.bot(t), path, signedIn)
}

// bot is what answers for it.
func (h hall) bot(t *testing.T) *echo.Echo {
	t.Helper()
	names := map[string]string{alice.ID: "Alice", bob.ID: "Bob"}
	e := echo.New()
	pages, err := web.New(web.Deps{
		Incidents: h, Engine: h, Switch: h, Gate: h, Notice: func() string { return "" }, Report: h.report,
		Pools:  func() []incident.Pool { return h.pools },
		Health: func(context.Context) map[string]web.Health { return h.health }, Status: h.status,
		Past:     h.past,
		Runbooks: web.Runbooks{InForce: h.shelf, Page: docs.Runbook, DocsURL: "https://docs.example.com"},
		Links: web.Links{
			BaseURL: links.BaseURL, PrometheusURL: "https://prometheus.example.com", Runbook: present.RunbookPath,
			Message: func(context.Context, incident.Incident) string { return "https://acme.slack.com/archives/C1/p1" },
			NameOf: func(_ context.Context, who incident.Actor) string {
				if name, ok := names[who.ID]; ok {
					return name
				}
				return present.Person(who)
			},
		},
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return h.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages.Register(e)
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		he, ok := errors.AsType[*echo.HTTPError](err)
		if !ok {
			t.Errorf("%s: %v", c.Path(), err)
			return
		}
		if answered, err := pages.Explain(c, he.Code, fmt.Sprint(he.Message)); !answered || err != nil {
			t.Errorf("%s: no page for an error: %v", c.Path(), err)
		}
	}
	return e
}

// look is what a bot answers to a person.
func look(t *testing.T, e *echo.Echo, path string, signedIn bool) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	req.Header.Set("Accept", "text/html")
	if signedIn {
		req.SetBasicAuth("x", "token")
	}
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	if signedIn && rec.Code != http.StatusOK {
		t.Fatalf("%s: %d %.200s", path, rec.Code, rec.Body)
	}
	return rec.Body.String()
}
