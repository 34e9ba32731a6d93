package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// monitor is the Prometheus of the sandbox: it scrapes the fleet over loopback and evaluates the shipped rules, each
// second, and answers queries.
type monitor struct {
	prom   *promembed.Prometheus
	fleet  *fleet.Fleet
	am     *alertmanager.Alertmanager
	client *http.Client
	log    *slog.Logger
	// address is where the fleet is served.
	address string
	// own is where it answers itself.
	own     string
	targets map[string]*promembed.Target
	// lost says that it is down: it does not scrape, evaluate or answer.
	lost atomic.Bool
	// say tells people what went wrong; said is what they were told last.
	say  func(string, ...any)
	said string
}

func newMonitor(f *fleet.Fleet, address, rules string, log *slog.Logger, say func(string, ...any)) (*monitor, error) {
	prom, err := promembed.New(promembed.Options{
		Retention: kept, EvaluationInterval: scrapeEvery, ResendDelay: scrapeEvery, Lookback: 10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	if err := prom.LoadRules("vllm-alerts.yaml", []byte(rules)); err != nil {
		return nil, err
	}
	return &monitor{
		prom: prom, fleet: f, log: log, say: say, address: address, targets: map[string]*promembed.Target{},
		client: &http.Client{Timeout: 5 * scrapeEvery},
	}, nil
}

// ServeHTTP answers queries. While it is lost it cuts the connection, as a server that is gone does.
func (m *monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.lost.Load() {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Path == "/graph" || r.URL.Path == "/query" { // as Prometheus 2 and 3 call the page of a query
		m.serveGraph(w, r)
		return
	}
	m.prom.ServeHTTP(w, r)
}

// run scrapes and evaluates until the context ends.
func (m *monitor) run(ctx context.Context) {
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		if !m.lost.Load() {
			if err := errors.Join(m.scrape(ctx, time.Now), m.evaluate(ctx)); err != nil && ctx.Err() == nil {
				m.log.ErrorContext(ctx, "the sandbox's Prometheus", "err", err)
				if text := err.Error(); text != m.said {
					m.said = text
					m.say("Error: the sandbox's Prometheus: %s.", text)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// scrape reads the metrics of each replica that there is now, and of the gateway. now says when that was.
func (m *monitor) scrape(ctx context.Context, now func() time.Time) error {
	var errs []error
	there := map[string]bool{}
	for _, t := range append(m.fleet.Targets(m.address), m.fleet.GatewayTarget(m.address)) {
		pod := t.Labels["pod"] + "/" + t.Labels["instance"]
		there[pod] = true
		target := m.targets[pod]
		if target == nil {
			shown := map[string]string{}
			for name, v := range t.Labels {
				if !strings.HasPrefix(name, model.ReservedLabelPrefix) {
					shown[name] = v
				}
			}
			target = m.prom.Target(labels.FromMap(shown))
			m.targets[pod] = target
		}
		page, err := m.page(ctx, "http://"+m.address+t.Labels[model.MetricsPathLabel])
		at := now()
		if err != nil {
			// The replica may have gone while it was asked.
			m.log.DebugContext(ctx, "scrape", "pod", pod, "err", err)
			errs = append(errs, target.Failed(at))
			continue
		}
		errs = append(errs, target.Scraped(at, page))
	}
	for pod, target := range m.targets {
		if !there[pod] {
			errs = append(errs, target.Gone(now()))
			delete(m.targets, pod)
		}
	}
	return errors.Join(errs...)
}

// maxPage bounds a page of metrics.
const maxPage = 4 << 20

func (m *monitor) page(ctx context.Context, url string) (body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, maxPage)); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	return body, nil
}

// evaluate hands what the rules find to Alertmanager.
func (m *monitor) evaluate(ctx context.Context) error {
	found, err := m.prom.EvaluateRules(ctx, time.Now())
	alerts := make([]model.Alert, 0, len(found))
	for _, a := range found {
		a.GeneratorURL = m.linked(a.GeneratorURL)
		alerts = append(alerts, a.Model())
	}
	return errors.Join(err, m.am.Put(alerts...)) //nolint:contextcheck // groups live as long as Alertmanager runs
}

// linked is a link to a rule's expression, at this Prometheus.
func (m *monitor) linked(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.Host = m.own
	return u.String()
}

// alerts are the names of the alerts that fire, and of others that are pending, in a line; empty when there are none.
func (m *monitor) alerts() string {
	state := map[string]string{}
	for _, a := range m.prom.Alerts() {
		if a.State == firing || state[a.Name] == "" {
			state[a.Name] = a.State
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(state)) {
		out = append(out, name+" "+state[name])
	}
	return strings.Join(out, ", ")
}

// firing is the state of an alert that is sent to Alertmanager.
const firing = "firing"
