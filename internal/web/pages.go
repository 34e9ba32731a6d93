package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

//go:embed pages
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"clock": func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05 UTC")
	},
	"reading": func(r incident.Reading) string { return r.Text() },
	"limit":   present.Limit,
	"person":  present.Person,
	"made":    func(m incident.Made) string { return present.Plain(present.Made(m)) },
}).Funcs(evidenceFuncs()).ParseFS(pageFiles, "pages/*.html"))

// shownIncidents is how many incidents the first page lists.
const shownIncidents = 100

func (h *Handler) listPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	list, err := h.deps.Incidents.Incidents(c.Request().Context(),
		incident.Filter{AllPools: true, Limit: shownIncidents + 1})
	if err != nil {
		return h.fail(c, err)
	}
	shown := list[:min(len(list), shownIncidents)]
	ps, err := h.deps.Switch.Pauses(c.Request().Context())
	if err != nil {
		return h.fail(c, err)
	}
	return h.page(c, "list.html",
		map[string]any{"Incidents": shown, "More": len(list) > len(shown), "Pauses": ps, "Notice": h.deps.Notice()})
}

func (h *Handler) incidentPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	inc, err := h.deps.Incidents.IncidentWithJournal(c.Request().Context(), c.Param("id"))
	if err != nil {
		return h.fail(c, err)
	}
	return h.page(c, "incident.html", inc)
}

// page draws into memory first, so that a mistake cannot leave half a page.
func (h *Handler) page(c echo.Context, name string, data any) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		h.deps.Logger.ErrorContext(c.Request().Context(), "a page could not be rendered", "page", name, "err", err)
		return echo.NewHTTPError(http.StatusInternalServerError,
			"the page could not be rendered; the JSON is at /api/v1/incidents")
	}
	c.Response().Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	c.Response().Header().Set("X-Content-Type-Options", "nosniff")
	return c.HTMLBlob(http.StatusOK, b.Bytes())
}
