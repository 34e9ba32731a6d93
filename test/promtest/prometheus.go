package promtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// Target is something that Prometheus scrapes.
type Target struct {
	// Address is host:port and becomes the instance label, unless Labels sets one.
	Address string
	// Path is /metrics when empty.
	Path string
	// Job is "vllm" when empty.
	Job string
	// Labels are put on all series of the target, as a pod's labels would be.
	Labels map[string]string
}

// Options are what a test may want beyond targets and one rule file.
type Options struct {
	Targets []Target
	// Rules are the texts of rule files.
	Rules []string
	// TargetsFiles are paths of file_sd files, which the test or a fleet may rewrite.
	TargetsFiles []string
	// Alertmanagers are host:port.
	Alertmanagers []string
	// ScrapeInterval is also the interval of rules; 1 s when zero.
	ScrapeInterval time.Duration
	// ExternalLabels are put on what leaves this Prometheus, such as for Thanos.
	ExternalLabels map[string]string
	// Args are further arguments of the prometheus command.
	Args []string
}

// Prometheus is a running process.
type Prometheus struct {
	// URL is its address without a slash at the end.
	URL string

	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
}

// Start runs Prometheus with these targets and rule files until the test ends, and returns its address when it is
// ready. The targets are scraped every second; use WaitFor before relying on a sample.
func Start(t testing.TB, targets []Target, rules ...string) string {
	t.Helper()
	return StartWith(t, Options{Targets: targets, Rules: rules}).URL
}

// StartWith is Start with all options, and with a handle to stop the process before the test ends.
func StartWith(t testing.TB, o Options) *Prometheus {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := writeConfig(dir, config, o); err != nil {
		t.Fatalf("prometheus configuration: %v", err)
	}
	args := append([]string{
		"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0",
		"--rules.alert.resend-delay=1s", "--web.enable-lifecycle", "--log.level=info",
	}, o.Args...)
	//nolint:gosec,noctx // the binary is ours; its life is the test's, ended by Stop
	cmd := exec.Command(tools.Binary(t, "prometheus"), args...)
	process.Tie(cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start prometheus: %v", err)
	}
	p := &Prometheus{cmd: cmd, exited: make(chan struct{})}
	log := &lines{}
	address := make(chan string, 1)
	go p.follow(stderr, log, address)
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", log)
		}
	})
	select {
	case a := <-address:
		p.URL = "http://" + a
	case <-p.exited:
		t.Fatalf("prometheus ended at once:\n%s", log)
	case <-time.After(process.Patience):
		t.Fatalf("prometheus does not listen after %v:\n%s", process.Patience, log)
	}
	p.await(t, "readiness", func(ctx context.Context) error { return get(ctx, p.URL+"/-/ready", nil) })
	return p
}

var listening = regexp.MustCompile(`msg="Listening on".* address=(127\.0\.0\.1:\d+)`)

// follow keeps the log, finds the address in it, and notes the end of the process.
func (p *Prometheus) follow(r io.Reader, log *lines, address chan<- string) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		log.add(s.Text())
		if m := listening.FindStringSubmatch(s.Text()); m != nil {
			select {
			case address <- m[1]:
			default:
			}
		}
	}
	// Its exit status after our own signal says nothing.
	_ = p.cmd.Wait()
	close(p.exited)
}

// Stop ends the process and waits for its end. It may be called more than once.
func (p *Prometheus) Stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
	})
}

// WaitFor polls until the query gives at least one series. Comparisons filter, so "up == 1" and "sum(x) > 3" say what
// to wait for.
func (p *Prometheus) WaitFor(t testing.TB, query string) {
	t.Helper()
	WaitFor(t, p.URL, query)
}

// WaitFor is Prometheus.WaitFor for an address.
func WaitFor(t testing.TB, address, query string) {
	t.Helper()
	p := &Prometheus{URL: address}
	p.await(t, query, func(ctx context.Context) error {
		var answer struct {
			Data struct {
				Result []json.RawMessage `json:"result"`
			} `json:"data"`
		}
		if err := get(ctx, address+"/api/v1/query?query="+url.QueryEscape(query), &answer); err != nil {
			return err
		}
		if len(answer.Data.Result) == 0 {
			return errors.New("no series yet")
		}
		return nil
	})
}

// await polls until f succeeds.
func (p *Prometheus) await(t testing.TB, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v for %s: %v", process.Patience, what, err)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, address string, into any) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// writeConfig writes prometheus.yml and the rule files. JSON is YAML, so the encoder does the quoting.
func writeConfig(dir, path string, o Options) error {
	interval := o.ScrapeInterval
	if interval == 0 {
		interval = time.Second
	}
	type m = map[string]any
	var scrapes []m
	for i, target := range o.Targets {
		labels := target.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		scrapes = append(scrapes, m{
			"job_name": fmt.Sprintf("target-%d", i), "metrics_path": orElse(target.Path, "/metrics"), "honor_labels": false,
			"static_configs":  []m{{"targets": []string{target.Address}, "labels": labels}},
			"relabel_configs": []m{{"target_label": "job", "replacement": orElse(target.Job, "vllm")}},
		})
	}
	if len(o.TargetsFiles) > 0 {
		scrapes = append(scrapes,
			m{"job_name": "vllm", "file_sd_configs": []m{{"files": o.TargetsFiles, "refresh_interval": "1s"}}})
	}
	var rules []string
	for i, text := range o.Rules {
		file := filepath.Join(dir, fmt.Sprintf("rules-%d.yml", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		rules = append(rules, file)
	}
	config := m{
		"global": m{
			"scrape_interval": interval.String(), "scrape_timeout": interval.String(),
			"evaluation_interval": interval.String(), "external_labels": o.ExternalLabels,
		},
		"scrape_configs": scrapes, "rule_files": rules,
	}
	if len(o.Alertmanagers) > 0 {
		config["alerting"] = m{"alertmanagers": []m{{"static_configs": []m{{"targets": o.Alertmanagers}}}}}
	}
	b, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// lines is a log that one goroutine writes and another prints.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

// String is the log so far.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}
