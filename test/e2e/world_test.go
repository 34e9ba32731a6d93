package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/ports"
	programs "github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// model is the served model and the name of its Deployment; channel where people are asked.
const (
	model   = "llama-70b"
	channel = "C0INCIDENTS"
	token   = "webhook-token-for-this-test"
)

// speed is how many simulated seconds pass in one: the rules' five minutes become ten seconds.
const speed = 30

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	policies    = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	}
)

// world is everything that one scenario runs in.
type world struct {
	t     *testing.T
	c     *kubetest.Cluster
	ns    string
	slack *fakeslack.Server
	vllm  *fleet.Server
	prom  *promtest.Prometheus
	am    *process
	bot   *process
	dir   string

	api, slackAddr, amAddr string
	mode, user             string
	swap                   []string
	// lets is what the policy lets in when the scenario begins.
	lets int64
	// args are the engine's arguments, when the fleet obeys them; see serving.
	args []string
	// line is the bot's way to Prometheus.
	line *line
}

// setting changes a world before its bot starts.
type setting func(*world)

func inMode(mode string) setting { return func(w *world) { w.mode = mode } }

// replace changes one setting of the bot's configuration.
func replace(old, with string) setting { return func(w *world) { w.swap = append(w.swap, old, with) } }

// asUser gives the bot a Kubernetes user of its own, so that the audit log shows what it alone sent.
func asUser(name string) setting { return func(w *world) { w.user = name } }

// letting sets how many requests at once the policy lets in.
func letting(n int64) setting { return func(w *world) { w.lets = n } }

// serving gives the Deployment these arguments, and lets each replica of the fleet be one of its pods and obey the
// pod's own arguments. Else the fleet only counts the pods that are ready, and the scenario says what the engines can
// do.
func serving(args ...string) setting { return func(w *world) { w.args = args } }

// onCluster gives the scenario a cluster of its own, which it may stop.
func onCluster(c *kubetest.Cluster) setting { return func(w *world) { w.c = c } }

// newWorld starts everything around the bot, then the bot, on a healthy fleet of two replicas.
func newWorld(t *testing.T, settings ...setting) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), mode: "approve", user: kubetest.Admin, lets: 184}
	for _, s := range settings {
		s(w)
	}
	if w.c == nil {
		w.c = kube.Cluster(t)
	}
	w.api, w.slackAddr, w.amAddr = ports.ForTest(t), ports.ForTest(t), ports.ForTest(t)
	w.c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects)
	w.ns = w.c.Namespace(t)
	w.slack = fakeslack.Start(t, fakeslack.Options{
		AllowedLinks: []string{"http://", "https://"}, ClickWithin: programs.Patience,
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what Slack shows:\n%s", w.story())
		}
	})
	w.slack.SetInteractivityURL("http://" + w.slackAddr + "/api/v1/slack/interactions")
	w.apply(deployments, deployment(w.ns, w.args))
	w.apply(policies, policy(w.ns, w.lets))
	targets := filepath.Join(w.dir, "vllm.json")
	w.vllm = fleet.Start(t,
		fleet.Options{Model: model, Namespace: w.ns, Scenario: "healthy", Replicas: 2, Speed: speed, TargetsFile: targets})
	go w.follow(t.Context())
	w.alertmanager()
	w.prom = promtest.StartWith(t, promtest.Options{
		TargetsFiles: []string{targets}, Rules: []string{rules(t)}, Alertmanagers: []string{w.amAddr},
	})
	w.prom.WaitFor(t, `sum(rate(vllm:prompt_tokens_total[10s])) > 0`)
	w.line = newLine(t, w.prom.URL)
	w.startBot()
	w.followed()
	return w
}

// rules are the shipped rules with windows that suit the speed of the fleet; nothing else is changed.
func rules(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../deploy/prometheus/rules/vllm-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "[5m]", "[10s]")
	for _, wait := range []string{"for: 5m", "for: 2m", "for: 1m"} {
		text = strings.ReplaceAll(text, wait, "for: 1s")
	}
	return text
}

func (w *world) startBot() {
	w.t.Helper()
	config := filepath.Join(w.dir, "medic.yaml")
	write(w.t, filepath.Join(w.dir, "am-token"), token)
	write(w.t, config, w.config())
	w.bot = start(w.t, "vllm-medic", medic,
		[]string{"SLACK_BOT_TOKEN=" + w.slack.Token(), "SLACK_SIGNING_SECRET=" + w.slack.SigningSecret()},
		"serve", "--config", config)
	w.bot.waitHTTP(w.t, "http://"+w.api+"/api/v1/incidents", 401)
}

// config is the bot's. verify_for is long, because on a busy machine scrapes are missed for longer than the windows: a
// recovery is told at once, and without data the bot goes on reading until the time is up.
func (w *world) config() string {
	text := fmt.Sprintf(`
listen: {api: "%s", ops: "127.0.0.1:0", slack: "%s"}
store: {url: "sqlite://%s/medic.db"}
prometheus: {url: "%s"}
alertmanager: {auth: {bearer_token_file: am-token}}
kubernetes: {kubeconfig: "%s"}
slack:
  {mode: http, channel: %s, team: %s, app_id: %s, token_env: SLACK_BOT_TOKEN, signing_secret_env: SLACK_SIGNING_SECRET,
   api_url: "%s"}
mode: %s
approvers: {default: {users: [U0ALICE], expire: 5m}}
playbooks: {window: 10s, max_warm_up: 1s}
timing:
  {group_wait: 1s, gather: 2s, refresh: 2s, watch: 1s, settle: 12s, verify_every: 1s, verify_for: 2m, hold: 3s,
   rollout_poll: 500ms,
   retry: 500ms}
pools:
  - name: %s
    match: {namespace: %s, model_name: %s}
    matchers: {namespace: %s, model_name: %s}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: %s, name: %s, container: vllm}
    knobs:
      replicas: {min: 2, max: 8, max_step: 1}
      max_num_batched_tokens: {min: 2048, max: 16384}
      throttle:
        {kind: envoy-gateway, namespace: %s, name: %s, field: maxParallelRequests,
         min: 16, max: 1024, revert_after: 2s}
`, w.api, w.slackAddr, w.dir, w.line.url, w.c.Kubeconfig(w.t, w.user), channel, fakeslack.TeamID, fakeslack.AppID,
		w.slack.APIURL(), w.mode,
		model, w.ns, model, w.ns, model, w.ns, model, w.ns, model)
	for n := 0; n+1 < len(w.swap); n += 2 {
		if !strings.Contains(text, w.swap[n]) {
			w.t.Fatalf("the configuration has no %q", w.swap[n])
		}
		text = strings.ReplaceAll(text, w.swap[n], w.swap[n+1])
	}
	return text
}

func (w *world) alertmanager() {
	w.t.Helper()
	write(w.t, filepath.Join(w.dir, "alertmanager.yml"), fmt.Sprintf(`
route:
  {receiver: vllm-medic, group_by: [namespace, model_name], group_wait: 1s, group_interval: 2s, repeat_interval: 1h}
receivers:
  - name: vllm-medic
    webhook_configs:
      - url: "http://%s/api/v1/alertmanager"
        send_resolved: true
        http_config: {authorization: {type: Bearer, credentials: "%s"}}
`, w.api, token))
	w.startAlertmanager()
}

func (w *world) amDir() string { return filepath.Join(w.dir, "am") }

// startAlertmanager starts it on what it remembers.
func (w *world) startAlertmanager() {
	w.t.Helper()
	w.am = start(w.t, "alertmanager", tools.Binary(w.t, "alertmanager"), nil,
		"--config.file="+filepath.Join(w.dir, "alertmanager.yml"), "--storage.path="+w.amDir(),
		"--web.listen-address="+w.amAddr, "--cluster.listen-address=")
	w.am.waitHTTP(w.t, "http://"+w.amAddr+"/-/ready", 200)
}

func (w *world) apply(r schema.GroupVersionResource, o *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := w.c.Dynamic(w.t).Resource(r).Namespace(w.ns).Create(w.t.Context(), o,
		metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("create %s: %v", o.GetName(), err)
	}
}

func deployment(ns string, args []string) *unstructured.Unstructured {
	if args == nil {
		args = []string{"--max-num-seqs=256", "--max-num-batched-tokens=8192"}
	}
	all := []any{"--model=meta-llama/Llama-70B", "--api-key=sk-very-secret"}
	for _, a := range args {
		all = append(all, a)
	}
	return object(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": model, "namespace": ns},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": model}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": model}},
				"spec": map[string]any{
					"nodeName": kubetest.Node, "terminationGracePeriodSeconds": int64(1),
					"containers": []any{map[string]any{
						"name": "vllm", "image": "vllm/vllm-openai:v0.20.0", "args": all,
					}},
				},
			},
		},
	})
}

// policy limits the pool to so many requests at once. Seven tenths of 184 are 64 for each of two replicas.
func policy(ns string, lets int64) *unstructured.Unstructured {
	return object(map[string]any{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"name": model, "namespace": ns},
		"spec": map[string]any{
			"targetRefs":     []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": model}},
			"circuitBreaker": map[string]any{"maxParallelRequests": lets},
		},
	})
}

func object(m map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: m}
}

// replicas is what the real Deployment is set to; limit what the real policy is set to.
func (w *world) replicas() int64 { return w.number(deployments, "spec", "replicas") }

func (w *world) limit() int64 {
	return w.number(policies, "spec", "circuitBreaker", "maxParallelRequests")
}

func (w *world) number(r schema.GroupVersionResource, path ...string) int64 {
	w.t.Helper()
	o, err := w.c.Dynamic(w.t).Resource(r).Namespace(w.ns).Get(w.t.Context(), model, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	n, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
