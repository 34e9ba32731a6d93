package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/promtest"
	"github.com/vllm-medic/vllm-medic/test/size"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// What the quickstart says is done as it says it, with these differences: the addresses are those of this machine,
// nothing is forwarded, and what the Prometheus operator would make of the AlertmanagerConfig is made here.
func TestTheQuickstartLeadsToATestMessage(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	lines := shLines(t, "../../docs/quickstart.md")
	want := []string{
		"kubectl --namespace monitoring port-forward ", "vllm-medic init ", "helm upgrade --install ",
		"kubectl --namespace llm create secret generic vllm-medic ", "vllm-medic test-alert ",
	}
	if len(lines) != len(want) {
		t.Fatalf("the quickstart has %d commands, want %d: %q", len(lines), len(want), lines)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Fatalf("command %d is %q, want one that begins with %q", i+1, line, want[i])
		}
	}
	q := newQuickstart(t)
	q.program(lines[1])
	q.release(lines[2])
	q.loaded()
	q.secret(lines[3])
	q.installed()
	b := q.start()
	q.alertmanager(b)
	before := q.replicas()
	q.program(lines[4])
	q.arrives()
	if got := q.replicas(); got != before {
		t.Errorf("%d replicas, want %d", got, before)
	}
	q.checklist()
}

// quickstart is a world in which somebody follows the quickstart: its namespace is that of the models.
type quickstart struct {
	*world

	dir, prom, am string
}

func newQuickstart(t *testing.T) *quickstart {
	t.Helper()
	c := withMonitoring(t)
	c.InstallCRD(t, kubetest.Prometheuses)
	w := &world{t: t, c: c, secrets: map[string]string{}, began: time.Now().UTC()}
	w.ns = w.c.Namespace(t)
	w.models = w.ns
	w.slack = fakeslack.Start(t, fakeslack.Options{
		SocketMode: true, PingEvery: time.Second, ClickWithin: process.Patience,
		AllowedLinks: []string{"http://", "https://"},
	})
	w.serve()
	targets := filepath.Join(t.TempDir(), "vllm.json")
	w.vllm = fleet.Start(t, fleet.Options{
		Model: model, Namespace: w.models, Scenario: "healthy", Replicas: 2, Speed: speed, TargetsFile: targets,
	})
	prom := promtest.StartWith(t, promtest.Options{TargetsFiles: []string{targets}})
	prom.WaitFor(t, `sum(rate(vllm:prompt_tokens_total[10s])) > 0`)
	q := &quickstart{world: w, dir: t.TempDir(), prom: prom.URL, am: ports.ForTest(t)}
	_, err := w.c.Dynamic(t).Resource(prometheuses).Namespace(w.ns).Create(t.Context(), operated("prod"),
		metav1.CreateOptions{})
	must(t, err)
	return q
}

var prometheuses = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheuses"}

// operated is a Prometheus as the chart kube-prometheus-stack makes it for a release of this name.
func operated(release string) *unstructured.Unstructured {
	spec := map[string]any{}
	for _, of := range []string{"rule", "serviceMonitor", "podMonitor"} {
		spec[of+"Selector"] = map[string]any{"matchLabels": map[string]any{"release": release}}
		spec[of+"NamespaceSelector"] = map[string]any{}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": prometheuses.GroupVersion().String(), "kind": "Prometheus",
		"metadata": map[string]any{"name": release + "-prometheus"}, "spec": spec,
	}}
}

// loaded looks whether the Prometheus of the cluster loads the chart's rules and monitors, which its labels decide.
func (q *quickstart) loaded() {
	q.t.Helper()
	for _, kind := range []string{"prometheusrules", "servicemonitors"} {
		all, err := q.c.Dynamic(q.t).Resource(prometheuses.GroupVersion().WithResource(kind)).Namespace(q.ns).
			List(q.t.Context(), metav1.ListOptions{LabelSelector: "release=prod"})
		must(q.t, err)
		if len(all.Items) == 0 {
			q.t.Errorf("Prometheus loads none of the %s", kind)
		}
	}
}

// here puts this machine's addresses and the workspace's IDs into a command.
func (q *quickstart) here(line string) []string {
	for old, is := range map[string]string{
		"http://127.0.0.1:9090": q.prom, "http://127.0.0.1:9093": "http://" + q.am, "C0123456789": channel,
		"T0123456789": fakeslack.TeamID, "A0123456789": fakeslack.AppID, "U0123456789": "U0ALICE0001",
		"namespace=llm": "namespace=" + q.ns, "--namespace llm": "--namespace " + q.ns,
		" values.yaml": " " + filepath.Join(q.dir, "values.yaml"),
	} {
		line = strings.ReplaceAll(line, old, is)
	}
	return strings.Fields(line)
}

// program runs a command of ours.
func (q *quickstart) program(line string) {
	q.t.Helper()
	cmd := exec.CommandContext(q.t.Context(), medic, q.here(line)[1:]...)
	cmd.Env = []string{"KUBECONFIG=" + q.c.Kubeconfig(q.t, kubetest.Admin)}
	if out, err := cmd.CombinedOutput(); err != nil {
		q.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// release runs Helm, with Slack's address and Prometheus' instead of the real ones.
func (q *quickstart) release(line string) {
	q.t.Helper()
	args := replacedOne(q.here(line)[1:], "deploy/helm/vllm-medic", folder)
	args = append(args, "--set", "config.slack.api_url="+q.slack.APIURL(), "--set", "config.prometheus.url="+q.prom)
	out, errs, err := helmAt(q.t, q.c, args...)
	if err != nil {
		q.t.Fatalf("%s: %v\n%s%s", line, err, out, errs)
	}
	for _, more := range []string{"don't arrive unless", "VllmMedicDown"} {
		if strings.Contains(out, more) {
			q.t.Errorf("who follows the quickstart has more to do:\n%s", out)
		}
	}
}

func replacedOne(words []string, old, is string) []string {
	out := slices.Clone(words)
	if i := slices.Index(out, old); i >= 0 {
		out[i] = is
	}
	return out
}

// secret runs the command with the workspace's tokens: its keys have to be those that the pod wants.
func (q *quickstart) secret(line string) {
	q.t.Helper()
	for old, is := range map[string]string{"xoxb-...": q.slack.Token(), "xapp-...": q.slack.AppToken()} {
		line = strings.ReplaceAll(line, old, is)
	}
	q.kubectl(line)
	made, err := q.c.Client(q.t).CoreV1().Secrets(q.ns).Get(q.t.Context(), "vllm-medic", metav1.GetOptions{})
	must(q.t, err)
	for key, value := range made.Data {
		q.secrets[key] = string(value)
	}
	if n := len(q.secrets["AM_TOKEN"]); n != 64 {
		q.t.Errorf("the token for Alertmanager has %d characters, want 64", n)
	}
}

// kubectl runs a command of the page in a shell, as its reader does.
func (q *quickstart) kubectl(line string) string {
	q.t.Helper()
	cmd := exec.CommandContext(q.t.Context(), "bash", "-c", strings.Join(q.here(line), " "))
	cmd.Env = append(os.Environ(), "PATH="+tools.File(q.t, "bin")+":"+os.Getenv("PATH"), "HOME="+q.dir,
		"KUBECONFIG="+q.c.Kubeconfig(q.t, kubetest.Admin))
	out, err := cmd.CombinedOutput()
	if err != nil {
		q.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// alertmanager starts a real one, with the routes of the AlertmanagerConfig below the matcher of its namespace.
func (q *quickstart) alertmanager(b bot) {
	q.t.Helper()
	o, err := q.c.Dynamic(q.t).Resource(schema.GroupVersionResource{
		Group: "monitoring.coreos.com", Version: "v1alpha1", Resource: "alertmanagerconfigs",
	}).Namespace(q.ns).Get(q.t.Context(), "vllm-medic", metav1.GetOptions{})
	must(q.t, err)
	routes, _, err := unstructured.NestedSlice(o.Object, "spec", "route", "routes")
	must(q.t, err)
	var text strings.Builder
	fmt.Fprintf(&text, "route:\n  receiver: none\n  routes:\n    - receiver: none\n      matchers: ['namespace=%q']\n"+
		"      group_wait: 1s\n      routes:\n", q.ns)
	for _, r := range routes {
		text.WriteString("        - receiver: bot\n          matchers:\n")
		all, _, err := unstructured.NestedSlice(r.(map[string]any), "matchers")
		must(q.t, err)
		for _, m := range all {
			m := m.(map[string]any)
			fmt.Fprintf(&text, "            - '%s%s%q'\n", m["name"], m["matchType"], m["value"])
		}
	}
	fmt.Fprintf(&text, "receivers:\n  - name: none\n  - name: bot\n    webhook_configs:\n"+
		"      - url: http://%s/api/v1/alertmanager\n        http_config: {authorization: {credentials: %s}}\n",
		b.api, q.secrets["AM_TOKEN"])
	file := filepath.Join(q.dir, "alertmanager.yml")
	must(q.t, os.WriteFile(file, []byte(text.String()), 0o600))
	cmd := exec.CommandContext(context.WithoutCancel(q.t.Context()), tools.Binary(q.t, "alertmanager"),
		"--config.file="+file, "--storage.path="+filepath.Join(q.dir, "am"), "--web.listen-address="+q.am,
		"--cluster.listen-address=")
	p, err := process.Start("alertmanager", q.dir, cmd)
	must(q.t, err)
	q.t.Cleanup(func() { p.Stop(syscall.SIGTERM) })
	kubetest.Eventually(q.t, "Alertmanager", func(ctx context.Context) error {
		return exec.CommandContext(ctx, tools.Binary(q.t, "amtool"), "alert", "--alertmanager.url=http://"+q.am).Run()
	})
}

// arrives waits for the message, which nobody has to decide on.
func (q *quickstart) arrives() {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), process.Patience)
	defer cancel()
	var seen string
	err := q.slack.Wait(ctx, func(s *fakeslack.Server) bool {
		return slices.ContainsFunc(s.Messages(channel), func(m fakeslack.Message) bool {
			seen = m.VisibleText()
			return strings.Contains(seen, "[TEST]") && strings.Contains(seen, "Alertmanager to this message works")
		})
	})
	if err != nil {
		q.t.Fatalf("no test message: %v; Slack shows\n%s", err, seen)
	}
	q.t.Logf("Slack shows\n%s", seen)
	for _, word := range []string{"Approve", "Scale", "Throttle"} {
		if strings.Contains(seen, word) {
			q.t.Errorf("a test says %q:\n%s", word, seen)
		}
	}
}

// checklist runs the commands below "What if nothing comes". Reading a container's log and running a program in it is a
// kubelet's work, which only a real cluster has; our own commands are in the scenarios.
func (q *quickstart) checklist() {
	q.t.Helper()
	page, err := os.ReadFile("../../docs/quickstart.md")
	must(q.t, err)
	_, list, _ := strings.Cut(string(page), "## What if nothing comes")
	want := map[string]string{
		"amtool alert query ":                              "vLLMMedicTestAlert",
		"amtool config routes test ":                       "bot",
		"kubectl --namespace monitoring get services":      "",
		"kubectl --namespace llm get pods ":                "",
		"kubectl --namespace llm describe pods ":           "",
		"kubectl --namespace llm get alertmanagerconfigs":  "vllm-medic",
		"kubectl --namespace monitoring get alertmanagers": "items:",
		"kubectl --namespace monitoring get prometheuses":  "items:",
		"kubectl --namespace llm get prometheusrules":      "vllm-medic",
	}
	for _, m := range regexp.MustCompile("`((?:kubectl|amtool) [^`]+)`").FindAllStringSubmatch(list, -1) {
		line := m[1]
		if strings.Contains(line, " logs ") || strings.Contains(line, " exec ") {
			continue
		}
		begin := ""
		for b := range want {
			if strings.HasPrefix(line, b) {
				begin = b
			}
		}
		if begin == "" {
			q.t.Errorf("%s: say what it prints", line)
			continue
		}
		if out := q.kubectl(line); !strings.Contains(out, want[begin]) {
			q.t.Errorf("%s: has no %q\n%s", line, want[begin], out)
		}
		delete(want, begin)
	}
	for begin := range want {
		q.t.Errorf("the page has no command %q", begin)
	}
}

// shLines are the lines of the sh blocks of a page.
func shLines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	var out []string
	in := false
	for line := range strings.Lines(string(b)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			in = line == "```sh"
		case in && line != "":
			out = append(out, line)
		}
	}
	return out
}
