package crash

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

const (
	channel = "C0INCIDENTS"
	token   = "webhook-token-for-this-test"
	alice   = "U0ALICE"
)

// run is one incident from the webhook to its end, with its own objects, its own Slack and its own bot.
type run struct {
	t    *testing.T
	c    *kubetest.Cluster
	name string
	ns   string
	dir  string
	// patience bounds every wait. It is only ever reached by a failure.
	patience time.Duration
	slack    *fakeslack.Server
	api      string
	began    time.Time // of the alert
	env      []string

	mu    sync.Mutex
	cmd   *exec.Cmd
	out   bytes.Buffer
	kills int
	ended chan struct{}
	done  bool
}

func newRun(t *testing.T, f *fleet, p *promtest.Prometheus, mode, at string) *run {
	t.Helper()
	r := &run{t: t, c: kube.Cluster(t), dir: t.TempDir(), patience: process.Patience, ended: make(chan struct{})}
	r.ns = r.c.Namespace(t)
	r.name = "m-" + r.ns
	r.slack = fakeslack.Start(t, fakeslack.Options{AllowedLinks: []string{"http://", "https://"}})
	r.create(deployments, deployment(r.ns, r.name))
	r.create(policies, policy(r.ns, r.name))
	f.begin(r)
	t.Cleanup(func() { f.end(r) })
	p.WaitFor(t, fmt.Sprintf(`vllm:num_requests_waiting{model_name=%q} == 40`, r.name))
	var slackAddr string
	r.api, slackAddr = ports.ForTest(t), ports.ForTest(t)
	r.slack.SetInteractivityURL("http://" + slackAddr + "/api/v1/slack/interactions")
	config := filepath.Join(r.dir, "medic.yaml")
	r.file("am-token", token)
	r.file("medic.yaml", r.config(p.URL, slackAddr))
	r.env = append(os.Environ(), envConfig+"="+config, envMode+"="+mode, envAt+"="+at, envPoints+"="+r.pointsFile(),
		envStore+"="+r.database(),
		"SLACK_BOT_TOKEN="+r.slack.Token(), "SLACK_SIGNING_SECRET="+r.slack.SigningSecret())
	if mode == everywhere {
		r.patience = 2 * process.Patience // every point once more from the start
	}
	go r.supervise()
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Logf("the bot was killed %d times and said:\n%s\nSlack shows:\n%s", r.kills, r.out.String(), r.story())
		}
	})
	return r
}

func (r *run) database() string { return filepath.Join(r.dir, "medic.db") }

func (r *run) pointsFile() string { return filepath.Join(r.dir, "points") }

func (r *run) file(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) config(prometheus, slackAddr string) string {
	return fmt.Sprintf(`
listen: {api: "%s", ops: "127.0.0.1:0", slack: "%s"}
store: {url: "sqlite://%s"}
prometheus: {url: "%s"}
alertmanager: {auth: {bearer_token_file: am-token}}
kubernetes: {kubeconfig: "%s"}
slack:
  {mode: http, channel: %s, team: %s, app_id: %s, token_env: SLACK_BOT_TOKEN, signing_secret_env: SLACK_SIGNING_SECRET,
   api_url: "%s"}
mode: approve
approvers: {default: {users: [%s], expire: 30m}}
timing:
  {sweep: 200ms, group_wait: 10ms, gather: 300ms, refresh: 1h, watch: 400ms, settle: 600ms, verify_every: 400ms,
   verify_for: 1200ms,
   hold: 1s, rollout_poll: 200ms, retry: 300ms}
pools:
  - name: %s
    match: {model_name: %s}
    matchers: {model_name: %s}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: %s, name: %s, container: vllm}
    knobs:
      replicas: {min: 2, max: 8}
      throttle:
        {kind: envoy-gateway, namespace: %s, name: %s, field: maxParallelRequests,
         min: 16, max: 1024, revert_after: 600ms}
`, r.api, slackAddr, r.database(), prometheus, r.c.Kubeconfig(r.t, bot), channel, fakeslack.TeamID, fakeslack.AppID,
		r.slack.APIURL(), alice, r.name, r.name, r.name, r.ns, r.name, r.ns, r.name)
}

func (r *run) create(g schema.GroupVersionResource, o map[string]any) {
	r.t.Helper()
	u := &unstructured.Unstructured{Object: o}
	if _, err := r.c.Dynamic(r.t).Resource(g).Namespace(r.ns).Create(r.t.Context(), u,
		metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func deployment(ns, name string) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": ns},
		"spec": map[string]any{
			"replicas": int64(replicas), "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec": map[string]any{
					"nodeName": kubetest.Node,
					"containers": []any{map[string]any{
						"name": "vllm", "image": "vllm/vllm-openai:v0.20.0",
						"args": []any{"--model=m"},
					}},
				},
			},
		},
	}
}

func policy(ns, name string) map[string]any {
	return map[string]any{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"name": name, "namespace": ns},
		"spec": map[string]any{
			"targetRefs":     []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name}},
			"circuitBreaker": map[string]any{"maxParallelRequests": int64(limit)},
		},
	}
}

// supervise starts the bot, and again whenever it was killed, as the kubelet would. A child of mode once has its point
// behind it then.
func (r *run) supervise() {
	defer close(r.ended)
	for {
		cmd := exec.CommandContext(context.WithoutCancel(r.t.Context()), os.Args[0])
		cmd.Env, cmd.Stdout, cmd.Stderr = r.env, lockedWriter{r}, lockedWriter{r}
		r.mu.Lock()
		if r.done {
			r.mu.Unlock()
			return
		}
		began, ended := r.out.Len(), make(chan error, 1)
		err := process.Spawn(cmd, func(err error) { ended <- err })
		r.cmd = cmd
		r.mu.Unlock()
		if err != nil {
			r.t.Errorf("start the bot: %v", err)
			return
		}
		err = <-ended
		by := endedBy(err)
		if by == syscall.SIGKILL {
			r.mu.Lock()
			r.kills++
			r.mu.Unlock()
			r.env = slices.DeleteFunc(r.env, func(s string) bool { return strings.HasPrefix(s, envAt+"=") })
			continue
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		// One that is asked to stop in its first moments, before it listens for that, dies of the signal. It has said and
		// done nothing yet.
		newborn := by == syscall.SIGTERM && r.out.Len() == began
		if !r.done || err != nil && !newborn {
			r.t.Errorf("the bot ended by itself: %v", err)
		}
		return
	}
}

// endedBy is the signal that a process died of, as its Wait tells it, or none.
func endedBy(err error) syscall.Signal {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		return 0
	}
	return exit.Sys().(syscall.WaitStatus).Signal()
}

// stop ends the bot in order. It may be called twice.
func (r *run) stop() {
	r.mu.Lock()
	r.done = true
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	r.mu.Unlock()
	<-r.ended
}

type lockedWriter struct{ r *run }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return w.r.out.Write(p)
}

// until tries again while the bot is dead or has not done it yet.
func (r *run) until(what string, try func(ctx context.Context) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), r.patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !try(ctx) {
		select {
		case <-r.ended:
			r.t.Fatalf("the bot is gone for good, in vain: %s", what)
		case <-ctx.Done():
			r.t.Fatalf("in vain: %s", what)
		case <-tick.C:
		}
	}
}

// post plays Alertmanager: it repeats the notification until it is taken.
func (r *run) post(status string, ends time.Time) {
	r.t.Helper()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	body := fmt.Sprintf(`{"version":"4","groupKey":"{}:%s","receiver":"medic","status":%q,"alerts":[{"status":%q,
"labels":{"alertname":"vLLMQueueBacklog","model_name":%q,"severity":"warning"},"annotations":{},
"startsAt":%q,"endsAt":%q,"fingerprint":"00000000000000f1"}]}`,
		r.name, status, status, r.name, r.began.Format(time.RFC3339Nano), ends.Format(time.RFC3339Nano))
	r.until("the webhook", func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.api+"/api/v1/alertmanager",
			strings.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		if resp.StatusCode/100 == 4 {
			r.t.Fatalf("the webhook was refused: %s", resp.Status)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return errors.Join(err, resp.Body.Close()) == nil && resp.StatusCode == http.StatusOK
	})
}

func (r *run) story() string {
	var b strings.Builder
	for _, m := range r.slack.Messages(channel) {
		fmt.Fprintf(&b, "message:\n%s\nthread:\n", m.VisibleText())
		for _, reply := range r.slack.Thread(channel, m.TS) {
			fmt.Fprintf(&b, "  %s\n", reply.Text)
		}
	}
	return b.String()
}

// healed is the whole incident: throttle, which helps a little; scale out, which heals; the bot reverts the throttle;
// it closes.
func (r *run) healed() {
	r.t.Helper()
	r.post("firing", time.Time{})
	r.approve("Throttle")
	r.approve("Scale")
	r.until("the undo", func(context.Context) bool { return r.says("Reverted as planned: ") })
	r.ends()
}

// takenBack is an incident in which a person undoes the throttle, and scales out then.
func (r *run) takenBack() {
	r.t.Helper()
	r.post("firing", time.Time{})
	r.approve("Throttle")
	r.until("the verdict", func(context.Context) bool { return r.says("Improved: ") })
	r.undo()
	r.until("the way back", func(context.Context) bool { return r.says("Rolled back: ") })
	r.approve("Scale")
	r.until("the recovery", func(context.Context) bool { return r.says("Fixed: ") })
	r.ends()
}

// ends resolves the alert, waits for the end of the incident, and ends the bot.
func (r *run) ends() {
	r.t.Helper()
	r.post("resolved", time.Now())
	// The message is drawn a last time after the thread is complete.
	r.until("the end", func(context.Context) bool {
		return r.says("Closed: ") && strings.Contains(r.story(), ": resolved in ")
	})
	r.settled()
	r.stop()
}

// openDatabase reads a bot's database beside it.
func openDatabase(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
}

// settled waits until nothing more is to be sent: a bot that is killed at its very last commit has to start once more.
func (r *run) settled() {
	r.t.Helper()
	r.until("an empty outbox", func(ctx context.Context) bool {
		db, err := openDatabase(r.database())
		if err != nil {
			r.t.Fatal(err)
		}
		var waiting int
		err = db.QueryRowContext(ctx,
			"SELECT count(*) FROM messages WHERE wanted > sent OR thread_wanted > thread_sent").Scan(&waiting)
		if err := errors.Join(err, db.Close()); err != nil {
			r.t.Fatal(err)
		}
		return waiting == 0
	})
}
