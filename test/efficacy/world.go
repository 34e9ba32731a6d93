package efficacy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/bubble"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/inpods"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// Configuration is the bot's in every play.
//
//go:embed medic.yaml
var Configuration []byte

const (
	modelName = "llama-70b"
	namespace = "llm"
	container = "vllm"
	botUser   = "system:serviceaccount:vllm-medic:vllm-medic"
	onCall    = "alice"
	audience  = "vllm-medic"

	webhookToken = "token-of-the-webhook"
	botToken     = "bot"
	// personToken has the form of a token of Kubernetes; the bot refuses what hasn't.
	personToken = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6WyJ2bGxtLW1lZGljIl19.c2ln" //nolint:gosec // of nobody
)

// world is what is around a fleet in one play.
type world struct {
	fleet   *fleet.Fleet
	kube    *kubeapi.Server
	pods    *inpods.Pods
	cluster *workloads.Cluster
	monitor *monitor
	am      *alertmanager.Alertmanager
	bot     *app.App
	wire    *bubble.Wire
	// commits counts those of the bot's store.
	commits atomic.Int64
	// rest is the version of the cluster at which it had come to rest.
	rest  uint64
	stop  context.CancelFunc
	ended chan error
}

// step lets the cluster act, if there is anything to act on.
func (w *world) step() error {
	if w.kube.Version() == w.rest && w.pods.Settled() {
		return nil
	}
	err := w.cluster.Step()
	w.rest = w.kube.Version()
	return err
}

// before is how long the model has been served when a play begins.
const before = 14 * 24 * time.Hour

// newWorld builds everything and starts it. The clock of the bubble is set to that of the fleet.
func newWorld(dir string, f *fleet.Fleet, s trial.Script, st *Stage, withBot bool) (
	*world, error,
) {
	w := &world{fleet: f, wire: bubble.NewWire(), ended: make(chan error, 2)}
	time.Sleep(time.Until(f.Now().Add(-before))) //nolint:forbidigo // simulated time is to pass
	for _, step := range []func() error{
		func() error { return w.buildCluster(s) },
		func() error {
			time.Sleep(time.Until(f.Now())) //nolint:forbidigo // simulated time is to pass
			return nil
		},
		func() error { return w.buildMonitor(st.rules) },
		func() error {
			if !withBot {
				return nil
			}
			return errors.Join(w.buildBot(dir, st.catalog, st.log), w.buildAlertmanager(st.log))
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	if !withBot {
		w.ended <- nil
		w.ended <- nil
		return w, nil
	}
	go func() { w.ended <- w.bot.Run(ctx) }()
	go func() { w.am.Run(ctx); w.ended <- nil }()
	return w, nil
}

// close ends everything.
func (w *world) close() error {
	w.stop()
	return errors.Join(<-w.ended, <-w.ended, w.monitor.prom.Close(), w.pods.Err())
}

// baseArgs are the engine arguments that every script has; its own come after them.
func baseArgs() []string { return []string{"--model=meta-llama/Llama-3.3-70B-Instruct"} }

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

func (w *world) buildCluster(s trial.Script) (err error) {
	w.kube, err = kubeapi.New(kubeapi.Options{Now: time.Now, Users: []kubeapi.User{
		{Name: botUser, Token: botToken}, {Name: onCall, Token: personToken, Audience: audience},
	}})
	if err != nil {
		return err
	}
	w.pods = inpods.New(w.fleet, func(p *corev1.Pod) fleet.Pod {
		return fleet.Pod{Name: modelName, Args: append([]string{}, p.Spec.Containers[0].Args...)}
	})
	w.cluster, err = workloads.New(w.kube, workloads.Options{Now: time.Now, Fleet: w.pods})
	if err != nil {
		return err
	}
	// What the chart's role for the person on call has.
	w.kube.Grant(onCall, "",
		rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"vllm-medic.io"}, Resources: []string{"incidents"}},
		rbacv1.PolicyRule{
			Verbs: []string{"update"}, APIGroups: []string{"vllm-medic.io"}, Resources: []string{"incidents/decision"},
		})
	admin := w.kube.As("kubectl")
	if err := w.kube.MakeNamespace(namespace); err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-node-1"}}
	if err := kubeapi.Create(admin, corev1.SchemeGroupVersion.WithResource("nodes"), node); err != nil {
		return err
	}
	labels := map[string]string{"app": modelName}
	n := int32(s.Replicas)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: modelName, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: container, Image: "vllm/vllm-openai:v0.20.0",
					Args: append(baseArgs(), s.Args...),
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
	return w.pods.Err()
}

// grant gives the bot what vllm-medic rbac prints for its configuration.
func (w *world) grant(opts app.Options) error {
	grants, err := app.Grants(context.Background(), opts, app.Account{Namespace: botUser, Name: botUser}, false)
	for _, g := range grants {
		for _, rule := range g.Rules {
			w.kube.Grant(botUser, g.Namespace, rule.PolicyRule)
		}
	}
	return err
}

func (w *world) buildMonitor(rules []byte) (err error) {
	w.monitor, err = newMonitor(w, rules)
	return err
}

func (w *world) buildBot(dir string, cat *playbooks.Catalog, log *slog.Logger) error {
	const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: play, cluster: {server: "https://kubernetes"}}]
users: [{name: vllm-medic, user: {token: ` + botToken + `}}]
contexts: [{name: play, context: {cluster: play, user: vllm-medic}}]
current-context: play
`
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig.yaml"), []byte(kubeconfig), 0o600); err != nil {
		return err
	}
	env := map[string]string{
		"STORE_URL": "sqlite://" + filepath.Join(dir, "medic.db"), "WEBHOOK_TOKEN": webhookToken,
	}
	cfg, err := config.Parse(filepath.Join(dir, "medic.yaml"), Configuration, config.Options{
		Profiles: cat, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		return err
	}
	opts := app.Options{
		Config: cfg, Catalog: cat, Logger: log,
		Store: func(s app.Store) app.Store { return noted{s, &w.commits} },
		Transport: func(service string, _ http.RoundTripper) http.RoundTripper {
			if service == "prometheus" {
				return w.monitor.prom
			}
			return bubble.Answered{Handler: w.kube}
		},
		Listen: func(_ context.Context, address string) (net.Listener, error) {
			if address == cfg.Listen.API {
				return w.wire, nil
			}
			return bubble.NewWire(), nil // nobody scrapes the bot
		},
	}
	if err := w.grant(opts); err != nil {
		return err
	}
	w.bot, err = app.New(context.Background(), opts)
	return err
}

// Alertmanager's route is that of deploy/prometheus/alertmanager.example.yml. A moment less keeps its groups from
// acting in the very instant in which rules are evaluated: what came first would be left to chance.
const moment = 40 * time.Millisecond

func (w *world) buildAlertmanager(log *slog.Logger) (err error) {
	w.am, err = alertmanager.New(alertmanager.Config{
		Receiver: "vllm-medic", URL: "http://vllm-medic/api/v1/alertmanager", Token: webhookToken,
		GroupBy: []model.LabelName{"namespace", "model_name"}, GroupWait: 10*time.Second - moment,
		GroupInterval: time.Minute - moment, RepeatInterval: time.Hour, ExternalURL: "http://alertmanager:9093",
		Client: w.client(), Logger: log,
	})
	if err != nil {
		return fmt.Errorf("alertmanager: %w", err)
	}
	return nil
}

// client reaches the bot.
func (w *world) client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: w.wire.Dial}}
}

// noted counts the commits of a store, after each of which an incident may have changed.
type noted struct {
	app.Store

	commits *atomic.Int64
}

// Commit implements remediation.Incidents.
func (n noted) Commit(ctx context.Context, changes ...incident.Change) error {
	defer n.commits.Add(1)
	return n.Store.Commit(ctx, changes...)
}

// CommitFolded implements remediation.Inbox.
func (n noted) CommitFolded(ctx context.Context, f incident.Folded) error {
	defer n.commits.Add(1)
	return n.Store.CommitFolded(ctx, f)
}
