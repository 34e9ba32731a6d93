package web

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
)

// Playbook is a playbook in force.
type Playbook struct {
	Name, Title string
	// Runbook is the name of its page among the built-in ones; empty when it has none there. Doc is the document that it
	// names.
	Runbook, Doc      string
	Alerts, Diagnoses []string
}

// Runbooks are the pages of the playbooks.
type Runbooks struct {
	// InForce are the playbooks.
	InForce func() []Playbook
	// Page is a built-in page as Markdown.
	Page func(name string) ([]byte, bool)
	// DocsURL is where the documents are that have no page here; empty: they are no links.
	DocsURL string
}

// playbookPage is a runbook, or what is known of a playbook without one.
type playbookPage struct {
	frame
	Heading   string
	Text      template.HTML
	Playbooks []playbookRow
	// Index says that the page lists the playbooks.
	Index bool
}

// playbookRow is a playbook with the path of its page.
type playbookRow struct {
	Playbook

	Path string
}

func (h *Handler) rowsOf(all []Playbook) []playbookRow {
	var out []playbookRow
	for _, p := range all {
		name := p.Runbook
		if name == "" {
			name = p.Name
		}
		out = append(out, playbookRow{p, "/playbooks/" + url.PathEscape(name)})
	}
	return out
}

func (h *Handler) playbooksPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	p := playbookPage{
		frame: h.frameOf(c, "playbooks", "Playbooks", false), Heading: "Playbooks", Index: true,
		Playbooks: h.rowsOf(h.deps.Runbooks.InForce()),
	}
	slices.SortFunc(p.Playbooks, func(a, b playbookRow) int { return strings.Compare(a.Title, b.Title) })
	return h.page(c, http.StatusOK, "playbook.html", p)
}

func (h *Handler) playbookPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return echo.NewHTTPError(http.StatusNotFound, "there is no such playbook")
	}
	books := h.deps.Runbooks
	mine := slices.DeleteFunc(slices.Clone(books.InForce()), func(p Playbook) bool {
		return p.Runbook != name && p.Name != name
	})
	p := playbookPage{frame: h.frameOf(c, "playbooks", name, false), Playbooks: h.rowsOf(mine)}
	source, ok := books.Page(name)
	switch {
	case ok:
		known := func(name string) bool {
			_, ok := books.Page(name)
			return ok
		}
		if p.Text, err = rendered(source, known, books.DocsURL); err != nil {
			h.deps.Logger.ErrorContext(c.Request().Context(), "a runbook could not be rendered", "name", name, "err", err)
			return echo.NewHTTPError(http.StatusInternalServerError, "the runbook could not be rendered")
		}
	case len(mine) == 0:
		return echo.NewHTTPError(http.StatusNotFound, "there is no such playbook")
	default:
		p.Heading = mine[0].Title
	}
	if len(mine) > 0 {
		p.Title = mine[0].Title
	}
	return h.page(c, http.StatusOK, "playbook.html", p)
}
