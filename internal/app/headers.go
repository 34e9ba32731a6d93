package app

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// protect sets what every answer says, errors included: what it shows is of now and for this reader alone, its type is
// what it says it is, and a link in it tells nobody which incident was being looked at.
func protect(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// headIsGet lets each route for GET answer HEAD, as load balancers and monitors ask. The server leaves the body out,
// because it goes by the request that it read itself.
type headIsGet struct{ routes http.Handler }

// ServeHTTP is that of http.Handler.
func (h headIsGet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		get := r.WithContext(r.Context())
		get.Method = http.MethodGet
		r = get
	}
	h.routes.ServeHTTP(w, r)
}
