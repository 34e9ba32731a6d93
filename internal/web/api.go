// Package web serves incidents to people: JSON with the same fields as -o json, the on-call verbs, and pages.
//
// Every route asks who is there first. Answers never hold secrets; what a page shows of alerts is escaped. It is safe
// for concurrent use.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/report"
)

// Incidents is what the routes read.
type Incidents interface {
	Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error)
	IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error)
	Snapshots(ctx context.Context, id string) ([]incident.Snapshot, error)
}

// Engine takes what people do. A *incident.RefusedError carries the sentence for the person.
type Engine interface {
	Act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error)
	Decide(ctx context.Context, id string, d incident.Decision) (incident.Incident, error)
	// StartDrill returns the ID of the drill's incident, which begins in a moment.
	StartDrill(ctx context.Context, o incident.DrillOrder) (string, error)
}

// Switch is the pause switch.
type Switch interface {
	SetPause(ctx context.Context, p incident.Pause) error
	ClearPause(ctx context.Context, pool string, asked time.Time) (bool, error)
	Pauses(ctx context.Context) ([]incident.Pause, error)
	OpenWrites(ctx context.Context) ([]incident.Write, error)
}

// Gate says who a token or a client certificate belongs to, when that person has the right; see access.Gate.
type Gate interface {
	Check(ctx context.Context, shown access.Shown, right access.Right) (incident.Actor, error)
}

// Deps are the handler's collaborators; all are needed.
type Deps struct {
	Incidents Incidents
	Engine    Engine
	Switch    Switch
	Gate      Gate
	// Pools are the configured pools, and Health is what was last read of each, by its name. It may wait a moment for the
	// first reading and never asks for more than pages need.
	Pools  func() []incident.Pool
	Health func(ctx context.Context) map[string]Health
	// Past is what Prometheus has of a closed incident from one time to another, by the signals of the queries. It waits
	// for seconds at most; with an error, it is what came without one. nil: pages show only the pasts that are stored.
	Past func(ctx context.Context, inc incident.Incident, queries map[string]string, from, to time.Time) (
		map[string][]incident.Point, error)
	// Status is what the bot knows of itself.
	Status func(ctx context.Context) Status
	// Report is made when somebody asks for it.
	Report func(ctx context.Context, p report.Period) (report.Report, error)
	// Notice is what everybody who looks should know about the bot itself, such as playbooks that are refused; empty when
	// there is nothing.
	Notice func() string
	// Runbooks are the pages of the playbooks.
	Runbooks Runbooks
	// Links is where else things can be seen; the zero value makes no links.
	Links  Links
	Logger *slog.Logger
	Now    func() time.Time
}

// Handler serves the routes. Use New, then Register.
type Handler struct{ deps Deps }

// New refuses a missing dependency by name.
func New(deps Deps) (*Handler, error) {
	for name, missing := range map[string]bool{
		"Incidents": deps.Incidents == nil, "Engine": deps.Engine == nil, "Switch": deps.Switch == nil,
		"Gate":  deps.Gate == nil,
		"Pools": deps.Pools == nil, "Health": deps.Health == nil, "Status": deps.Status == nil,
		"Notice": deps.Notice == nil, "Report": deps.Report == nil,
		"Runbooks": deps.Runbooks.InForce == nil || deps.Runbooks.Page == nil, "Logger": deps.Logger == nil,
		"Now": deps.Now == nil,
	} {
		if missing {
			return nil, fmt.Errorf("web: %s is missing", name)
		}
	}
	return &Handler{deps: deps}, nil
}

// Register adds the routes. Addresses are those that e extracts; without an extractor, those of the connections.
func (h *Handler) Register(e *echo.Echo) {
	if e.IPExtractor == nil {
		e.IPExtractor = echo.ExtractIPDirect()
	}
	e.GET("/", h.listPage)
	e.GET("/incidents/:id", h.incidentPage)
	e.GET("/pools/:name", h.poolPage)
	e.GET("/status", h.statusPage)
	e.GET("/playbooks", h.playbooksPage)
	e.GET("/playbooks/:name", h.playbookPage)
	e.GET("/report", h.reportPage)
	e.GET("/report.md", h.reportMarkdown)
	e.GET("/api/v1/report", h.reportJSON)
	e.GET("/api/v1/incidents", h.list)
	e.GET("/api/v1/incidents/:id", h.show)
	e.GET("/api/v1/incidents/:id/snapshots", h.snapshots)
	e.POST("/api/v1/incidents/:id/decision", h.decision)
	e.POST("/api/v1/incidents/:id/narrow", h.narrow)
	e.POST("/api/v1/incidents/:id/:verb", h.verb)
	e.POST("/api/v1/drills", h.drill)
	e.POST("/api/v1/pause", h.pause)
	e.POST("/api/v1/resume", h.resume)
}

func (h *Handler) list(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	f := incident.Filter{
		State: c.QueryParam("state"), Pool: c.QueryParam("pool"), AllPools: !c.QueryParams().Has("pool"),
		After: c.QueryParam("after"), Limit: 50,
	}
	if raw := c.QueryParam("limit"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 {
			return echo.NewHTTPError(http.StatusBadRequest, "limit must be a whole number above 0")
		}
		f.Limit = n
	}
	switch s := incident.State(f.State); {
	case s == "all":
		f.State = "" // the command line's word for it
	case s != "" && s != "open" && !slices.Contains(incident.States(), s):
		return echo.NewHTTPError(http.StatusBadRequest,
			fmt.Sprintf("state must be open, all or one of %v", incident.States()))
	}
	list, err := h.deps.Incidents.Incidents(c.Request().Context(), f)
	if err != nil {
		return h.fail(c, err)
	}
	paused, err := h.deps.Switch.Pauses(c.Request().Context())
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, map[string]any{"incidents": list, "pauses": append([]incident.Pause{}, paused...)})
}

func (h *Handler) show(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	inc, err := h.deps.Incidents.IncidentWithJournal(c.Request().Context(), c.Param("id"))
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, inc)
}

func (h *Handler) snapshots(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	kept, err := h.deps.Incidents.Snapshots(c.Request().Context(), c.Param("id"))
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, map[string]any{"snapshots": append([]incident.Snapshot{}, kept...)})
}

// decisionBody is the body of a decision.
type decisionBody struct {
	Step    string        `json:"step"`
	Digest  string        `json:"digest"`
	Verb    incident.Verb `json:"decision"`
	Reason  string        `json:"reason"`
	Confirm bool          `json:"confirmed"`
	// Snooze is a duration such as "2h".
	Snooze string `json:"snooze"`
}

func (h *Handler) decision(c echo.Context) error {
	actor, err := h.who(c, access.Decide)
	if err != nil {
		return err
	}
	var b decisionBody
	if err := body(c, &b); err != nil {
		return err
	}
	if b.Digest == "" || (b.Verb != incident.Approve && b.Verb != incident.Deny) {
		return echo.NewHTTPError(http.StatusBadRequest, "digest and decision (approve or deny) are required")
	}
	if b.Step == "" && b.Verb != incident.Deny {
		return echo.NewHTTPError(http.StatusBadRequest, "step is required; only a denial without it is for all that is asked")
	}
	d := incident.Decision{
		Step: b.Step, Digest: b.Digest, Verb: b.Verb, By: actor, Reason: b.Reason, Confirm: b.Confirm,
	}
	if b.Snooze != "" {
		if d.Snooze, err = time.ParseDuration(b.Snooze); err != nil || d.Snooze <= 0 {
			return echo.NewHTTPError(http.StatusBadRequest, "snooze must be a duration above 0, such as 2h")
		}
	}
	return h.decide(c, d)
}

// narrowBody is a smaller change than a step of the plan with the digest proposes.
type narrowBody struct {
	Step   string `json:"step"`
	Digest string `json:"digest"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

func (h *Handler) narrow(c echo.Context) error {
	actor, err := h.who(c, access.Decide)
	if err != nil {
		return err
	}
	var b narrowBody
	if err := body(c, &b); err != nil {
		return err
	}
	if b.Step == "" || b.Digest == "" || b.To == "" {
		return echo.NewHTTPError(http.StatusBadRequest, "step, digest and to are required")
	}
	return h.act(c, incident.Narrowed{
		Step: b.Step, Digest: b.Digest, To: incident.Set(b.To), By: actor, Reason: b.Reason,
	})
}

// verbBody is the body of the other verbs.
type verbBody struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

func (h *Handler) verb(c echo.Context) error {
	actor, err := h.who(c, access.Decide)
	if err != nil {
		return err
	}
	var b verbBody
	if err := body(c, &b); err != nil {
		return err
	}
	switch c.Param("verb") {
	case "ack":
		return h.act(c, incident.Acked{By: actor})
	case "abort":
		if strings.TrimSpace(b.Reason) == "" {
			return echo.NewHTTPError(http.StatusBadRequest, "reason is required")
		}
		return h.act(c, incident.Aborted{By: actor, Reason: b.Reason})
	case "close":
		if strings.TrimSpace(b.Reason) == "" {
			return echo.NewHTTPError(http.StatusBadRequest, "reason is required")
		}
		return h.act(c, incident.Closed{By: actor, Reason: b.Reason})
	case "ask":
		return h.act(c, incident.AskedAgain{By: actor, Reason: b.Reason})
	case "undo", "keep":
		if b.Step == "" {
			return echo.NewHTTPError(http.StatusBadRequest, "step is required")
		}
		return h.decide(c, incident.Decision{
			Step: b.Step, Verb: incident.Verb(c.Param("verb")), By: actor, Reason: b.Reason,
		})
	default:
		return echo.NewHTTPError(http.StatusNotFound, "the verbs are ack, abort, ask, close, decision, keep, narrow and undo")
	}
}

func (h *Handler) decide(c echo.Context, d incident.Decision) error {
	inc, err := h.deps.Engine.Decide(c.Request().Context(), c.Param("id"), d)
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, inc)
}

func (h *Handler) act(c echo.Context, ev incident.Event) error {
	inc, err := h.deps.Engine.Act(c.Request().Context(), c.Param("id"), ev)
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, inc)
}

// bodyLimit is the longest body in bytes: a reason in a few words fits many times.
const bodyLimit = 64 << 10

// body reads one JSON object of our own, strictly: a name that comes twice or in other letters is refused, because
// whoever stands between could read it another way. An empty body is an empty object.
func body(c echo.Context, into any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, bodyLimit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return echo.NewHTTPError(http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the body must not be longer than %d bytes", bodyLimit))
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case err != nil:
		return wrongBody(err.Error())
	case len(raw) == 0:
		return nil
	case raw[0] != '{':
		return wrongBody("it does not begin with {")
	}
	if err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true)); err != nil {
		return wrongBody(err.Error())
	}
	return nil
}

func wrongBody(why string) error {
	return echo.NewHTTPError(http.StatusBadRequest,
		"the body must be one small JSON object with the documented fields: "+why)
}

// fail answers with what a person may read; anything else goes to the log.
func (h *Handler) fail(c echo.Context, err error) error {
	var refused *incident.RefusedError
	switch {
	case errors.As(err, &refused):
		return echo.NewHTTPError(http.StatusConflict, present.Plain(present.Refusal(refused)))
	case errors.Is(err, incident.ErrNotFound):
		return echo.NewHTTPError(http.StatusNotFound,
			"there is no such incident; vllm-medic incidents list --state all lists every ID")
	}
	h.deps.Logger.ErrorContext(c.Request().Context(), "a request failed", "path", c.Path(), "err", err)
	return echo.NewHTTPError(http.StatusServiceUnavailable, "the store is unavailable; try again")
}
