package chart

import (
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// one is a pool whose replicas may be changed, at a speed that suits the fleet's.
const one = `
config:
  prometheus: {url: "$PROMETHEUS"}
  slack: {channel: C0INCIDENTS, team: $TEAM, app_id: $APP, token_env: SLACK_BOT_TOKEN, app_token_env: SLACK_APP_TOKEN,
    api_url: "$SLACK"}
  mode: approve
  approvers: {default: {users: [U0ALICE], expire: 5m}}
  playbooks: {window: 10s, max_warm_up: 1s}
  timing:
    {group_wait: 1s, gather: 2s, refresh: 2s, watch: 1s, settle: 12s, verify_every: 1s, verify_for: 2m, hold: 3s,
     rollout_poll: 500ms, retry: 500ms}
  pools:
    - name: llama-70b
      match: {namespace: $MODELS, model_name: llama-70b}
      matchers: {namespace: $MODELS, model_name: llama-70b}
      workload: {apiVersion: apps/v1, kind: Deployment, namespace: $MODELS, name: llama-70b, container: vllm}
      knobs: {replicas: {min: 2, max: 8, max_step: 1}}
`

// What the chart installs is enough for a whole incident: an alert, a question in Slack over Socket Mode, an approval,
// one write with the permissions of the chart's own account, and metrics that say that it helped. On PostgreSQL there
// are two pods: the first one takes the alert, asks, and is drained; the second one does the rest.
func TestTheReleaseHealsAnIncident(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			if e.Name == "sqlite" {
				w := newWorld(t, one, map[string]string{})
				b := w.start()
				w.heals(b, b)
				return
			}
			w := newWorld(t, one+"  store: {url: null, url_env: STORE_URL}\nreplicas: 2\n",
				map[string]string{"STORE_URL": e.URL(t)})
			w.heals(w.start(), w.start())
		})
	}
}

// heals plays an incident: the first pod asks, and ends if it isn't the second.
func (w *world) heals(first, second bot) {
	w.t.Helper()
	s, err := fleet.ScenarioNamed("high-ttft")
	must(w.t, err)
	must(w.t, w.vllm.Fleet.Apply(s))
	w.t.Logf("at rest the bot has %d MiB of memory", w.memory(first, "VmRSS:")>>20)
	w.alert(first, "vLLMHighTTFT", "firing")
	w.button("Scale", "")
	if first != second {
		first.Stop(syscall.SIGTERM)
	}
	if got := w.replicas(); got != 2 {
		w.t.Errorf("before the approval the Deployment has %d replicas, want 2", got)
	}
	w.clicks("U0ALICE", "Scale")
	w.says("Fixed: ")
	if got := w.replicas(); got != 3 {
		w.t.Errorf("the Deployment has %d replicas, want 3", got)
	}
	w.alert(second, "vLLMHighTTFT", "resolved")
	w.says("Closed: ")
	w.fits(second)
}

// create makes a Deployment on the API server.
func create(t *testing.T, c *kubetest.Cluster, namespace string, o map[string]any) {
	t.Helper()
	_, err := c.Dynamic(t).Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(namespace).Create(
		t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	must(t, err)
}
