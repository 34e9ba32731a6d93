package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// pauseWait is how long a pause waits for the writes that were claimed before it. A write takes a second or two; one
// that takes longer is listed.
const pauseWait = 20 * time.Second

type pauseBody struct {
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
}

// pauseAnswer says what a pause found. Waiting lists the writes that were claimed before it and had not ended when it
// answered.
type pauseAnswer struct {
	Pauses  []incident.Pause `json:"pauses"`
	Waiting []incident.Write `json:"waiting"`
}

// pause stops writes and answers when the earlier claims in its scope have ended, or after pauseWait with those that
// have not.
func (h *Handler) pause(c echo.Context) error {
	ctx := c.Request().Context()
	actor, err := h.who(c, access.Pause)
	if err != nil {
		return err
	}
	var b pauseBody
	if err := body(c, &b); err != nil {
		return err
	}
	if strings.TrimSpace(b.Reason) == "" {
		return echo.NewHTTPError(http.StatusBadRequest, "reason is required")
	}
	if _, ok := h.pool(b.Pool); b.Pool != "" && !ok {
		return echo.NewHTTPError(http.StatusNotFound, "there is no such pool; nothing was paused"+h.known())
	}
	if err := h.deps.Switch.SetPause(ctx,
		incident.Pause{Pool: b.Pool, Reason: b.Reason, By: actor, At: h.deps.Now()}); err != nil {
		return h.fail(c, err)
	}
	waiting, err := h.drained(ctx, b.Pool)
	if err != nil {
		return h.fail(c, err)
	}
	return h.pauses(c, waiting)
}

func (h *Handler) resume(c echo.Context) error {
	asked := h.deps.Now()
	if _, err := h.who(c, access.Pause); err != nil {
		return err
	}
	var b pauseBody
	if err := body(c, &b); err != nil {
		return err
	}
	had, err := h.deps.Switch.ClearPause(c.Request().Context(), b.Pool, asked)
	switch {
	case err != nil:
		return h.fail(c, err)
	case !had:
		return h.notResumed(c, b.Pool)
	}
	return h.pauses(c, []incident.Write{})
}

// notResumed says why no pause of a scope was ended: there is none, or it was set after the request came in.
func (h *Handler) notResumed(c echo.Context, pool string) error {
	ps, err := h.deps.Switch.Pauses(c.Request().Context())
	if err != nil {
		return h.fail(c, err)
	}
	if slices.ContainsFunc(ps, func(p incident.Pause) bool { return p.Pool == pool }) {
		return echo.NewHTTPError(http.StatusConflict, "a pause was set after this request and is in effect; resume again")
	}
	return echo.NewHTTPError(http.StatusConflict, "nothing was paused in this scope"+elsewhere(ps))
}

// elsewhere says how the pauses of other scopes are ended: whoever resumes one pool wants to know that all are paused.
func elsewhere(ps []incident.Pause) string {
	var out strings.Builder
	for _, p := range ps {
		if p.Pool == "" {
			out.WriteString("; all pools are paused, which a resume without a pool ends")
		} else {
			out.WriteString("; pool " + p.Pool + " is paused, which a resume of that pool ends")
		}
	}
	return out.String()
}

// known lists the pools, for whoever misspelled one.
func (h *Handler) known() string {
	var names []string
	for _, p := range h.deps.Pools() {
		names = append(names, p.Name)
	}
	return "; the pools are " + strings.Join(names, ", ")
}

func (h *Handler) pauses(c echo.Context, waiting []incident.Write) error {
	ps, err := h.deps.Switch.Pauses(c.Request().Context())
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, pauseAnswer{Pauses: ps, Waiting: waiting})
}

// drained waits until no claimed write of the scope is open, and returns those that are when the time is over.
func (h *Handler) drained(ctx context.Context, pool string) ([]incident.Write, error) {
	deadline := time.NewTimer(pauseWait)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		open, err := h.deps.Switch.OpenWrites(ctx)
		if err != nil {
			return nil, err
		}
		mine := []incident.Write{}
		for _, w := range open {
			if pool == "" || w.Pool == pool {
				mine = append(mine, w)
			}
		}
		if len(mine) == 0 {
			return mine, nil
		}
		select {
		case <-ctx.Done():
			return mine, context.Cause(ctx)
		case <-deadline.C:
			return mine, nil
		case <-tick.C:
		}
	}
}
