// The program demo shows a whole incident on this machine, as a dry run: a real Prometheus and Alertmanager, a fleet of
// simulated vLLM engines in trouble, the bot, and a page that stands for Slack. Nothing is reached beyond loopback. It
// runs until it is interrupted.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// secrets that are none: everything listens on loopback for as long as the demo runs.
const (
	botToken    = "xoxb-fake-token"
	appToken    = "xapp-fake-token"
	viewerToken = "demo"
)

func run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	bin, err := tools.Path("bin")
	if err != nil {
		cancel()
		return err
	}
	dir, err := os.MkdirTemp("", "vllm-medic-demo-")
	if err != nil {
		cancel()
		return err
	}
	d := &demo{dir: dir, bin: bin}
	defer func() { cancel(); d.end() }()
	for _, step := range []func(context.Context) error{d.build, d.start} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Printf(`
The page that stands for Slack:  %s
The bot's own page:              http://%s/   (any user, password %q)

The fleet is overloaded. Within a minute Prometheus's rules fire, Alertmanager posts, and the incident appears on the
first page. It is a dry run without Kubernetes: every reading is real, the steps say what could not be read, and
nothing is changed.
Ctrl-C ends it.
`, d.slack, d.api, viewerToken)
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.failed:
		return err
	}
}

// demo is what runs.
type demo struct {
	dir, bin   string
	slack, api string
	mu         sync.Mutex
	ending     bool
	running    []*exec.Cmd
	wg         sync.WaitGroup
	failed     chan error
}

func (d *demo) build(ctx context.Context) error {
	for _, pkg := range []string{"./cmd/vllm-medic", "./test/fakeslack/cmd/fakeslack"} {
		if _, err := program.Build(ctx, d.dir, pkg); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) start(ctx context.Context) error {
	d.failed = make(chan error, 8)
	var prom, am, ops string
	for _, a := range []*string{&d.api, &ops, &prom, &am} {
		addr, err := freeAddr(ctx)
		if err != nil {
			return err
		}
		*a = addr
	}
	secrets := []string{
		"SLACK_BOT_TOKEN=" + botToken, "SLACK_APP_TOKEN=" + appToken,
		"VIEWER_TOKEN=" + viewerToken,
	}
	var err error
	d.slack, err = d.program(ctx, secrets, filepath.Join(d.dir, "fakeslack"), "--listen", "127.0.0.1:0",
		"--socket-mode", "--app-token-env", "SLACK_APP_TOKEN", "--token-env", "SLACK_BOT_TOKEN")
	if err != nil {
		return err
	}
	targets := filepath.Join(d.dir, "vllm.json")
	if err := d.fleet(ctx, targets); err != nil {
		return err
	}
	if err := d.files(prom, am, ops, targets); err != nil {
		return err
	}
	for _, p := range []struct {
		ready string
		args  []string
	}{
		{
			"http://" + am + "/-/ready",
			[]string{
				filepath.Join(d.bin, "alertmanager"), "--config.file=" + d.path("alertmanager.yml"),
				"--storage.path=" + d.path("am"), "--web.listen-address=" + am, "--cluster.listen-address=",
			},
		},
		{
			"http://" + prom + "/-/ready",
			[]string{
				filepath.Join(d.bin, "prometheus"), "--config.file=" + d.path("prometheus.yml"),
				"--storage.tsdb.path=" + d.path("prom"), "--web.listen-address=" + prom, "--rules.alert.resend-delay=1s",
			},
		},
		{"http://" + ops + "/readyz", []string{d.path("vllm-medic"), "serve", "--dry-run", "--config", d.path("medic.yaml")}},
	} {
		if err := d.background(ctx, secrets, p.args...); err != nil {
			return err
		}
		if err := ready(ctx, p.ready); err != nil {
			return err
		}
	}
	return nil
}

// fleet serves engines that are overloaded, at thirty times the speed of real ones.
func (d *demo) fleet(ctx context.Context, targets string) error {
	f, err := fleet.New(fleet.Options{Scenario: "high-ttft", Speed: 30, TargetsFile: targets})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := f.SetAddress(l.Addr().String()); err != nil {
		return err
	}
	s := &http.Server{Handler: f, ReadHeaderTimeout: 5 * time.Second}
	d.wg.Go(func() { f.Run(ctx) })
	d.wg.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.failed <- err
		}
	})
	d.wg.Go(func() {
		<-ctx.Done()
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	})
	return nil
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// files writes what the programs read. The shipped rules look back five minutes; the fleet runs thirty times as fast,
// so ten seconds do.
func (d *demo) files(prom, am, ops, targets string) error {
	raw, err := os.ReadFile("deploy/prometheus/rules/vllm-alerts.yaml")
	if err != nil {
		return err
	}
	rules := strings.NewReplacer("[5m]", "[10s]", "for: 5m", "for: 1s", "for: 2m", "for: 1s", "for: 1m",
		"for: 1s").Replace(string(raw))
	for name, text := range map[string]string{
		"rules.yml": rules,
		"prometheus.yml": fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ["%s"]}]}]}
scrape_configs: [{job_name: vllm, file_sd_configs: [{files: ["%s"], refresh_interval: 1s}]}]
`, am, targets),
		"alertmanager.yml": fmt.Sprintf(`
route: {receiver: vllm-medic, group_by: [namespace, model_name], group_wait: 1s, group_interval: 5s}
receivers: [{name: vllm-medic, webhook_configs: [{url: "http://%s/api/v1/alertmanager"}]}]
`, d.api),
		"medic.yaml": fmt.Sprintf(`
listen: {api: "%s", ops: "%s"}
store: {url: "sqlite://%s/medic.db"}
prometheus: {url: "http://%s"}
slack:
  {channel: C0INCIDENTS, team: T0FAKE, app_id: A0FAKE, token_env: SLACK_BOT_TOKEN,
   app_token_env: SLACK_APP_TOKEN, api_url: "%s/api/"}
access: {viewer_token_env: VIEWER_TOKEN}
approvers: {default: {users: [U0ALICE]}}
playbooks: {window: 10s, max_warm_up: 1s}
timing: {group_wait: 1s, gather: 5s, refresh: 5s, watch: 5s, settle: 10s}
pools:
  - name: llama-70b
    match: {namespace: llm, model_name: llama-70b}
    matchers: {namespace: llm, model_name: llama-70b}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama-70b, container: vllm}
    knobs:
      replicas: {min: 2, max: 8}
      throttle: {kind: envoy-gateway, namespace: llm, name: llama-70b, field: maxParallelRequests, min: 16, max: 1024}
`, d.api, ops, d.dir, prom, d.slack),
	} {
		if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// program starts a program whose first line is its address, and returns that.
func (d *demo) program(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	lines := bufio.NewReader(out)
	if err := d.launch(cmd); err != nil {
		return "", err
	}
	line, err := lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s said no address: %w", filepath.Base(args[0]), err)
	}
	return strings.TrimSpace(line), nil
}

// background starts a program with a log file.
func (d *demo) background(ctx context.Context, env []string, args ...string) error {
	log, err := os.Create(d.path(filepath.Base(args[0]) + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	return d.launch(cmd)
}

func (d *demo) launch(cmd *exec.Cmd) error {
	// A Ctrl-C reaches only the demo, which ends the others in order.
	d.wg.Add(1)
	err := process.Spawn(cmd, func(err error) {
		defer d.wg.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.ending {
			d.failed <- fmt.Errorf("%s ended (%w); its log is in %s", filepath.Base(cmd.Path), err, d.dir)
		}
	})
	if err != nil {
		d.wg.Done()
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = append(d.running, cmd)
	return nil
}

// end stops the programs, the last one first, and removes the folder when all went well.
func (d *demo) end() {
	d.mu.Lock()
	failed := len(d.failed) > 0
	d.ending = true
	for _, v := range slices.Backward(d.running) {
		if err := v.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
	}
	d.mu.Unlock()
	d.wg.Wait()
	if failed {
		return
	}
	if err := os.RemoveAll(d.dir); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
}

// ready waits until an address answers 200.
func ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			code := resp.StatusCode
			if err := resp.Body.Close(); err != nil {
				return err
			}
			if code == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer", url)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
