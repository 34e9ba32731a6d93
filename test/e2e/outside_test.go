package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/promtest"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// outside are surroundings of real programs, the bot among them.
type outside struct {
	*line

	w      *world
	c      *kubetest.Cluster
	prom   *promtest.Prometheus
	am     *process
	amAddr string
	// bots are the lives of the bot.
	bots []*process
}

func (o *outside) begin(w *world) {
	w.t.Helper()
	o.w = w
	if o.c = kube.Cluster(w.t); w.alone {
		o.c = frail.Cluster(w.t)
	}
	w.api, w.slackAddr, o.amAddr = ports.ForTest(w.t), ports.ForTest(w.t), ports.ForTest(w.t)
	w.slack = fakeslack.Start(w.t, slackOptions())
	w.populate()
	targets := filepath.Join(w.dir, "vllm.json")
	options := w.fleetOptions()
	options.TargetsFile = targets
	w.fleet = fleet.Start(w.t, options).Fleet
	go w.follow(w.t.Context())
	o.alertmanager()
	o.prom = promtest.StartWith(w.t, promtest.Options{
		TargetsFiles: []string{targets}, Rules: []string{rules(w.t)}, Alertmanagers: []string{o.amAddr},
	})
	o.line = newLine(w.t, o.prom.URL)
	w.prometheus = o.url
}

func (o *outside) cluster() cluster { return o.c }

func (o *outside) kubeconfig(user string) string { return o.c.Kubeconfig(o.w.t, user) }

func (o *outside) stopServer() { o.c.StopServer(o.w.t) }

func (o *outside) startServer() { o.c.StartServer(o.w.t) }

func (o *outside) startBot() {
	w := o.w
	w.t.Helper()
	bot := start(w.t, "vllm-medic", medic,
		[]string{"SLACK_BOT_TOKEN=" + w.slack.Token(), "SLACK_SIGNING_SECRET=" + w.slack.SigningSecret()},
		"serve", "--config", w.configured())
	o.bots = append(o.bots, bot)
	bot.waitHTTP(w.t, "http://"+w.api+"/api/v1/incidents", http.StatusUnauthorized)
}

func (o *outside) killBot() { o.bots[len(o.bots)-1].end(syscall.SIGKILL) }

func (o *outside) logged() string {
	var b strings.Builder
	for _, bot := range o.bots {
		b.WriteString(bot.out.String())
	}
	return b.String()
}

func (o *outside) has(query string) { o.prom.WaitFor(o.w.t, query) }

func (o *outside) alertmanager() {
	o.w.t.Helper()
	write(o.w.t, filepath.Join(o.w.dir, "alertmanager.yml"), fmt.Sprintf(`
route:
  {receiver: vllm-medic, group_by: [namespace, model_name], group_wait: %s, group_interval: %s, repeat_interval: %s}
receivers:
  - name: vllm-medic
    webhook_configs:
      - url: "http://%s/api/v1/alertmanager"
        send_resolved: true
        http_config: {authorization: {type: Bearer, credentials: "%s"}}
`, groupWait, groupInterval, repeatInterval, o.w.api, token))
	o.startAlertmanager()
}

func (o *outside) memory() string { return filepath.Join(o.w.dir, "am") }

// startAlertmanager starts it on what it remembers.
func (o *outside) startAlertmanager() {
	o.w.t.Helper()
	o.am = start(o.w.t, "alertmanager", tools.Binary(o.w.t, "alertmanager"), nil,
		"--config.file="+filepath.Join(o.w.dir, "alertmanager.yml"), "--storage.path="+o.memory(),
		"--web.listen-address="+o.amAddr, "--cluster.listen-address=")
	o.am.waitHTTP(o.w.t, "http://"+o.amAddr+"/-/ready", http.StatusOK)
}

func (o *outside) forget() {
	o.w.t.Helper()
	o.am.end(syscall.SIGTERM)
	if err := os.RemoveAll(o.memory()); err != nil {
		o.w.t.Fatal(err)
	}
	o.startAlertmanager()
}

func (o *outside) push(labels map[string]string) {
	t := o.w.t
	t.Helper()
	pairs := make([]string, 0, len(labels))
	for k, v := range labels {
		pairs = append(pairs, fmt.Sprintf("%q:%q", k, v))
	}
	body := fmt.Sprintf(`[{"labels":{%s},"endsAt":%q}]`, strings.Join(pairs, ","),
		time.Now().Add(time.Hour).Format(time.RFC3339))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+o.amAddr+"/api/v2/alerts",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("Alertmanager answered %s %v", resp.Status, err)
	}
}
