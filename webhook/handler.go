package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/connlimit"
	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Path is where Alertmanager posts.
const Path = "/api/v1/alertmanager"

// BodyLimit is how much of a delivery is read, in bytes: groups of thousands of alerts with long annotations happen.
// max_alerts bounds them at the source.
const BodyLimit = 10 << 20

// drainLimit is how much of the rest of a larger body is read over, so that its sender comes to read the answer: one
// whose connection is closed meanwhile would send the whole body again.
const drainLimit = 10 * BodyLimit

// Inbox commits deliveries. A nil error promises that the delivery survives a crash.
type Inbox interface {
	AddDelivery(ctx context.Context, d incident.Delivery) (int64, error)
}

// Demand says what a request has to present now: a secret may be replaced at any time.
type Demand interface{ Current() credential.Credential }

// Handler answers Alertmanager. Use New.
type Handler struct {
	auth   Demand
	inbox  Inbox
	logger *slog.Logger
	now    func() time.Time
	count  *prometheus.CounterVec
	// accepted is the one of count that is counted with each delivery.
	accepted prometheus.Counter
	// cut counts those that were accepted and not read to their end.
	cut      prometheus.Counter
	refusals logLimiter
	early    *early
	room     *room
}

// New refuses a missing dependency by name. Counters are registered with reg.
func New(
	auth Demand, inbox Inbox, logger *slog.Logger, now func() time.Time, reg prometheus.Registerer,
) (*Handler, error) {
	if auth == nil || inbox == nil || logger == nil || now == nil || reg == nil {
		return nil, errors.New("webhook: auth, inbox, logger, now and reg are needed")
	}
	if err := auth.Current().Validate(); err != nil {
		return nil, fmt.Errorf("alertmanager.auth: %w", err)
	}
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "vllm_medic_webhook_requests_total", Help: "Requests of Alertmanager by what was answered.",
	}, []string{"answer"})
	cut := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "vllm_medic_webhook_truncated_total", Help: "Deliveries that were stored without the alerts beyond the bounds.",
	})
	ahead := newEarly(logger)
	for _, c := range []prometheus.Collector{count, cut, ahead.count} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	for _, answer := range []string{"unauthorized", "invalid", "too_large", "busy", "unreadable", "unavailable"} {
		count.WithLabelValues(answer) // a rule sees the first one only when there was a 0 before
	}
	return &Handler{
		auth: auth, inbox: inbox, logger: logger, now: now, count: count,
		accepted: count.WithLabelValues("accepted"), cut: cut,
		refusals: logLimiter{last: map[string]time.Time{}}, early: ahead, room: newRoom(),
	}, nil
}

// Handle answers one request. The error is an *echo.HTTPError with one short line, because Alertmanager logs it.
func (h *Handler) Handle(c echo.Context) error {
	ctx, r := c.Request().Context(), c.Request()
	demanded := h.auth.Current()
	if !allows(demanded, r) {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="vllm-medic"`)
		return h.refuse(ctx, http.StatusUnauthorized, "unauthorized",
			"the credentials are missing or wrong; see http_config of the receiver")
	}
	if !demanded.None() {
		connlimit.Proved(ctx)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return h.refuse(ctx, http.StatusUnsupportedMediaType, "invalid", "the content type must be application/json")
	}
	body := &admitted{ctx: ctx, from: &limited{from: r.Body, left: BodyLimit}, room: h.room}
	defer body.release()
	if err := body.admit(min(r.ContentLength, BodyLimit)); err != nil {
		return h.refuse(ctx, http.StatusServiceUnavailable, "busy", err.Error())
	}
	d, told, err := decodeFrom(body, h.now())
	switch {
	case errors.Is(body.err, errBusy):
		return h.refuse(ctx, http.StatusServiceUnavailable, "busy", errBusy.Error())
	case body.err != nil && !errors.Is(body.err, errCut):
		// The connection broke or ended too early; Alertmanager may send it again.
		return h.refuse(ctx, http.StatusServiceUnavailable, "unreadable", "the body could not be read")
	case errors.Is(err, ErrTooLarge):
		body.release()
		drain(r)
		return h.refuse(ctx, http.StatusRequestEntityTooLarge, "too_large",
			"no alert ends within the first 10 MiB of the body; set max_alerts in webhook_config")
	case err != nil:
		return h.refuse(ctx, http.StatusBadRequest, "invalid", err.Error())
	}
	external := d.Sender
	if !d.Cut {
		d.Sender = sender(external, r)
	}
	id, err := h.inbox.AddDelivery(ctx, d)
	if err != nil {
		h.logger.ErrorContext(ctx, "a delivery could not be stored; Alertmanager will send it again", "err", err)
		return h.refuse(ctx, http.StatusServiceUnavailable, "unavailable", "the store cannot take it now; send it again")
	}
	h.accepted.Inc()
	h.early.note(ctx, d, told, "from", r.RemoteAddr, "external_url", fmt.Sprintf("%.200s", external))
	h.logger.InfoContext(ctx, "delivery stored", "delivery", id, "alerts", len(d.Alerts), "reason", d.Reason)
	if d.Cut {
		h.cut.Inc()
		h.logger.WarnContext(ctx, "a delivery was larger than is read; the alerts beyond that are missing. "+
			"Set max_alerts in webhook_config", "delivery", id, "alerts", len(d.Alerts))
		body.release()
		drain(r)
	}
	return c.JSONBlob(http.StatusOK, fmt.Appendf(nil, "{\"status\":\"stored\",\"delivery\":%d}\n", id))
}

// drain reads over the rest of a body. What has been decided holds whether the rest comes or not.
func drain(r *http.Request) { _, _ = io.CopyN(io.Discard, r.Body, drainLimit) }

// sender names the Alertmanager that a request comes from, as well as one can tell: peers share a configuration, but
// not an address.
func sender(externalURL string, r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(externalURL + "\x00" + host + "\x00" +
		strings.Join(r.Header.Values("X-Forwarded-For"), ",")))
	return hex.EncodeToString(sum[:8])
}

func (h *Handler) refuse(ctx context.Context, code int, answer, text string) error {
	h.count.WithLabelValues(answer).Inc()
	// A wrong body comes again every group_interval, for ever: say it once in ten minutes.
	if h.refusals.allow(answer, h.now()) {
		h.logger.WarnContext(ctx, "delivery refused", "code", code, "reason", text)
	}
	return echo.NewHTTPError(code, text)
}

// logLimiter lets each key through once in ten minutes.
type logLimiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (l *logLimiter) allow(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.last[key]; ok && now.Sub(last) < 10*time.Minute {
		return false
	}
	l.last[key] = now
	return true
}
