package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Options are what a configuration depends on beside its file.
type Options struct {
	// Getenv reads an environment variable; os.LookupEnv in production.
	Getenv func(string) (string, bool)
	// Profiles are the SLO profiles that a pool may name.
	Profiles Profiles
	// Scenarios are what drills can play; nil leaves their names unchecked.
	Scenarios []string
	// DryRun makes every pool a dry run.
	DryRun bool
	// AllowUnauthenticated permits a webhook without authentication on an address that is not loopback.
	AllowUnauthenticated bool
	// Offline leaves the values of secrets unread and puts a placeholder in their place: for check without the secrets at
	// hand.
	Offline bool
	// PrometheusOnly is Offline for everything but Prometheus: for a diagnosis on a machine that has no other secrets.
	PrometheusOnly bool
	// Kubeconfig says what is wrong with a kubeconfig and the context in it ("" is its current one). Nil leaves them
	// unread, as Offline and PrometheusOnly do.
	Kubeconfig func(path, context string) error
}

// Profiles are sets of targets by name; the catalog of playbooks has them.
type Profiles interface {
	Profile(name string) (incident.SLO, bool)
	ProfileNames() []string
}

// Load reads the file. What is wrong with it comes at once, as strictyaml.Problems; the Config beside them is only good
// for finding more of them, such as those in the playbooks that it names. Relative paths in the file are relative to
// it.
func Load(path string, opts Options) (Config, error) {
	data, err := boundedfile.Read(path, maxFileSize)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data, opts)
}

// maxFileSize bounds the file.
const maxFileSize = 4 << 20

// Parse is Load for bytes that have been read.
func Parse(name string, data []byte, opts Options) (Config, error) {
	l, ok := open(name, data, opts)
	if !ok {
		return Config{}, l.err()
	}
	var f file
	l.add(l.root.Decode(&f))
	l.pasted()
	cfg := l.config(f)
	cfg.File = name
	return cfg, l.err()
}

// open parses the file; false says that there is nothing in it to decode.
func open(name string, data []byte, opts Options) (*loader, bool) {
	root, err := strictyaml.Parse(name, data, maxFileSize)
	l := &loader{problems: problems{root: root}, opts: opts, dir: filepath.Dir(name), files: &reread.Set{}}
	l.add(err)
	if _, values := root.Lookup("config"); err == nil && values {
		l.at("config", "this file has values for the Helm chart, which adds what is missing. Check what the chart makes of "+
			"it: helm template deploy/helm/vllm-medic --values %s --show-only templates/configmap.yaml "+
			"| yq -r '.data[\"medic.yaml\"]' > medic.yaml", name)
		return l, false
	}
	return l, err == nil
}

// StoreURL reads where a configuration keeps its incidents, and nothing else: errors elsewhere in the file and secrets
// that are not at hand do not matter to somebody who wants to see the incidents.
func StoreURL(path string, opts Options) (string, error) {
	data, err := boundedfile.Read(path, maxFileSize)
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	l, ok := open(path, data, opts)
	if !ok {
		return "", l.err()
	}
	var f storeFile
	if section, ok := l.root.Lookup("store"); ok {
		l.add(section.Decode(&f))
	}
	raw, _ := l.store(f)
	return raw.Reveal(), l.err()
}

type loader struct {
	problems
	opts  Options
	dir   string
	files *reread.Set
}

func (l *loader) config(f file) Config {
	url, file := l.store(f.Store)
	cfg := Config{
		StoreURL:   url,
		StoreFile:  file,
		Files:      l.files,
		Prometheus: l.prometheus(f.Prometheus),
		Webhook:    l.webhook(f),
		Mode:       l.mode("mode", f.Mode, incident.ModeDryRun),
		Policy:     l.policy(f.Policy),
		Timing:     l.timing(f.Timing),
		Links:      l.links(f),
		Access:     l.access(f),
		Playbooks: Playbooks{
			Window:    cmp.Or(time.Duration(f.Playbooks.Window), 5*time.Minute),
			MaxWarmUp: time.Duration(f.Playbooks.MaxWarmUp),
		},
	}
	for n, d := range f.Playbooks.Dirs {
		if info, err := os.Stat(l.file(d)); err != nil || !info.IsDir() {
			l.at(fmt.Sprintf("playbooks.dirs[%d]", n), "%s is not a readable directory", d)
			continue
		}
		cfg.Playbooks.Dirs = append(cfg.Playbooks.Dirs, l.file(d))
	}
	if f.Kubernetes != nil {
		cfg.Kubernetes = l.kubernetes(*f.Kubernetes)
	}
	l.link("alertmanager.url", f.Alertmanager.URL)
	cfg.Slack = l.slack(f.Slack)
	cfg.Sinks = l.sinks(f.Notify)
	cfg.Listen = l.listen(f.Listen, cfg.Slack != nil && !cfg.Slack.Socket)
	if l.opts.DryRun {
		cfg.Mode = incident.ModeDryRun
	}
	l.needsCluster(cfg, "mode", f.Mode)
	cfg.Pools = l.pools(f, cfg)
	cfg.Drills = l.drills(f.Drills, cfg)
	cfg.Tracing = l.tracing(f.Tracing)
	return cfg
}

// needsCluster refuses a mode that changes something when there is no cluster to change it in: whoever wrote it would
// wait for changes that never come.
func (l *loader) needsCluster(cfg Config, path, raw string) {
	if m := incident.Mode(raw); !l.opts.DryRun && cfg.Kubernetes == nil &&
		(m == incident.ModeApprove || m == incident.ModeAuto) {
		l.at(path, "%s changes objects in Kubernetes, so it needs the section kubernetes (kubernetes: {} is the cluster "+
			"that the bot runs in); "+
			"without one use dry-run or observe", m)
	}
}

func (l *loader) prometheus(f prometheusFile) Prometheus {
	p := Prometheus{
		URL: f.URL, Headers: f.Headers, ExtraParams: f.ExtraParams, Timeout: time.Duration(f.Timeout),
		Deadline:    time.Duration(f.Deadline),
		Concurrency: f.Concurrency, HTTP: promconfig.DefaultHTTPClientConfig,
	}
	if f.URL == "" {
		l.at("prometheus.url", "is required: the bot cannot diagnose without metrics")
	} else {
		l.address("prometheus.url", f.URL, "use http_config.basic_auth")
		l.base("prometheus.url", f.URL)
	}
	const path = "prometheus.http_config"
	if b := f.HTTPConfig.BasicAuth; b != nil {
		const at = path + ".basic_auth.password"
		p.HTTP.BasicAuth = &promconfig.BasicAuth{Username: b.Username, PasswordRef: at}
		p.Refs = p.Refs.With(at, l.secret(at, b.PasswordEnv, b.PasswordFile, true, nil).Reveal)
	}
	if a := f.HTTPConfig.Authorization; a != nil {
		const at = path + ".authorization.credentials"
		p.HTTP.Authorization = &promconfig.Authorization{Type: cmp.Or(a.Type, "Bearer"), CredentialsRef: at}
		p.Refs = p.Refs.With(at, l.secret(at, a.CredentialsEnv, a.CredentialsFile, true, nil).Reveal)
	}
	if t := f.HTTPConfig.TLSConfig; t != nil {
		p.HTTP.TLSConfig = promconfig.TLSConfig{
			CAFile: l.file(t.CAFile), CertFile: l.file(t.CertFile), KeyFile: l.file(t.KeyFile), ServerName: t.ServerName,
			InsecureSkipVerify: t.InsecureSkipVerify,
		}
	}
	if f.HTTPConfig.ProxyURL != "" {
		p.HTTP.ProxyURL = promconfig.URL{URL: l.proxy(path+".proxy_url", f.HTTPConfig.ProxyURL)}
	}
	if err := p.HTTP.Validate(); err != nil {
		l.at(path, "%v", err)
	}
	if f.Concurrency < 0 || f.Concurrency > 20 {
		l.at("prometheus.concurrency", "is %d; the maximum is 20, the default concurrency of Prometheus", f.Concurrency)
	}
	return p
}

func (l *loader) policy(f policyFile) policy.Settings {
	s := policy.Defaults()
	if f.CoolDown != nil {
		s.CoolDown = time.Duration(*f.CoolDown)
	}
	if f.HourlyBudget != nil {
		s.HourlyBudget = *f.HourlyBudget
	}
	if f.DailyBudget != nil {
		s.DailyBudget = *f.DailyBudget
	}
	for _, k := range f.Automatic {
		s.Automatic = append(s.Automatic, incident.StepKind(k))
	}
	s.AutomaticUndo = f.AutomaticUndo
	for _, e := range s.Validate() {
		l.at("policy", "%s", e)
	}
	return s
}

func (l *loader) timing(f timingFile) incident.Timing {
	if d := time.Duration(f.Reopen); d > incident.MaxSnooze {
		l.at("timing.reopen", "%s is too long; at most %s", d, incident.MaxSnooze)
	}
	return incident.Timing{
		Sweep: time.Duration(f.Sweep), Lease: time.Duration(f.Lease), GroupWait: time.Duration(f.GroupWait),
		Gather:  time.Duration(f.Gather),
		Refresh: time.Duration(f.Refresh), Watch: time.Duration(f.Watch), Expire: time.Duration(f.Expire),
		Retry: time.Duration(f.Retry), GiveUp: time.Duration(f.GiveUp), RolloutPoll: time.Duration(f.RolloutPoll),
		RolloutLimit: time.Duration(f.RolloutLimit), Settle: time.Duration(f.Settle),
		VerifyEvery: time.Duration(f.VerifyEvery), VerifyFor: time.Duration(f.VerifyFor), Hold: time.Duration(f.Hold),
		Reopen: time.Duration(f.Reopen), Stale: time.Duration(f.Stale),
	}
}

func (l *loader) mode(path, raw string, fallback incident.Mode) incident.Mode {
	if raw == "" {
		return fallback
	}
	m := incident.Mode(raw)
	if raw == "drill" {
		l.at(path, "%q is the old name; use dry-run", raw)
		return incident.ModeDryRun
	}
	if !slices.Contains(incident.Modes(), m) {
		l.at(path, "%q is not a mode; the modes are observe, dry-run, approve and auto", raw)
	}
	return m
}

func (l *loader) file(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.dir, path)
}
