package chart

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

const (
	model   = "llama-70b"
	channel = "C0INCIDENTS"
	// speed is how many simulated seconds pass in one.
	speed = 30
)

// world is a release on a real API server, and what the bot talks to.
type world struct {
	t *testing.T
	c *kubetest.Cluster
	// ns is where the bot is, and models where vLLM is.
	ns, models string
	slack      *fakeslack.Server
	vllm       *fleet.Server
	// pod is the Deployment's, secrets what is in its Secret.
	pod     corev1.PodSpec
	config  string
	secrets map[string]string
	// began is when the alert began to fire.
	began time.Time
}

// newWorld installs the chart beside a healthy fleet of two replicas that follows the real Deployment.
func newWorld(t *testing.T, values string, secrets map[string]string) *world {
	t.Helper()
	w := &world{t: t, c: withMonitoring(t), secrets: secrets, began: time.Now().UTC()}
	w.ns, w.models = w.c.Namespace(t), w.c.Namespace(t)
	w.slack = fakeslack.Start(t, fakeslack.Options{
		SocketMode: true, PingEvery: time.Second, ClickWithin: process.Patience,
		AllowedLinks: []string{"http://", "https://"},
	})
	w.serve()
	targets := filepath.Join(t.TempDir(), "vllm.json")
	w.vllm = fleet.Start(t, fleet.Options{
		Model: model, Namespace: w.models, Scenario: "healthy", Replicas: 2, Speed: speed, TargetsFile: targets,
	})
	go w.follow(t.Context())
	prom := promtest.StartWith(t, promtest.Options{TargetsFiles: []string{targets}})
	prom.WaitFor(t, `sum(rate(vllm:prompt_tokens_total[10s])) > 0`)
	for old, is := range map[string]string{
		"$MODELS": w.models, "$PROMETHEUS": prom.URL, "$SLACK": w.slack.APIURL(), "$TEAM": fakeslack.TeamID,
		"$APP": fakeslack.AppID,
	} {
		values = strings.ReplaceAll(values, old, is)
	}
	secrets["SLACK_BOT_TOKEN"], secrets["SLACK_APP_TOKEN"] = w.slack.Token(), w.slack.AppToken()
	secrets["AM_TOKEN"] = "token-of-alertmanager"
	release(t, w.c, "install", w.ns, values)
	w.installed()
	return w
}

// serve makes the Deployment that the pool names.
func (w *world) serve() {
	w.t.Helper()
	var d map[string]any
	must(w.t, yaml.Unmarshal(fmt.Appendf(nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec:
      nodeName: %s
      terminationGracePeriodSeconds: 1
      containers: [{name: vllm, image: "vllm/vllm-openai:v0.20.0", args: [--max-num-seqs=256]}]
`, model, model, model, kubetest.Node), &d))
	create(w.t, w.c, w.models, d)
}

// installed reads back what the API server has of the release: the pod's specification and the configuration.
func (w *world) installed() {
	w.t.Helper()
	k := w.c.Client(w.t)
	d, err := k.AppsV1().Deployments(w.ns).Get(w.t.Context(), "vllm-medic", metav1.GetOptions{})
	must(w.t, err)
	w.pod = d.Spec.Template.Spec
	for _, v := range w.pod.Volumes {
		if v.Name != "config" {
			continue
		}
		m, err := k.CoreV1().ConfigMaps(w.ns).Get(w.t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
		must(w.t, err)
		w.config = m.Data["medic.yaml"]
	}
	if w.config == "" {
		w.t.Fatal("the pod mounts no configuration")
	}
}

// bot is one pod of the release, run on this machine.
type bot struct {
	*process.Process

	api, ops string
	// pid is the process's.
	pid int
}

// start runs the program as the pod does: with its arguments, its configuration and its environment, and as its service
// account. What is mapped is where things are: the mounted folders, the ports, and the cluster, which a pod finds by
// itself.
func (w *world) start() bot {
	w.t.Helper()
	dir := w.t.TempDir()
	b := bot{api: ports.ForTest(w.t), ops: ports.ForTest(w.t)}
	config := replaced(w.t, w.config, map[string]string{
		"api: :8080": "api: " + b.api, "ops: :8081": "ops: " + b.ops,
		"kubernetes: {}": "kubernetes: {kubeconfig: kubeconfig}",
	})
	box := w.pod.Containers[0]
	mounts := slices.SortedFunc(slices.Values(box.VolumeMounts), func(a, b corev1.VolumeMount) int {
		return len(b.MountPath) - len(a.MountPath) // one path begins another
	})
	for _, m := range mounts {
		config = strings.ReplaceAll(config, m.MountPath, filepath.Join(dir, m.Name))
		must(w.t, os.MkdirAll(filepath.Join(dir, m.Name), 0o700))
	}
	must(w.t, os.WriteFile(filepath.Join(dir, "config", "medic.yaml"), []byte(config), 0o600))
	w.kubeconfig(filepath.Join(dir, "config", "kubeconfig"))
	args := slices.Clone(box.Args)
	for n := range args {
		args[n] = strings.Replace(args[n], "/etc/vllm-medic/", filepath.Join(dir, "config")+"/", 1)
	}
	cmd := exec.CommandContext(context.WithoutCancel(w.t.Context()), medic, args...)
	cmd.Env = []string{"TMPDIR=" + filepath.Join(dir, "data")}
	w.mountSecrets(dir)
	var err error
	b.Process, err = process.Start("vllm-medic", dir, cmd)
	must(w.t, err)
	b.pid = cmd.Process.Pid
	w.t.Cleanup(func() {
		b.Stop(syscall.SIGTERM)
		if w.t.Failed() {
			log, err := os.ReadFile(filepath.Join(dir, "vllm-medic.log"))
			w.t.Logf("the bot said (%v):\n%s", err, log)
		}
	})
	for _, probe := range []*corev1.Probe{box.StartupProbe, box.LivenessProbe, box.ReadinessProbe} {
		w.answers(b, probe.HTTPGet.Path)
	}
	return b
}

// mountSecrets writes the files of the Secret's volume, as the kubelet does.
func (w *world) mountSecrets(dir string) {
	w.t.Helper()
	for _, v := range w.pod.Volumes {
		if v.Secret == nil {
			continue
		}
		for _, item := range v.Secret.Items {
			value, there := w.secrets[item.Key]
			if !there {
				w.t.Fatalf("the pod would not start: there is no %s in its Secret", item.Key)
			}
			must(w.t, os.WriteFile(filepath.Join(dir, v.Name, item.Path), []byte(value), 0o600))
		}
	}
}

// fits fails the test when the bot has ever had more memory than half of the chart's limit: the limit is there for what
// is not in this incident, such as large deliveries.
func (w *world) fits(b bot) {
	w.t.Helper()
	most, limit := w.memory(b, "VmHWM:"), w.pod.Containers[0].Resources.Limits.Memory().Value()
	w.t.Logf("the bot had at most %d MiB of memory; its limit is %d MiB", most>>20, limit>>20)
	if most > limit/2 {
		w.t.Error("that is more than half of the limit")
	}
}

// memory is a line of what the system knows of the bot's memory, in bytes.
func (w *world) memory(b bot, line string) int64 {
	w.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	must(w.t, err)
	_, rest, _ := strings.Cut(string(status), line)
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	must(w.t, err)
	return kib << 10
}

func (w *world) answers(b bot, path string) {
	w.t.Helper()
	must(w.t, b.Await(w.t.Context(), path, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.ops+path, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s %w", res.Status, err)
		}
		return nil
	}))
}

// kubeconfig writes one with a token of the pod's service account.
func (w *world) kubeconfig(path string) {
	w.t.Helper()
	rc := w.c.AdminConfig()
	must(w.t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"c": {Server: rc.Host, CertificateAuthority: rc.CAFile, CertificateAuthorityData: rc.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			"u": {Token: w.c.ServiceAccountToken(w.t, w.ns, w.pod.ServiceAccountName)},
		},
		Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	}, path))
}

// follow lets the fleet have as many replicas as the Deployment has ready pods.
func (w *world) follow(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d, err := w.c.Client(w.t).AppsV1().Deployments(w.models).Get(ctx, model, metav1.GetOptions{})
		if err == nil && d.Status.ReadyReplicas > 0 {
			if err := w.vllm.Fleet.SetReplicas(int(d.Status.ReadyReplicas)); err != nil {
				w.t.Error(err)
			}
		}
	}
}

// alert lets the bot have an alert, firing or resolved, as Alertmanager sends it.
func (w *world) alert(b bot, name, status string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"version": "4", "groupKey": "g", "status": %q, "receiver": "vllm-medic",
  "groupLabels": {"namespace": %q}, "commonLabels": {}, "commonAnnotations": {}, "externalURL": "http://alertmanager",
  "alerts": [{"status": %q, "labels": {"alertname": %q, "severity": "critical", "namespace": %q, "model_name": %q},
    "annotations": {"summary": "slow"}, "startsAt": %q, "endsAt": "0001-01-01T00:00:00Z",
    "fingerprint": "0123456789abcdef"}]}`,
		status, w.models, status, name, w.models, model, w.began.Format(time.RFC3339))
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+b.api+"/api/v1/alertmanager",
		strings.NewReader(body))
	must(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+w.secrets["AM_TOKEN"])
	res, err := http.DefaultClient.Do(req)
	must(w.t, err)
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("the webhook answered %s %v", res.Status, err)
	}
}

// replicas is what the real Deployment is set to.
func (w *world) replicas() int32 {
	w.t.Helper()
	d, err := w.c.Client(w.t).AppsV1().Deployments(w.models).Get(w.t.Context(), model, metav1.GetOptions{})
	must(w.t, err)
	return *d.Spec.Replicas
}

// button waits for one that begins with the text, and whose value is not the one that was seen.
func (w *world) button(text, seen string) (m fakeslack.Message, b fakeslack.Button) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), process.Patience)
	defer cancel()
	if err := w.slack.Wait(ctx, func(s *fakeslack.Server) bool {
		for _, m = range s.Messages(channel) {
			for _, b = range m.Buttons() {
				if b.URL == "" && strings.HasPrefix(b.Text, text) && b.Value != seen {
					return true
				}
			}
		}
		return false
	}); err != nil {
		w.t.Fatalf("no button begins with %q: %v", text, err)
	}
	return m, b
}

// clicks clicks on the button that begins with the text, again when the plan has changed under the finger.
func (w *world) clicks(user, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), process.Patience)
	defer cancel()
	for seen := ""; ; {
		m, b := w.button(text, seen)
		seen = b.Value
		res, err := w.slack.Click(ctx, fakeslack.ClickRequest{
			User: user, Channel: channel, MessageTS: m.TS, BlockID: b.BlockID, ActionID: b.ActionID,
		})
		must(w.t, err)
		answers, err := w.slack.Answered(ctx, user, res.ID, nil)
		must(w.t, err)
		if strings.HasPrefix(answers[0].Text, "Approved") {
			return
		}
		w.t.Logf("the answer to the click: %s", answers[0].Text)
	}
}

// says waits until the thread of the incident says the words.
func (w *world) says(words string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), process.Patience)
	defer cancel()
	said := func(m fakeslack.Message) bool { return strings.Contains(m.Text, words) }
	if err := w.slack.Wait(ctx, func(s *fakeslack.Server) bool {
		return slices.ContainsFunc(s.Messages(channel), func(m fakeslack.Message) bool {
			return slices.ContainsFunc(s.Thread(channel, m.TS), said)
		})
	}); err != nil {
		for _, m := range w.slack.Messages(channel) {
			w.t.Logf("Slack shows:\n%s", m.VisibleText())
		}
		w.t.Fatalf("the thread does not say %q: %v", words, err)
	}
}

// replaced replaces each text, which has to be there.
func replaced(t *testing.T, text string, with map[string]string) string {
	t.Helper()
	for old, is := range with {
		if !strings.Contains(text, old) {
			t.Fatalf("there is no %q in\n%s", old, text)
		}
		text = strings.ReplaceAll(text, old, is)
	}
	return text
}
