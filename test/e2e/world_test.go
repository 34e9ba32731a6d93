package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// model is the served model and the name of its Deployment; channel where people are asked.
const (
	model   = "llama-70b"
	channel = "C0INCIDENTS"
	token   = "webhook-token-for-this-test"
)

// speed is how many simulated seconds pass in one: the rules' five minutes become ten seconds.
const speed = 30

// The times of Alertmanager's route.
const (
	groupWait      = time.Second
	groupInterval  = 2 * time.Second
	repeatInterval = time.Hour
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	policies    = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	}
)

// world is everything that one journey runs in.
type world struct {
	t      *testing.T
	around surroundings
	ns     string
	slack  *fakeslack.Server
	fleet  *fleet.Fleet
	dir    string

	// api and slackAddr are where the bot listens, prometheus where it finds Prometheus.
	api, slackAddr, prometheus string
	mode, user                 string
	swap                       []string
	// lets is what the policy lets in when the journey begins.
	lets int64
	// args are the engine's arguments, when the fleet obeys them; see serving.
	args []string
	// alone says that the journey stops its cluster, so that it needs one of its own.
	alone bool
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

// ownCluster gives the journey a cluster of its own, which it may stop.
func ownCluster() setting { return func(w *world) { w.alone = true } }

// newWorld starts everything around the bot, then the bot, on a healthy fleet of two replicas.
func newWorld(t *testing.T, around surroundings, settings []setting) *world {
	t.Helper()
	w := &world{t: t, around: around, dir: t.TempDir(), mode: "approve", user: kubetest.Admin, lets: 184}
	for _, s := range settings {
		s(w)
	}
	around.begin(w)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what Slack shows:\n%s", w.story())
		}
	})
	w.slack.SetInteractivityURL("http://" + w.slackAddr + "/api/v1/slack/interactions")
	around.has(`sum(rate(vllm:prompt_tokens_total[10s])) > 0`)
	write(w.t, filepath.Join(w.dir, "am-token"), token)
	write(w.t, w.configured(), w.config())
	around.startBot()
	w.followed()
	return w
}

// configured is the path of the bot's configuration.
func (w *world) configured() string { return filepath.Join(w.dir, "medic.yaml") }

// populate makes the objects that serve the model, and lets the fleet do what they say.
func (w *world) populate() {
	w.t.Helper()
	w.c().InstallCRD(w.t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects)
	w.ns = w.c().Namespace(w.t)
	w.apply(deployments, deployment(w.ns, w.args))
	w.apply(policies, policy(w.ns, w.lets))
}

// slackOptions are those of the double of Slack.
func slackOptions() fakeslack.Options {
	return fakeslack.Options{AllowedLinks: []string{"http://", "https://"}, ClickWithin: programs.Patience}
}

// fleetOptions are those of a healthy fleet of two.
func (w *world) fleetOptions() fleet.Options {
	return fleet.Options{Model: model, Namespace: w.ns, Scenario: "healthy", Replicas: 2, Speed: speed}
}

func (w *world) c() cluster { return w.around.cluster() }

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
`, w.api, w.slackAddr, w.dir, w.prometheus, w.around.kubeconfig(w.user), channel, fakeslack.TeamID, fakeslack.AppID,
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

// objects are those of a kind in the journey's namespace.
func (w *world) objects(r schema.GroupVersionResource) dynamic.ResourceInterface {
	w.t.Helper()
	return w.c().Dynamic(w.t).Resource(r).Namespace(w.ns)
}

func (w *world) apply(r schema.GroupVersionResource, o *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := w.objects(r).Create(w.t.Context(), o, metav1.CreateOptions{}); err != nil {
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
	o, err := w.objects(r).Get(w.t.Context(), model, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	n, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
