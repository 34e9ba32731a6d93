package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

type drillBody struct {
	Scenario string `json:"scenario"`
	Pool     string `json:"pool"`
}

// drillAnswer names the incident of a drill that was ordered.
type drillAnswer struct {
	ID   string `json:"id"`
	Pool string `json:"pool"`
}

// drill starts an exercise. Whoever may decide may start one: it asks the same people, and it never writes.
func (h *Handler) drill(c echo.Context) error {
	actor, err := h.who(c, access.Decide)
	if err != nil {
		return err
	}
	var b drillBody
	if err := body(c, &b); err != nil {
		return err
	}
	if pools := h.deps.Pools(); b.Pool == "" && len(pools) == 1 {
		b.Pool = pools[0].Name
	}
	switch {
	case b.Scenario == "":
		return echo.NewHTTPError(http.StatusBadRequest, "scenario is required")
	case b.Pool == "":
		return echo.NewHTTPError(http.StatusBadRequest, "pool is required"+h.known())
	}
	id, err := h.deps.Engine.StartDrill(c.Request().Context(),
		incident.DrillOrder{Pool: b.Pool, Scenario: b.Scenario, By: actor})
	if err != nil {
		return h.fail(c, err)
	}
	return c.JSON(http.StatusOK, drillAnswer{ID: id, Pool: b.Pool})
}
