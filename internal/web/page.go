package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

//go:embed pages
var pageFiles embed.FS

// style is the whole style of all pages. It is in each page, so that a page needs no second request.
//
//go:embed pages/style.css
var style string

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS("\n" + style) }, //nolint:gosec // our own file
	"words": func(line string) []string { return strings.Split(line, " ") },
}).Funcs(evidenceFuncs()).ParseFS(pageFiles, "pages/*.html"))

// policy lets a page load nothing, run nothing and send nothing to anybody but the bot; its style is known by its hash.
var policy = func() string {
	sum := sha256.Sum256([]byte("\n" + style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}()

// refreshEvery is how often a page that shows something that goes on reloads itself, in seconds.
const refreshEvery = 15

// frame is what all pages have in common.
type frame struct {
	// Title is what the tab of the browser shows before the name of the bot.
	Title string
	// Here is the part of the navigation that the page belongs to.
	Here string
	Now  time.Time
	// Refresh is in seconds; 0: the page does not reload itself. Other is the address with and without.
	Refresh int
	Live    bool
	Other   string
	Pauses  []incident.Pause
	Notice  string

	nameOf func(incident.Actor) string
	resume func(pool string) string
}

// frameOf begins a page. One that is live reloads itself unless the reader stopped that.
func (h *Handler) frameOf(c echo.Context, here, title string, live bool) frame {
	f := frame{Title: title, Here: here, Now: h.deps.Now(), Live: live, nameOf: present.Person, resume: h.resumeLine}
	if name := h.deps.Links.NameOf; name != nil {
		f.nameOf = func(a incident.Actor) string { return name(c.Request().Context(), a) }
	}
	if !live {
		return f
	}
	q := c.QueryParams()
	other := url.Values{}
	for name, values := range q {
		if name != "refresh" {
			other[name] = values
		}
	}
	if q.Get("refresh") != "off" {
		f.Refresh = refreshEvery
		other.Set("refresh", "off")
	}
	f.Other = c.Request().URL.Path
	if len(other) > 0 {
		f.Other += "?" + other.Encode()
	}
	return f
}

// troubles reads what everybody should know about the bot itself.
func (f *frame) troubles(c echo.Context, h *Handler) error {
	var err error
	if f.Pauses, err = h.deps.Switch.Pauses(c.Request().Context()); err != nil {
		return h.fail(c, err)
	}
	f.Notice = h.deps.Notice()
	return nil
}

// moment is a time as a page shows it: how long ago or ahead, with the time itself.
type moment struct {
	ISO, Clock, Full, Ago string
	// Ahead says that it is still to come.
	Ahead bool
}

// When is a time on the page; nil for the zero time, which is shown nowhere.
func (f frame) When(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	m := &moment{ISO: t.Format(time.RFC3339), Clock: t.Format("15:04"), Full: t.Format("2006-01-02 15:04:05 UTC")}
	if age := f.Now.Sub(t); age > -time.Second {
		m.Ago = incident.FormatDuration(max(0, age)) + " ago"
	} else {
		m.Ago, m.Ahead = "in "+incident.FormatDuration(-age), true
	}
	if f.Now.Sub(t).Abs() > 20*time.Hour {
		m.Clock = t.Format("Jan 2 15:04")
	}
	return m
}

// ResumeLine is the command that ends a pause.
func (f frame) ResumeLine(p incident.Pause) string { return f.resume(p.Pool) }

// Person names who did something.
func (f frame) Person(a incident.Actor) string { return f.nameOf(a) }

// piece is a part of a sentence on a page.
type piece struct {
	Text   string
	At     *moment
	Strong bool
}

// Say is a sentence on the page.
func (f frame) Say(spans []present.Span) []piece {
	out := make([]piece, 0, len(spans))
	for _, s := range spans {
		p := piece{Text: s.Text, Strong: s.Strong}
		switch {
		case s.Text != "":
		case !s.At.IsZero():
			p.At = f.When(s.At)
		default:
			p.Text = f.Person(s.Person)
		}
		out = append(out, p)
	}
	return out
}

// page draws into memory first, so that an error cannot leave half a page.
func (h *Handler) page(c echo.Context, code int, name string, data any) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		h.deps.Logger.ErrorContext(c.Request().Context(), "a page could not be rendered", "page", name, "err", err)
		return echo.NewHTTPError(http.StatusInternalServerError,
			"the page could not be rendered; the JSON is at /api/v1/incidents")
	}
	head := c.Response().Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	// Whatever a template forgets to clean: no text of others may hide or turn around what a reader decides by.
	return c.HTML(code, redact.Visible(b.String()))
}
