package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
	"github.com/vllm-medic/vllm-medic/internal/bundle"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

const (
	// opsTimeout bounds each question to the listener ops.
	opsTimeout = 10 * time.Second
	// maxOps bounds each of its answers, maxLogs what is taken of the end of each log.
	maxOps  = 16 << 20
	maxLogs = 8 << 20
	// standardOutput is what names it in place of a file, for a pod in which nothing can be written or copied.
	standardOutput = "-"
	// podToken is the service account's token in a pod.
	podToken = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path
)

// supportFlags say what goes into a bundle.
type supportFlags struct {
	config, out, ops *string
	// caFile and serverName are for an ops listener with TLS.
	caFile, serverName *string
	logs               *[]string
	incidents          *int
	live               *bool
}

func supportBundle(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "support-bundle", Short: "pack what helps to find a problem, without secrets",
		Long: "Pack version, configuration, the report of check, status, metrics, recent incidents and logs into one file, " +
			"without secrets.\n\nNothing is sent anywhere. The bot may run or be down; what can't be read is left out, and " +
			"the list of contents says why.",
	}
	fs := cmd.Flags()
	f := supportFlags{
		config: configFlag(fs, t),
		out: fs.StringP("output", "o", "", "the `FILE` to write, such as bundle.tar.gz; it must not exist; - writes to "+
			"standard output"),
		ops: fs.String("ops", "", "the `URL` of the bot's ops listener; default: this machine, with the port of listen.ops "+
			"in the configuration"),
		caFile: fs.String("ca-file", "", "a `FILE` with the authority that signed the certificate of the ops listener, PEM"),
		serverName: fs.String("tls-server-name", "",
			"the `NAME` in that certificate, if it isn't the one in --ops, as with a port-forward"),
		logs:      fs.StringArray("log", nil, "a log `FILE` of the bot to include, up to its last 8 MiB; repeatable"),
		incidents: fs.Int("incidents", 20, "how many incidents to include, the newest; 0 includes none"),
		live: fs.Bool("live", false,
			"also include what check --live finds, which queries Prometheus, Kubernetes and Slack"),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *f.out == "" {
			return usageError{"support-bundle: -o FILE is required, such as -o bundle.tar.gz"}
		}
		if *f.out == standardOutput && isTerminal(t.out) {
			return usageError{"support-bundle: the bundle is an archive: redirect standard output, such as > bundle.tar.gz"}
		}
		if *f.incidents < 0 || *f.incidents > 200 {
			return usageError{"support-bundle: --incidents is a number from 0 to 200"}
		}
		return f.pack(cmd.Context(), t)
	}
	return cmd
}

// pack collects, cleans and writes, and says what is in it.
func (f supportFlags) pack(ctx context.Context, t terminal) error {
	if *f.config == "" {
		return usageError{"--config FILE is required, or set VLLM_MEDIC_CONFIG"}
	}
	raw, err := os.ReadFile(*f.config)
	if err != nil {
		return err
	}
	tc, err := trusting(*f.caFile, *f.serverName)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tc}}
	g := gatherer{
		supportFlags: f, t: t, client: client, clean: cleanerFor(t, *f.config, string(raw)), progress: newProgress(t),
	}
	to, err := g.begin()
	if err != nil {
		return err
	}
	defer to.abandon()
	g.add("version.txt", "version, commit, Go, store schema", []byte(versionLine()+"\n"), nil)
	g.items = append(g.items, bundle.Item{
		Name: "config.yaml", What: "the configuration; secrets, headers and parameters hidden", Data: g.clean.YAML(raw),
	})
	g.check(ctx)
	g.status(ctx)
	g.incidentsOf(ctx)
	for _, path := range *f.logs {
		b, err := tail(path)
		g.add("logs/"+filepath.Base(path), "log", b, err)
	}
	g.progress.at("")
	if err := to.write(g.items); err != nil {
		return err
	}
	report, name, file := t.out, *f.out, *f.out
	if file == standardOutput {
		report, name, file = t.err, "The bundle", "FILE"
	}
	say(report, "%s\n%s holds this, and no secret that is known or looks like one. Names of pools, models, namespaces, "+
		"pods and people are in it. Look through it before you send it: tar -xzf %s\n", bundle.Contents(g.items), name, file)
	return nil
}

// gatherer collects the items.
type gatherer struct {
	supportFlags

	t terminal
	// client is for the listener ops.
	client *http.Client
	clean  bundle.Cleaner
	items  []bundle.Item

	progress progress
}

// add cleans a text and adds it, or why there is none.
func (g *gatherer) add(name, what string, text []byte, err error) {
	item := bundle.Item{Name: name, What: what}
	if err != nil {
		item.Missing = string(g.clean.Text([]byte(err.Error())))
	} else {
		item.Data = g.clean.Text(text)
	}
	g.items = append(g.items, item)
}

// check adds the report of check.
func (g *gatherer) check(ctx context.Context) {
	g.progress.at("running check")
	var report bytes.Buffer
	to := g.t
	to.out = &report
	what := "the report of check"
	if *g.live {
		what = "the report of check --live"
	}
	err := checkFile(ctx, to, *g.config, config.Options{AllowUnauthenticated: true}, *g.live)
	if errors.Is(err, errFound) {
		err = nil // the report says what
	}
	g.add("check.txt", what, report.Bytes(), err)
}

// status adds what the listener ops tells.
func (g *gatherer) status(ctx context.Context) {
	g.progress.at("asking the bot")
	base, err := g.opsURL()
	for _, page := range []struct{ path, name, what string }{
		{"/healthz", "healthz.txt", "whether the loops run"},
		{"/readyz", "readyz.txt", "whether the store and Slack work"},
		{"/metrics", "metrics.txt", "the bot's metrics"},
		{"/debug/goroutines", "goroutines.txt", "what the program is doing: functions, without values"},
	} {
		var text []byte
		failure := err
		if failure == nil {
			text, failure = g.fetch(ctx, base+page.path)
		}
		g.add(page.name, page.what, text, failure)
	}
}

// opsURL is where the listener ops is.
func (g *gatherer) opsURL() (string, error) {
	if *g.ops != "" {
		return strings.TrimRight(*g.ops, "/"), nil
	}
	l, err := load(*g.config, config.Options{Offline: true, AllowUnauthenticated: true}, g.t)
	if err != nil {
		return "", errors.New("the configuration is invalid, so the address is not known; pass --ops")
	}
	host, port, err := net.SplitHostPort(l.Listen.Ops)
	if err != nil {
		return "", fmt.Errorf("listen.ops: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if _, tls := l.Listen.TLS["ops"]; tls {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

func (g *gatherer) fetch(ctx context.Context, url string) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, opsTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, errors.New("--ops is not a URL")
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the bot doesn't respond: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if body, err = io.ReadAll(io.LimitReader(resp.Body, maxOps)); err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, errors.New("this bot doesn't have it")
	}
	return fmt.Appendf(nil, "%s", body), nil
}

// incidentsOf adds the newest incidents of the store.
func (g *gatherer) incidentsOf(ctx context.Context) {
	if *g.incidents == 0 {
		return
	}
	g.progress.at("reading incidents")
	found, err := g.newest(ctx)
	if err != nil {
		g.add("incidents", "recent incidents", nil, err)
	}
	for _, inc := range found {
		item := bundle.Item{
			Name: "incidents/" + inc.ID + ".json",
			What: fmt.Sprintf("an incident of %s, %s", cmp.Or(inc.Pool, "no pool"), inc.State),
		}
		b, err := json.Marshal(inc)
		if err == nil {
			item.Data, err = g.clean.JSON(b)
		}
		if err != nil {
			item.Missing = redact.Line(err.Error())
		}
		g.items = append(g.items, item)
	}
}

func (g *gatherer) newest(ctx context.Context) (out []incident.Incident, err error) {
	url, err := config.StoreURL(*g.config, config.Options{Getenv: g.t.getenv})
	if err != nil {
		return nil, errors.New("the store is not known, because the configuration is invalid")
	}
	r, err := store.OpenReadOnly(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	list, err := r.Incidents(ctx, incident.Filter{AllPools: true, Limit: *g.incidents})
	for _, inc := range list {
		whole, err := r.IncidentWithJournal(ctx, inc.ID)
		if err != nil {
			return out, err
		}
		out = append(out, whole)
	}
	return out, err
}

// bundleFile is where the bundle goes. The file is made before anything is collected, so that nobody waits for what
// cannot be written.
type bundleFile struct {
	to      io.WriteCloser
	path    string
	written bool
}

// begin makes the file. What is there already is left alone.
func (g *gatherer) begin() (*bundleFile, error) {
	if *g.out == standardOutput {
		return &bundleFile{to: openWriter{g.t.out}}, nil
	}
	f, err := os.OpenFile(*g.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists; choose another name", *g.out)
	}
	if err != nil {
		return nil, err
	}
	return &bundleFile{to: f, path: *g.out}, nil
}

// openWriter stays open.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }

// write writes the bundle.
func (f *bundleFile) write(items []bundle.Item) error {
	err := errors.Join(bundle.Write(f.to, "vllm-medic-support", items, time.Now()), f.to.Close())
	f.written = err == nil
	return err
}

// abandon takes away a file that holds no whole bundle.
func (f *bundleFile) abandon() {
	if !f.written && f.path != "" {
		_ = f.to.Close()      // it is thrown away, and may be closed already
		_ = os.Remove(f.path) // there is nothing else to do
	}
}

// cleanerFor knows every secret that a configuration names, and those of this machine.
func cleanerFor(t terminal, path, text string) bundle.Cleaner {
	from := bundle.SourcesOf(text)
	var secrets []string
	for _, name := range append(from.Variables, "VLLM_MEDIC_TOKEN") {
		secrets = append(secrets, t.env(name))
		if !bundle.Named(name) {
			secrets = append(secrets, name)
		}
	}
	read := func(file string) string {
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		b, err := boundedfile.ReadRegular(file, boundedfile.MaxSecret) // what can't be read is in no bundle
		if err != nil {
			return ""
		}
		return string(b)
	}
	for _, file := range append(from.Files, podToken) {
		secrets = append(secrets, read(file))
	}
	for _, file := range append(from.Kubeconfigs, filepath.SplitList(t.env("KUBECONFIG"))...) {
		secrets = append(secrets, bundle.InKubeconfig(read(file))...)
	}
	return bundle.NewCleaner(secrets...)
}

// tail is the end of a file, from the beginning of a line on.
func tail(path string) (out []byte, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator's own
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := max(0, size-maxLogs)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	if out, err = io.ReadAll(io.LimitReader(f, maxLogs)); err != nil {
		return nil, err
	}
	if n := bytes.IndexByte(out, '\n'); from > 0 && n >= 0 {
		out = out[n+1:]
	}
	return out, nil
}
