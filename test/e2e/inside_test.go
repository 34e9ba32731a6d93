package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	prom "github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
	"github.com/vllm-medic/vllm-medic/test/bubble"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/simkube"
)

// inside are surroundings in this process, without a socket: the sandbox's cluster, Prometheus and Alertmanager. They
// live in a bubble, in which nothing waits for a clock.
type inside struct {
	w    *world
	c    *simkube.Cluster
	prom *scraping
	log  output
	life *life

	// down says that the API server is stopped, broken that the way to Prometheus is cut; tries were in vain.
	down, broken atomic.Bool
	tries        atomic.Int64

	endAlertmanager func()
}

// Addresses that nobody listens on: what asks for them is answered in this process.
const (
	apiAddress   = "127.0.0.1:1"
	slackAddress = "127.0.0.1:2"
)

func (in *inside) begin(w *world) {
	w.t.Helper()
	in.w = w
	w.api, w.slackAddr, w.prometheus = apiAddress, slackAddress, "http://127.0.0.1:3"
	options := slackOptions()
	options.HTTPClient = in.client(func(l *life) *bubble.Wire { return l.slack })
	w.slack = fakeslack.New(options)
	w.slack.SetBaseURL("http://127.0.0.1:4")
	w.t.Cleanup(func() { w.slack.Check(w.t) })
	in.c = simkube.Inside(w.t, users()...)
	w.populate()
	engines := w.fleetOptions()
	engines.Epoch = time.Now().AddDate(0, 0, -1) // what restarts pods is not proposed for engines that have just started
	var err error
	if w.fleet, err = fleet.New(engines); err != nil {
		w.t.Fatal(err)
	}
	in.loop(w.fleet.Run)
	in.loop(w.follow)
	in.prom = newScraping(w.t, w.fleet)
	in.startAlertmanager()
	in.loop(in.prom.run)
}

// loop runs f until the test ends.
func (in *inside) loop(f func(context.Context)) (end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(in.w.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	end = func() {
		stop()
		running.Wait()
	}
	in.w.t.Cleanup(end)
	return end
}

func (in *inside) cluster() cluster { return in.c }

func (in *inside) kubeconfig(user string) string {
	path := filepath.Join(in.w.dir, "kubeconfig-of-"+user)
	write(in.w.t, path, `apiVersion: v1
kind: Config
clusters: [{name: inside, cluster: {server: "https://kubernetes"}}]
users: [{name: vllm-medic, user: {token: `+simkube.Token(user)+`}}]
contexts: [{name: inside, context: {cluster: inside, user: vllm-medic}}]
current-context: inside
`)
	return path
}

func (in *inside) stopServer() { in.down.Store(true) }

func (in *inside) startServer() { in.down.Store(false) }

func (in *inside) cut() { in.broken.Store(true) }

func (in *inside) mend() { in.broken.Store(false) }

func (in *inside) tried() int { return int(in.tries.Load()) }

// errRefused is what dialing an address says on which nobody listens.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

// ask answers what the bot asks a service.
func (in *inside) ask(service string, r *http.Request) (*http.Response, error) {
	switch {
	case service == "slack":
		return bubble.Answered{Handler: in.w.slack}.RoundTrip(r)
	case service == "kubernetes" && in.down.Load():
		return nil, errRefused
	case service == "kubernetes":
		return bubble.Answered{Handler: in.c}.RoundTrip(r)
	case service == "prometheus" && in.broken.Load():
		in.tries.Add(1)
		return nil, io.EOF
	case service == "prometheus":
		return in.prom.store.RoundTrip(r)
	}
	return nil, errRefused
}

func (in *inside) logged() string { return in.log.String() }

func (in *inside) has(query string) {
	in.w.t.Helper()
	in.w.until(query, func() bool {
		address := in.w.prometheus + "/api/v1/query?query=" + url.QueryEscape(query)
		req, err := http.NewRequestWithContext(in.w.t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			in.w.t.Fatal(err)
		}
		resp, err := in.prom.store.RoundTrip(req)
		if err != nil {
			in.w.t.Fatal(err)
		}
		var answer struct {
			Data struct{ Result []json.RawMessage }
		}
		if err := errors.Join(json.NewDecoder(resp.Body).Decode(&answer), resp.Body.Close()); err != nil {
			in.w.t.Fatal(err)
		}
		return len(answer.Data.Result) > 0
	})
}

// client reaches one of the bot's listeners, in its present life.
func (in *inside) client(to func(*life) *bubble.Wire) *http.Client {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if in.life == nil {
			return nil, errRefused
		}
		return to(in.life).Dial(ctx, network, address)
	}
	return &http.Client{
		Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}
}

func (in *inside) startAlertmanager() {
	am, err := alertmanager.New(alertmanager.Config{
		Receiver: "vllm-medic", URL: "http://" + apiAddress + "/api/v1/alertmanager", Token: token,
		GroupBy: []prom.LabelName{"namespace", "model_name"}, GroupWait: groupWait, GroupInterval: groupInterval,
		RepeatInterval: repeatInterval, ExternalURL: "http://127.0.0.1:5",
		Client: in.client(func(l *life) *bubble.Wire { return l.api }),
		Logger: slog.New(slog.NewTextHandler(in.w.t.Output(), nil)),
	})
	if err != nil {
		in.w.t.Fatal(err)
	}
	in.prom.am.Store(am)
	in.endAlertmanager = in.loop(am.Run)
}

func (in *inside) forget() {
	in.endAlertmanager()
	in.startAlertmanager()
}

func (in *inside) push(labels map[string]string) {
	in.w.t.Helper()
	now := time.Now()
	alert := promembed.Alert{Labels: labels, StartsAt: now, EndsAt: now.Add(time.Hour)}
	if err := in.prom.am.Load().Put(alert.Model()); err != nil {
		in.w.t.Fatal(err)
	}
}
