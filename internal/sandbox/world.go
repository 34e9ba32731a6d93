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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
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
	page    string // its address
	wg      sync.WaitGroup
}

// build makes everything and binds the listeners; nothing acts yet. page is what is served besides the Slack channel.
func build(ctx context.Context, dir, listen string, page func(*world) http.Handler, log *slog.Logger,
	say func(string, ...any),
) (*world, error) {
	w := &world{
		dir: dir, say: say, log: log, traffic: trafficFactor, meter: &meter{}, pulled: pulled{on: map[string]bool{}},
		servers: servers{failed: make(chan error, 8)},
		secrets: map[string]string{
			envSlackToken: "xoxb-" + rand.Text(), envSlackAppToken: "xapp-" + rand.Text(), envWebhookToken: rand.Text(),
			envViewerToken: rand.Text(),
		},
	}
	var at addresses
	for _, step := range []func() error{
		func() error { return w.buildFleet() },
		func() (err error) { at.kube, at.authority, err = w.buildCluster(ctx, log); return err },
		func() (err error) { at.prometheus, err = w.buildMonitor(ctx, log); return err },
		func() (err error) { at.page, err = w.buildSlack(ctx, listen, page); return err },
		func() error { return w.buildBot(ctx, at, log) },
		func() error { return w.buildAlertmanager(log) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, w.servers.end())
		}
	}
	w.page = at.page
	return w, nil
}

// load is what clients ask for before anything breaks: three requests a second, which two replicas answer easily.
func load() (fleet.Scenario, error) {
	s, err := fleet.ScenarioNamed("healthy")
	s.Load.Rate, s.Load.Random = 1.7, true
	return s, err
}

func (w *world) buildFleet() error {
	f, err := fleet.New(fleet.Options{
		Model: modelName, Namespace: namespace, Replicas: replicas, Observe: w.meter.observe, Epoch: time.Now(),
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

// populate makes the objects of the model and lets its pods run.
func (w *world) populate() error {
	grantRights(w.kube)
	admin := w.kube.As("kubectl")
	if err := w.kube.MakeNamespace(namespace); err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-node-1"}}
	if err := kubeapi.Create(admin, corev1.SchemeGroupVersion.WithResource("nodes"), node); err != nil {
		return err
	}
	app := map[string]string{"app": modelName}
	n := int32(replicas)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: modelName, Namespace: namespace, Labels: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: container, Image: "vllm/vllm-openai:v0.20.0",
					Args: []string{"--model=meta-llama/Llama-70B", "--max-num-seqs=64", "--max-num-batched-tokens=8192"},
				}}},
			},
		},
	}
	if err := kubeapi.Create(admin, deployments, d); err != nil {
		return err
	}
	if err := w.cluster.Step(); err != nil {
		return err
	}
	w.grown.Store(true)
	w.pods.cold()
	if got := len(w.fleet.State().Replicas); got != replicas {
		return fmt.Errorf("the simulated cluster runs %d replicas, not %d", got, replicas)
	}
	return w.pods.err()
}

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

func (w *world) buildMonitor(ctx context.Context, log *slog.Logger) (string, error) {
	address, err := w.servers.serve(ctx, "the engines", loopback, w.fleet)
	if err != nil {
		return "", err
	}
	text, err := shortened(rules.Current, pace)
	if err != nil {
		return "", err
	}
	if w.monitor, err = newMonitor(w.fleet, address, text, log, w.say); err != nil {
		return "", err
	}
	return w.servers.serve(ctx, "Prometheus", loopback, w.monitor)
}

func (w *world) buildSlack(ctx context.Context, listen string, page func(*world) http.Handler) (string, error) {
	w.slack = fakeslack.New(fakeslack.Options{
		SocketMode: true, Token: w.secrets[envSlackToken], AppToken: w.secrets[envSlackAppToken],
	})
	address, err := w.servers.serve(ctx, "the page", listen, page(w))
	if err == nil {
		w.slack.SetBaseURL("http://" + address)
	}
	return address, err
}

func (w *world) buildBot(ctx context.Context, at addresses, log *slog.Logger) error {
	err := writeFiles(w.dir, map[string]string{
		"medic.yaml": medicYAML(w.dir, at), "kubeconfig.yaml": kubeconfigYAML(at, w.secrets["kubernetes"]),
	})
	if err != nil {
		return err
	}
	files, err := catalog.Files()
	if err != nil {
		return err
	}
	builtin, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		return err
	}
	w.config, err = config.Load(filepath.Join(w.dir, "medic.yaml"), config.Options{
		Profiles: builtin, Getenv: func(name string) (string, bool) { v, ok := w.secrets[name]; return v, ok },
	})
	if err != nil {
		return err
	}
	cat, err := playbooks.Load(files, playbooks.Options{
		Window: w.config.Playbooks.Window, MaxWarmUp: w.config.Playbooks.MaxWarmUp,
	})
	if err != nil {
		return err
	}
	w.bot, err = app.New(ctx, app.Options{Config: w.config, Catalog: cat, Logger: log})
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
	loops, stop := context.WithCancel(ctx)
	for _, loop := range []func(context.Context){
		w.fleet.Run, w.cluster.Run, w.monitor.run, w.am.Run, w.measure,
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
	before := w.desired()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			n := w.desired()
			if n != before {
				w.meter.mark(fmt.Sprintf("%d replicas", n))
			}
			before = n
			w.meter.take(now, w.fleet.State(), n)
		}
	}
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
