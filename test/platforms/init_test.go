package platforms

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/setup"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/helm"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

var (
	update = flag.Bool("update", false, "write the proposed files into testdata")

	kube = kubetest.Share(kubetest.Options{AuditLog: true})
)

func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }

// TestInitProposesWhatEachPlatformHas reads with an account that may do nothing but read, each platform in its own
// namespace. The file is what people get, so all of it is compared; and check takes it as it is.
func TestInitProposesWhatEachPlatformHas(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no platforms: %v", err)
	}
	w := newWorld(t)
	var all []platform
	for _, file := range files {
		all = append(all, w.install(t, file))
	}
	prom := scraped(t, all)
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range []struct {
				golden string
				prom   string
				login  app.Login
			}{
				{"medic.yaml", prom, w.login(t)},
				{"prometheus-only.yaml", prom, app.Login{Env: "/does/not/exist/config"}},
				{"kubernetes-only.yaml", "", w.login(t)},
			} {
				want, has := p.golden[tt.golden]
				if !has {
					continue
				}
				proposed := propose(t, tt.prom, app.SetupOptions{Login: tt.login, Namespaces: []string{p.name}})
				got := string(setup.Write(proposed))
				installed(t, string(setup.WriteValues(proposed)), checked(t, got, false))
				text := strings.ReplaceAll(got, prom, "http://127.0.0.1:9090")
				if *update {
					p.write(t, tt.golden, text)
				} else if d := cmp.Diff(want, text); d != "" {
					t.Errorf("%s (-want +got):\n%s", tt.golden, d)
				}
			}
		})
	}
	t.Cleanup(func() {
		if got := kube.Cluster(t).Writes(t, kubetest.Viewer); len(got) > 0 {
			t.Errorf("init wrote: %v", got)
		}
	})
}

// propose is what init proposes.
func propose(t *testing.T, prom string, s app.SetupOptions) setup.Proposal {
	t.Helper()
	p, err := app.Setup(t.Context(), options(t, prom), s)
	if err != nil {
		t.Fatal(err)
	}
	p.At = time.Date(2026, time.November, 23, 9, 0, 0, 0, time.UTC)
	return p
}

func options(t *testing.T, prom string) app.Options {
	t.Helper()
	opts := app.Options{Catalog: builtin(t, 24*time.Hour), Logger: slog.New(slog.DiscardHandler)}
	if prom == "" {
		return opts
	}
	var err error
	opts.Config.Prometheus, err = config.PrometheusFlags{URL: prom, Timeout: 10 * time.Second}.Prometheus()
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

func builtin(t *testing.T, window time.Duration) *playbooks.Catalog {
	t.Helper()
	out, err := catalog.Load(playbooks.Options{Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checked holds a file against what check wants, without leaving anything out. Offline it does without secrets.
func checked(t *testing.T, text string, offline bool) config.Config {
	t.Helper()
	cfg, err := config.Parse("medic.yaml", []byte(text), config.Options{
		Getenv: func(string) (string, bool) { return "", false }, Offline: offline,
		Profiles: builtin(t, 0), Kubeconfig: app.CheckKubeconfig,
	})
	if err != nil {
		t.Errorf("check: %v\n%s", err, text)
	}
	return cfg
}

// installed holds what init --helm writes against the chart: it takes the values, and the bot that it installs has the
// pools, the Prometheus and the mode of the configuration, and no permission to write. An address of this machine leads
// nowhere in a pod, and is another there.
func installed(t *testing.T, values string, want config.Config) {
	t.Helper()
	var found bool
	for o := range strings.SplitSeq(string(helm.Render(t, "../../deploy/helm/vllm-medic", "medic", values)), "\n---\n") {
		var object struct {
			Kind  string
			Data  map[string]string
			Rules []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal([]byte(o), &object); err != nil {
			t.Fatal(err)
		}
		for _, r := range object.Rules {
			if slices.Contains(r.Verbs, "patch") {
				t.Errorf("the mode is dry-run, and the chart grants %+v", r)
			}
		}
		text, is := object.Data["medic.yaml"]
		if !is {
			continue
		}
		found = true
		got := checked(t, text, true)
		d := cmp.Diff(want.Pools, got.Pools)
		if isHere := strings.Contains(want.Prometheus.URL, "://127."); d != "" || got.Mode != want.Mode ||
			strings.Contains(got.Prometheus.URL, "://127.") || !isHere && got.Prometheus.URL != want.Prometheus.URL {
			t.Errorf("the chart's configuration is of mode %s, Prometheus %s; pools (-init +chart):\n%s", got.Mode,
				got.Prometheus.URL, d)
		}
	}
	if !found {
		t.Error("the chart renders no configuration")
	}
}

func TestInitSaysThatThereIsNoModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ns := kube.Cluster(t).Namespace(t)
	empty := promtest.Start(t, nil)
	for prom, words := range map[string]string{empty: "Check that Prometheus scrapes", "": "Give --prometheus URL"} {
		_, err := app.Setup(t.Context(), options(t, prom), app.SetupOptions{Login: w.login(t), Namespaces: []string{ns}})
		if nothing := new(setup.NothingError); !errors.As(err, &nothing) || !strings.Contains(err.Error(), words) {
			t.Errorf("with Prometheus %q: %v", prom, err)
		}
	}
}

// TestInitNamesWhatItMayNotRead reads with an account that has no rights at all.
func TestInitNamesWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	login := app.Login{Kubeconfig: c.Kubeconfig(t, kubetest.Bot)}
	_, err := app.Setup(t.Context(), options(t, ""), app.SetupOptions{Login: login})
	if err == nil || !strings.Contains(err.Error(), "the right to list pods in all namespaces is missing") {
		t.Errorf("%v", err)
	}
	_, err = app.Setup(t.Context(), options(t, ""), app.SetupOptions{Login: app.Login{Kubeconfig: "/does/not/exist"}})
	if err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("%v", err)
	}
}

// files of a platform's archive.
func (p platform) write(t *testing.T, name, text string) {
	t.Helper()
	a, err := txtar.ParseFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
		}
	}
	if err := os.WriteFile(p.file, txtar.Format(a), 0o600); err != nil {
		t.Fatal(err)
	}
}
