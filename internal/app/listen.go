package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/webhook"
)

// server is one listener with its routes. It is bound when it is made and serves later.
type server struct {
	name     string
	listener net.Listener
	http     *http.Server
}

func (s *server) addr() string { return s.listener.Addr().String() }

func (s *server) serve(context.Context) error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// listen binds every listener, each to an address of its own.
func (a *App) listen(ctx context.Context) error {
	cfg := a.opts.Config
	api, err := a.apiRoutes() //nolint:contextcheck // its handlers use the context of each request
	if err != nil {
		return err
	}
	ops, err := a.opsRoutes() //nolint:contextcheck // its handlers use the context of each request
	if err != nil {
		return err
	}
	if err := a.bind(ctx, "api", cfg.Listen.API, api); err != nil {
		return err
	}
	if err := a.bind(ctx, "ops", cfg.Listen.Ops, ops); err != nil {
		return err
	}
	if a.slack == nil || a.slack.socket != nil {
		return nil
	}
	e := a.newEcho() //nolint:contextcheck // its handlers use the context of each request
	e.POST("/api/v1/slack/interactions", echo.WrapHandler(a.slack.interactions))
	return a.bind(ctx, "slack", cfg.Listen.Slack, e)
}

func (a *App) bind(ctx context.Context, name, addr string, routes http.Handler) error {
	listen := a.opts.Listen
	if listen == nil {
		listen = func(ctx context.Context, address string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		}
	}
	l, err := listen(ctx, addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("listen.%s: %w; each listener needs an address of its own, which nothing else on this machine has",
			name, err)
	}
	if err != nil {
		return fmt.Errorf("listen.%s: %w", name, err)
	}
	limited := a.connections.limit(name, l) //nolint:contextcheck // what is closed belongs to no request
	l = limited
	if files, ok := a.opts.Config.Listen.TLS[name]; ok {
		tc, guarded, err := listenerTLS(a.opts.Config.Files, "listen.tls."+name, files, routes)
		if err != nil {
			return errors.Join(fmt.Errorf("listen.tls.%s: %w", name, err), l.Close())
		}
		if name == "api" && a.opts.Config.Access.ClientCertificates {
			tc.ClientAuth = tls.RequestClientCert // each request checks it, with the authority of that time
		}
		l, routes = tls.NewListener(l, tc), guarded
	}
	srv := &http.Server{
		Handler: headIsGet{routes}, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 40 * time.Second,
		IdleTimeout:  60 * time.Second, MaxHeaderBytes: 32 << 10,
	}
	limited.Attach(srv)
	a.servers = append(a.servers, &server{name: name, listener: l, http: srv})
	return nil
}

// newEcho is an echo with the middleware and the error answers that every listener has.
func (a *App) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = whoseAddress(a.opts.Config.Listen.TrustedProxies)
	e.HTTPErrorHandler = a.answerError
	e.Pre(protect)
	e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisablePrintStack: true,
		LogErrorFunc: func(c echo.Context, err error, stack []byte) error {
			a.opts.Logger.ErrorContext(c.Request().Context(), "a request panicked", "path", c.Path(), "err", err, "stack",
				string(stack))
			return err
		},
	}))
	return e
}

// whoseAddress is the address of who sent a request. What a header says of it is anybody's word, except where a proxy
// of the configuration handed the request on.
func whoseAddress(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// answerError answers wrapped HTTP errors with their code (echo's own handler makes 500 of them, which Alertmanager
// would repeat) and hides all others.
func (a *App) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	code, text := a.errorText(err, c)
	a.answerJSON(c, code, text)
}

func (a *App) answerJSON(c echo.Context, code int, text string) {
	if err := c.JSON(code, map[string]string{"error": text}); err != nil {
		a.opts.Logger.DebugContext(c.Request().Context(), "an answer was not delivered", "err", err)
	}
}

// errorText is the code and the sentence for an error; one that no person should read goes to the log.
func (a *App) errorText(err error, c echo.Context) (code int, text string) {
	code, text = http.StatusInternalServerError, "something went wrong; the log says what"
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		code, text = he.Code, fmt.Sprint(he.Message)
	} else {
		a.opts.Logger.ErrorContext(c.Request().Context(), "a request failed", "path", c.Path(), "err", err)
	}
	return code, text
}

// explain is answerError for the listener with the pages: a browser gets a page.
func (a *App) explain(pages *web.Handler) echo.HTTPErrorHandler {
	return func(err error, c echo.Context) {
		if c.Response().Committed {
			return
		}
		code, text := a.errorText(err, c)
		if answered, err := pages.Explain(c, code, text); !answered || err != nil {
			a.answerJSON(c, code, text)
		}
	}
}

func (a *App) apiRoutes() (http.Handler, error) {
	cfg := a.opts.Config
	e := a.newEcho()
	hook, err := webhook.New(cfg.Webhook, a.store, a.opts.Logger.With("part", "webhook"), a.store.Now, a.registry)
	if err != nil {
		return nil, err
	}
	e.POST(webhook.Path, hook.Handle)
	pages, err := web.New(web.Deps{
		Incidents: a.store, Engine: a.engine, Switch: a.store, Gate: a.door, Notice: a.notice,
		Pools: func() []incident.Pool { return cfg.Pools }, Health: a.overview.Health, Past: a.pasts.Past, Status: a.status,
		Report: a.report, Runbooks: a.runbooks(), Links: a.links(),
		Logger: a.opts.Logger.With("part", "web"), Now: a.store.Now,
	})
	if err != nil {
		return nil, err
	}
	pages.Register(e)
	e.HTTPErrorHandler = a.explain(pages)
	return e, nil
}

func (a *App) opsRoutes() (http.Handler, error) {
	all := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		faults{a.engine, a.panics},
		&storeMetrics{
			counter: a.store, logger: a.opts.Logger.With("part", "metrics"), now: a.store.Now, panics: a.panics,
			pools: a.poolNames, diagnoses: a.playbooks.diagnoses,
		},
		a.playbooks,
		files{a.opts.Config.Files},
		notifications(a.dispatchers), a.outgoing, a.ignored,
		spans{a.tracer},
		a.connections, a.door.answers,
	}
	if a.slack != nil {
		all = append(all, a.slack)
	}
	for _, c := range all {
		if err := a.registry.Register(c); err != nil {
			return nil, err
		}
	}
	e := a.newEcho()
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{})))
	e.GET("/debug/goroutines", func(c echo.Context) error {
		// Functions and how many are in each, without the values that they work on.
		return pprof.Lookup("goroutine").WriteTo(c.Response(), 1)
	})
	e.GET("/healthz", func(c echo.Context) error {
		if stuck := a.liveness.stuck(); len(stuck) > 0 {
			a.opts.Logger.ErrorContext(c.Request().Context(), "a loop of the bot is stuck; it should be restarted", "reason",
				strings.Join(stuck, "; "))
			return echo.NewHTTPError(http.StatusServiceUnavailable, "stuck: "+strings.Join(stuck, "; "))
		}
		return c.String(http.StatusOK, "ok\n")
	})
	e.GET("/readyz", func(c echo.Context) error {
		ctx, cancel := context.WithTimeout(c.Request().Context(), 2*time.Second)
		defer cancel()
		err := a.store.Ready(ctx)
		if down, ok := errors.AsType[*store.NotReadyError](err); ok {
			return echo.NewHTTPError(http.StatusServiceUnavailable, down.Error())
		}
		if err != nil {
			return err
		}
		answer := "ready\n"
		if degraded := a.slack.notice(); degraded != "" {
			answer += degraded + "\n"
		}
		return c.String(http.StatusOK, answer)
	})
	return e, nil
}
