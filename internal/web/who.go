package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// who checks the credentials of a request: its token, or without one its client certificate. Of both the token counts
// alone, also when it is refused: the certificate may be that of a proxy, which is not who asks.
func (h *Handler) who(c echo.Context, right access.Right) (incident.Actor, error) {
	req := c.Request()
	if req.Header.Get("Authorization") == "" && req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
		actor, err := h.byCertificate(c, right)
		return actor, h.answer(c, err, "certificate")
	}
	actor, err := h.byToken(c, right)
	return actor, h.answer(c, err, "token")
}

// byToken takes a bearer token, or, to read, the password of basic authentication so that a browser can show the pages.
// A browser sends a password by itself, also when a foreign page makes it send the request; so a password does nothing
// but read, and is never one that is good for the cluster.
func (h *Handler) byToken(c echo.Context, right access.Right) (incident.Actor, error) {
	scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
	bearer := strings.EqualFold(scheme, "Bearer")
	if !bearer {
		token = ""
		if right == access.Read {
			_, token, _ = c.Request().BasicAuth()
		}
	}
	return h.check(c, access.Shown{Token: strings.TrimSpace(token), Password: !bearer}, right)
}

// sameOrigin knows the requests that a foreign page makes a browser send.
var sameOrigin = http.NewCrossOriginProtection()

// byCertificate takes the client certificate. A browser shows that one by itself as well, so no other site may have
// made it send the request.
func (h *Handler) byCertificate(c echo.Context, right access.Right) (incident.Actor, error) {
	if err := sameOrigin.Check(c.Request()); err != nil {
		return incident.Actor{}, errOtherSite
	}
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
		if len(c.Request().Header.Values(header)) > 0 {
			return incident.Actor{}, errProxy
		}
	}
	return h.check(c, access.Shown{Chain: c.Request().TLS.PeerCertificates}, right)
}

func (h *Handler) check(c echo.Context, shown access.Shown, right access.Right) (incident.Actor, error) {
	shown.From = c.RealIP() // by the extractor of Register: what a header says of it is anybody's word
	return h.deps.Gate.Check(c.Request().Context(), shown, right)
}

// errProxy says that the certificate is not that of whoever asks.
var errProxy = errors.New("a proxy handed this request on, so the client certificate is the proxy's; use a token")

var errOtherSite = errors.New("a client certificate doesn't count in a request that another site sends")

// answer is the HTTP answer to a refusal by the gate; nil when it let the person in.
func (h *Handler) answer(c echo.Context, err error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, access.ErrForbidden), errors.Is(err, errOtherSite):
		return echo.NewHTTPError(http.StatusForbidden, err.Error())
	case errors.Is(err, access.ErrUnauthenticated), errors.Is(err, errProxy):
		c.Response().Header().Set("WWW-Authenticate", `Basic realm="vllm-medic: the token is the password"`)
		return echo.NewHTTPError(http.StatusUnauthorized, err.Error())
	case errors.Is(err, access.ErrBusy):
		c.Response().Header().Set("Retry-After", "2")
		return echo.NewHTTPError(http.StatusTooManyRequests, err.Error())
	}
	return echo.NewHTTPError(http.StatusServiceUnavailable,
		"your "+what+" could not be checked, so the request is refused; try again (the bot's log says why)")
}
