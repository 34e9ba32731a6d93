package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/gateway"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// world is everything that runs.
type world struct {
	dir     string
	say     func(format string, args ...any)
	log     *slog.Logger
	secrets map[string]string

	fleet   *fleet.Fleet
	meter   *meter
	pods    *pods
	kube    *kubeapi.Server
	cluster *workloads.Cluster
	gateway *gateway.Gateway
	monitor *monitor
	am      *alertmanager.Alertmanager
	slack   *fakeslack.Server
	bot     *app.App
	config  config.Config
	pulled  pulled
	// grown says that the objects of the cluster are there; until then it is two weeks ago, so that the model looks as one
	// that has been served for a while and was not just deployed.
	grown   atomic.Bool
	traffic float64 // times as many requests, while that lever is on

	servers servers
	viewer  viewer
	page    string // its address
	// exposed says that others than this machine can reach the page.
	exposed atomic.Bool
	pages   string // the address of the bot's own pages
	wg      sync.WaitGroup
}

// build makes everything and binds the listeners; nothing acts yet. page is what is served besides the Slack channel.
func build(ctx context.Context, dir, listen string, page func(*world) http.Handler, log *slog.Logger,
	say func(string, ...any),
) (*world, error) {
	w := &world{
		dir: dir, say: say, log: log, traffic: trafficFactor, meter: &meter{epoch: time.Now().Add(-past)},
		pulled:  pulled{on: map[string]bool{}},
		servers: servers{failed: make(chan error, 8)},
		secrets: map[string]string{
			envSlackToken: "xoxb-" + rand.Text(), envSlackAppToken: "xapp-" + rand.Text(), envWebhookToken: rand.Text(),
			envViewerToken: rand.Text(),
		},
	}
	w.viewer.token = w.secrets[envViewerToken]
	var at addresses
	for _, step := range []func() error{
		func() error { return w.buildFleet() },
		func() (err error) { at.kube, at.authority, err = w.buildCluster(ctx, log); return err },
		func() (err error) { at.prometheus, err = w.buildMonitor(ctx, log); return err },
		func() (err error) { at.page, err = w.buildSlack(ctx, listen, page); return err },
		func() (err error) {
			at.pages, err = w.servers.serve(ctx, "the bot's pages", loopback, w.viewer.handler(log))
			return err
		},
		func() error { return w.buildBot(ctx, at, log) },
		func() error { return w.buildAlertmanager(log) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, w.servers.end())
		}
	}
	w.page, w.pages = at.page, at.pages
	w.viewer.to(w.bot.Addr("api"))
	return w, nil
}

func (w *world) buildFleet() error {
	f, err := fleet.New(fleet.Options{
		Model: modelName, Namespace: namespace, Replicas: replicas, Observe: w.meter.observe,
		FirstToken: w.meter.began, Epoch: w.meter.epoch,
	})
	if err != nil {
		return err
	}
	s, err := load()
	if err != nil {
		return err
	}
	w.fleet = f
	return f.Apply(s)
}

// replicas are those at the start.
const replicas = 2

func (w *world) buildCluster(ctx context.Context, log *slog.Logger) (address string, authority []byte, err error) {
	token := rand.Text()
	w.kube, err = kubeapi.New(kubeapi.Options{Now: w.clusterTime, Users: []kubeapi.User{{Name: botUser, Token: token}}})
	if err != nil {
		return "", nil, err
	}
	w.secrets["kubernetes"] = token
	w.pods = newPods(w.fleet, time.Now, w.say)
	w.cluster, err = workloads.New(w.kube, workloads.Options{Now: w.clusterTime, Fleet: w.pods, Logger: log})
	if err != nil {
		return "", nil, err
	}
	w.gateway, err = gateway.New(w.kube, gateway.Options{
		Namespace: namespace, Name: gatewayName, Route: modelName, Now: w.clusterTime, SetLimit: w.fleet.SetThrottle,
		Logger: log,
	})
	if err != nil {
		return "", nil, err
	}
	if err := w.populate(); err != nil {
		return "", nil, err
	}
	secure, authority, err := certified()
	if err != nil {
		return "", nil, err
	}
	address, err = w.servers.serveTLS(ctx, "the cluster", loopback, secure, w.kube)
	return address, authority, err
}

// clusterTime is the time of the cluster.
func (w *world) clusterTime() time.Time {
	if w.grown.Load() {
		return time.Now()
	}
	return time.Now().AddDate(0, 0, -14)
}

// botUser is whom the cluster takes the bot for.
const botUser = "system:serviceaccount:vllm-medic:vllm-medic"

// loopback is a free port that nobody else can reach.
const loopback = "127.0.0.1:0"

func (w *world) buildMonitor(ctx context.Context, log *slog.Logger) (string, error) {
	address, err := w.servers.serve(ctx, "the engines", loopback, w.fleet)
	if err != nil {
		return "", err
	}
	text, err := shortened(rules.Current)
	if err != nil {
		return "", err
	}
	if w.monitor, err = newMonitor(w.fleet, address, text, log, w.say); err != nil {
		return "", err
	}
	if err := w.remember(ctx); err != nil {
		return "", err
	}
	w.monitor.own, err = w.servers.serve(ctx, "Prometheus", loopback, w.monitor)
	return w.monitor.own, err
}

func (w *world) buildSlack(ctx context.Context, listen string, page func(*world) http.Handler) (string, error) {
	w.slack = fakeslack.New(fakeslack.Options{
		SocketMode: true, Token: w.secrets[envSlackToken], AppToken: w.secrets[envSlackAppToken], LocalLinks: true,
	})
	bound, err := w.servers.serve(ctx, "the page", listen, page(w))
	if err != nil {
		return "", err
	}
	address, exposed := reachable(bound)
	w.exposed.Store(exposed)
	w.slack.SetBaseURL("http://" + address)
	return address, nil
}

func (w *world) buildBot(ctx context.Context, at addresses, log *slog.Logger) error {
	err := writeFiles(w.dir, map[string]string{
		"medic.yaml": medicYAML(w.dir, at), "kubeconfig.yaml": kubeconfigYAML(at, w.secrets["kubernetes"]),
	})
	if err != nil {
		return err
	}
	builtin, err := catalog.Load(playbooks.Options{})
	if err != nil {
		return err
	}
	w.config, err = config.Load(filepath.Join(w.dir, "medic.yaml"), config.Options{
		Profiles: builtin, Getenv: func(name string) (string, bool) { v, ok := w.secrets[name]; return v, ok },
	})
	if err != nil {
		return err
	}
	cat, err := catalog.Load(playbooks.Options{
		Window: w.config.Playbooks.Window, MaxWarmUp: w.config.Playbooks.MaxWarmUp,
	})
	if err != nil {
		return err
	}
	opts := app.Options{Config: w.config, Catalog: cat, Logger: log}
	if err := grantRights(ctx, w.kube, opts); err != nil {
		return err
	}
	w.bot, err = app.New(ctx, opts)
	return err
}

func (w *world) buildAlertmanager(log *slog.Logger) (err error) {
	api := "http://" + w.bot.Addr("api")
	w.am, err = alertmanager.New(alertmanager.Config{
		Receiver: "vllm-medic", URL: api + "/api/v1/alertmanager", Token: w.secrets[envWebhookToken],
		GroupBy: []model.LabelName{"namespace", "model_name"}, GroupWait: time.Second, GroupInterval: 2 * time.Second,
		RepeatInterval: time.Hour, ExternalURL: api, Client: &http.Client{Timeout: 10 * time.Second}, Logger: log,
		Delivered: func(d alertmanager.Delivery) {
			w.say("Alertmanager told the bot: %s (%d firing, %d resolved).", d.Reason, d.Firing, d.Resolved)
		},
	})
	w.monitor.am = w.am
	return err
}

// run lets everything act until the context ends; then it ends everything in order.
func (w *world) run(ctx context.Context) error {
	w.fleet.Advance(time.Since(w.fleet.Now())) // from here on its time is that of the machine
	loops, stop := context.WithCancel(ctx)
	for _, loop := range []func(context.Context){
		w.fleet.Run, w.cluster.Run, w.gateway.Run, w.monitor.run, w.am.Run, w.measure,
	} {
		w.wg.Go(func() { loop(loops) })
	}
	ended := make(chan error, 1)
	go func() { ended <- w.bot.Run(ctx) }()
	var failure error
	select {
	case failure = <-w.servers.failed:
	case failure = <-ended:
		ended <- nil
	case <-ctx.Done():
	}
	stop()
	return errors.Join(failure, w.end(ended))
}

// end ends what run has started. Whatever waits for the bot ends with it.
func (w *world) end(bot chan error) error {
	w.slack.CutSockets()
	err := <-bot
	w.wg.Wait()
	return errors.Join(err, w.servers.end(), w.monitor.prom.Close())
}

// measure takes a sample each second.
func (w *world) measure(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := w.settings()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			is := w.settings()
			if is.replicas != before.replicas {
				w.meter.mark(fmt.Sprintf("%d replicas", is.replicas))
			}
			if is.limit != before.limit {
				w.meter.mark(fmt.Sprintf("limit %d", is.limit))
			}
			before = is
			w.meter.take(now, w.fleet.State(), is.replicas)
		}
	}
}

// settings are what the bot may change, as they are now.
type settings struct {
	// replicas are those that the Deployment asks for, and limit how many requests the gateway lets be in flight.
	replicas, limit int
}

func (w *world) settings() settings {
	return settings{replicas: w.desired(), limit: w.fleet.State().Throttle}
}

// desired is how many replicas the Deployment asks for; 0 when it is gone.
func (w *world) desired() int {
	d, err := kubeapi.Get[appsv1.Deployment](w.kube.As("sandbox"), deployments, namespace, modelName)
	if err != nil || d.Spec.Replicas == nil {
		return 0
	}
	return int(*d.Spec.Replicas)
}

// folder makes the temporary folder.
func folder() (string, error) { return os.MkdirTemp("", "vllm-medic-sandbox-") }
