package app

import (
	"slices"

	"github.com/labstack/echo/v4"
)

// Routes are those of all listeners, as echo has them: "GET /incidents/:id".
func (a *App) Routes() []string {
	var out []string
	for _, s := range a.servers {
		for _, r := range s.http.Handler.(headIsGet).routes.(*echo.Echo).Routes() {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	slices.Sort(out)
	return out
}
