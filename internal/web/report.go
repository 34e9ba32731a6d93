package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/report"
)

// The periods of a report: the one that nobody asked for, and the longest. Closed incidents are kept for less.
const (
	reportDays = 7
	mostDays   = 400
)

// reportPage is the report of a period.
type reportPage struct {
	frame
	Heading, Span  string
	Sections       []reportSection
	Pool           string
	Names          []string
	Days           []option
	Markdown, JSON string
}

type reportSection struct {
	report.Section

	Rows [][]reportCell
}

type reportCell struct {
	Text, Label, Path string
	// Keep has what is short stay whole.
	Keep bool
}

// together keeps a number and its unit on one line. Between two of them a line may end.
var together = strings.NewReplacer(", ", ", ", " (", " (", " ", "\u00a0")

// period is what a report is asked for: the last so many days, or from one time to another.
func (h *Handler) period(c echo.Context) (report.Period, error) {
	p := report.Period{Until: h.deps.Now().UTC(), Pool: c.QueryParam("pool")}
	for name, into := range map[string]*time.Time{"since": &p.Since, "until": &p.Until} {
		if raw := c.QueryParam(name); raw != "" {
			at, err := time.Parse(time.RFC3339, raw)
			if err != nil {
				return p, echo.NewHTTPError(http.StatusBadRequest, name+" must be a time such as 2026-11-23T09:00:00Z")
			}
			*into = at.UTC()
		}
	}
	days := reportDays
	if raw := c.QueryParam("days"); raw != "" {
		var err error
		if days, err = strconv.Atoi(raw); err != nil || days < 1 || days > mostDays {
			return p, echo.NewHTTPError(http.StatusBadRequest, fmt.Sprintf("days must be a whole number from 1 to %d", mostDays))
		}
		if c.QueryParam("since") != "" {
			return p, echo.NewHTTPError(http.StatusBadRequest, "give days or since, not both")
		}
	}
	if p.Since.IsZero() {
		p.Since = p.Until.AddDate(0, 0, -days)
	}
	if span := p.Until.Sub(p.Since); span <= 0 || span > mostDays*24*time.Hour {
		return p, echo.NewHTTPError(http.StatusBadRequest,
			fmt.Sprintf("since must be before until, by at most %d days", mostDays))
	}
	return p, nil
}

// reported is the report that a request asks for.
func (h *Handler) reported(c echo.Context) (report.Report, error) {
	if _, err := h.who(c, access.Read); err != nil {
		return report.Report{}, err
	}
	p, err := h.period(c)
	if err != nil {
		return report.Report{}, err
	}
	r, err := h.deps.Report(c.Request().Context(), p)
	if err != nil {
		return report.Report{}, h.fail(c, err)
	}
	return r, nil
}

func (h *Handler) reportJSON(c echo.Context) error {
	r, err := h.reported(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, r)
}

// reportMarkdown is the report as a file.
func (h *Handler) reportMarkdown(c echo.Context) error {
	r, err := h.reported(c)
	if err != nil {
		return err
	}
	head := c.Response().Header()
	head.Set(echo.HeaderContentDisposition, `attachment; filename="vllm-medic-report-`+
		r.Until.UTC().Format("2006-01-02")+`.md"`)
	head.Set("X-Content-Type-Options", "nosniff")
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(r.Markdown()))
}

func (h *Handler) reportPage(c echo.Context) error {
	r, err := h.reported(c)
	if err != nil {
		return err
	}
	p := reportPage{
		frame: h.frameOf(c, "report", r.Title(), false), Heading: r.Title(), Span: r.Span(), Pool: r.Pool,
	}
	if err := p.troubles(c, h); err != nil {
		return err
	}
	for _, pool := range h.deps.Pools() {
		p.Names = append(p.Names, pool.Name)
	}
	span := int(r.Until.Sub(r.Since) / (24 * time.Hour))
	for _, days := range []int{7, 30, 90} {
		p.Days = append(p.Days, option{
			Value: strconv.Itoa(days), Text: fmt.Sprintf("%d days", days), Chosen: days == span,
		})
	}
	q := url.Values{"since": {r.Since.Format(time.RFC3339Nano)}, "until": {r.Until.Format(time.RFC3339Nano)}}
	if r.Pool != "" {
		q.Set("pool", r.Pool)
	}
	p.Markdown, p.JSON = "/report.md?"+q.Encode(), "/api/v1/report?"+q.Encode()
	for _, s := range r.Sections() {
		p.Sections = append(p.Sections, h.reportSection(s))
	}
	return h.page(c, http.StatusOK, "report.html", p)
}

// reportSection is a part of the report with links to the pools that are configured today.
func (h *Handler) reportSection(s report.Section) reportSection {
	out := reportSection{Section: s}
	if s.Table == nil {
		return out
	}
	linked := map[string]string{}
	for _, pool := range h.deps.Pools() {
		linked[present.Line(pool.Name)] = "/pools/" + url.PathEscape(pool.Name)
	}
	for _, row := range s.Table.Rows {
		var cells []reportCell
		for n, text := range row {
			col := s.Table.Columns[n]
			cell := reportCell{Text: text, Label: col.Name}
			if !col.Wide {
				cell.Text, cell.Keep = together.Replace(text), true
			}
			if col.Pool {
				cell.Path = linked[text]
			}
			cells = append(cells, cell)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
