package web

import (
	"mime"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/present"
)

// errorPage is what somebody sees in place of a page.
type errorPage struct {
	frame
	Heading, Text, Next, Command string
}

// Explain answers with a page in place of an error where a browser asked for one; false: it did not answer, and whoever
// calls the API gets JSON. text is what a person may read. It asks nobody, so that it works when nothing else does.
func (h *Handler) Explain(c echo.Context, code int, text string) (answered bool, err error) {
	if !wantsPage(c.Request()) {
		return false, nil
	}
	heading, next, line := explained(code)
	f := h.frameOf(c, "", heading, false)
	return true, h.page(c, code, "error.html", errorPage{
		frame: f, Heading: heading, Text: present.Ended(present.Line(text)), Next: next, Command: line,
	})
}

// wantsPage says that a browser asks for a page: programs ask for JSON, or for anything.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || strings.HasPrefix(r.URL.Path, "/api/") {
		return false
	}
	for accepted := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if kind, _, err := mime.ParseMediaType(accepted); err == nil && kind == "text/html" {
			return true
		}
	}
	return false
}

// explained is the heading of an error, what to do about it, and the command that does it.
func explained(code int) (heading, next, line string) {
	switch code {
	case http.StatusUnauthorized:
		return "Sign in", "Reload the page and enter a token as the password; the user name is ignored. The token is the " +
			"viewer token of the configuration, or one of Kubernetes:", "kubectl create token NAME --audience vllm-medic"
	case http.StatusForbidden:
		return "Not allowed", "Ask whoever runs this bot for the permission to get incidents.vllm-medic.io.", ""
	case http.StatusNotFound:
		return "Not found", "Old incidents are removed after a while.", ""
	case http.StatusBadRequest:
		return "Invalid address", "", ""
	case http.StatusServiceUnavailable:
		return "Unavailable", "The bot keeps working on incidents if it can. Try again in a minute.", ""
	}
	return "Something went wrong", "The bot's log says what.", ""
}
