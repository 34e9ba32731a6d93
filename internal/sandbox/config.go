package sandbox

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// What the sandbox serves and who looks after it.
const (
	modelName = "llama-70b"
	namespace = "llm"
	container = "vllm"
	channel   = "C0INCIDENTS"
	// approver is whose buttons the keyboard and the script press.
	approver = "U0ALICE"
)

// The names under which the configuration finds its secrets. They are made for each run and never printed.
const (
	envSlackToken    = "SANDBOX_SLACK_TOKEN"
	envSlackAppToken = "SANDBOX_SLACK_APP_TOKEN" //nolint:gosec // a name
	envWebhookToken  = "SANDBOX_WEBHOOK_TOKEN"   //nolint:gosec // a name
	envViewerToken   = "SANDBOX_VIEWER_TOKEN"    //nolint:gosec // a name
)

// addresses are where things listen, and what the bot is told of them.
type addresses struct {
	page, pages, kube, prometheus string
	// authority is the PEM of the certificate that the cluster shows.
	authority []byte
}

// medicYAML is the bot's configuration. What differs from production is its times: see pace.
func medicYAML(dir string, at addresses) string {
	return fmt.Sprintf(`# The configuration of the bot in the sandbox. In production the times are longer: the rules and
# the bot look back five minutes instead of ten seconds. Only group_wait is longer: in the first
# seconds of a burst one replica may have a queue and the other one none yet, which looks like a broken replica. And
# reopen is shorter still: what somebody breaks next is an incident of its own.
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}
store: {url: "sqlite://%[1]s/medic.db"}
prometheus: {url: "http://%[2]s"}
alertmanager: {auth: {bearer_token_env: %[5]s}}
kubernetes: {kubeconfig: kubeconfig.yaml}
slack:
  {mode: socket, channel: %[8]s, team: T0FAKE, app_id: A0FAKE, token_env: %[3]s,
   app_token_env: %[4]s, api_url: "http://%[7]s/api/"}
access: {viewer_token_env: %[6]s}
links: {base_url: "http://%[9]s"}
mode: approve
policy: {cool_down: 10s, hourly_budget: 100, daily_budget: 100}
approvers: {default: {users: [U0ALICE, U0BOB, U0CAROL], expire: 10m}}
playbooks: {window: %[10]s, max_warm_up: 1s}
timing:
  {group_wait: 14s, gather: 2s, refresh: 5s, watch: 2s, settle: 12s, verify_every: 2s, verify_for: 30s, hold: 8s,
   reopen: 3s, rollout_poll: 500ms, retry: 500ms}
pools:
  - name: llama-70b
    match: {namespace: llm, model_name: llama-70b}
    matchers: {namespace: llm, model_name: llama-70b}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama-70b, container: vllm}
    http_route: {namespace: llm, name: llama-70b}
    slo: {profile: chat, ttft: 2s, tpot: 150ms}
    knobs:
      replicas: {min: 2, max: 6}
      max_num_batched_tokens: {min: 2048, max: 16384}
      throttle:
        {kind: envoy-gateway, namespace: llm, name: llama-70b, field: maxParallelRequests, min: 16, max: 1024,
         revert_after: 20s}
`, dir, at.prometheus, envSlackToken, envSlackAppToken, envWebhookToken, envViewerToken, at.page, channel,
		at.pages, ruleWindow)
}

// kubeconfigYAML is how the bot reaches the simulated cluster.
func kubeconfigYAML(at addresses, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: sandbox, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: vllm-medic, user: {token: "%s"}}]
contexts: [{name: sandbox, context: {cluster: sandbox, user: vllm-medic}}]
current-context: sandbox
`, at.kube, base64.StdEncoding.EncodeToString(at.authority), token)
}

// writeFiles writes what the bot reads, for its own eyes only.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
