package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Status is what the bot knows of itself and of what it talks to.
type Status struct {
	Connections []Connection
	// Permissions are what the bot may do in Kubernetes, asked at PermissionsAt; nil when it was not asked yet or there
	// is nobody to ask.
	Permissions   []Connection
	PermissionsAt time.Time
	// Versions are names and versions, in order.
	Versions [][2]string
	// PlaybooksAt is when the playbooks in force were read.
	PlaybooksAt time.Time
}

// Connection is something that the bot talks to, or a permission.
type Connection struct {
	Name  string
	State ConnectionState
	// Text is what was found, More what to do, a line each.
	Text string
	More []string
	// At is when it was found; zero: now.
	At time.Time
}

// ConnectionState says whether a connection works.
type ConnectionState string

// The states. Off is not configured, which is no trouble; Unknown was not asked yet.
const (
	ConnectionOK      ConnectionState = "ok"
	ConnectionFailing ConnectionState = "failing"
	ConnectionOff     ConnectionState = "off"
	ConnectionUnknown ConnectionState = "unknown"
)

// statusPage is the page of the bot itself.
type statusPage struct {
	frame
	Failing                  int
	Connections, Permissions []connectionRow
	PermissionsAt            *moment
	Versions                 [][2]string
	Playbooks                []playbookRow
	PlaybooksAt              *moment
	Pools                    []poolRow
	Pause, Resume            string
}

type connectionRow struct {
	Connection

	Tone  string
	Found *moment
}

func (h *Handler) statusPage(c echo.Context) error {
	if _, err := h.who(c, access.Read); err != nil {
		return err
	}
	f := h.frameOf(c, "status", "Status", true)
	if err := f.troubles(c, h); err != nil {
		return err
	}
	ctx := c.Request().Context()
	st := h.deps.Status(ctx)
	p := statusPage{
		frame: f, PermissionsAt: f.When(st.PermissionsAt), Versions: st.Versions,
		Playbooks: h.rowsOf(h.deps.Runbooks.InForce()), PlaybooksAt: f.When(st.PlaybooksAt),
		Pools: h.poolRows(ctx, f, []incident.Incident{}), Pause: h.botLine("pause --reason REASON"),
		Resume: h.botLine("resume"),
	}
	for _, one := range st.Connections {
		p.Connections = append(p.Connections, f.connection(one))
		if one.State == ConnectionFailing {
			p.Failing++
		}
	}
	for _, one := range st.Permissions {
		p.Permissions = append(p.Permissions, f.connection(one))
		if one.State == ConnectionFailing {
			p.Failing++
		}
	}
	return h.page(c, http.StatusOK, "status.html", p)
}

// resumeLine is the command that ends the pause of a pool, or without one that of all.
func (h *Handler) resumeLine(pool string) string {
	if pool == "" {
		return h.botLine("resume")
	}
	return h.switchLine("resume", pool)
}

// botLine is a command about the whole bot.
func (h *Handler) botLine(verb string) string {
	line := "vllm-medic " + verb
	if base := h.deps.Links.BaseURL; base != "" {
		line += " --server " + present.ShellWord(base)
	}
	return line
}

func (f frame) connection(one Connection) connectionRow {
	row := connectionRow{Connection: one, Found: f.When(one.At)}
	switch one.State {
	case ConnectionOK:
		row.Tone = "good"
	case ConnectionFailing:
		row.Tone = "bad"
	case ConnectionOff, ConnectionUnknown:
	}
	return row
}
