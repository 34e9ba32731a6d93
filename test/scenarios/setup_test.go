package scenarios

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// secret is a value that must never show; setup checks that no journey prints it.
const secret = "s3cr3t-of-the-journey"

// journey is what one file has beside its folder.
type journey struct {
	t   testing.TB
	bot *process
	// before are the logs of the bot's earlier lives.
	before string
	// ns is the namespace, when the file asks for one.
	ns    string
	watch dynamic.ResourceInterface
	// slack is the journey's workspace, when the file asks for one.
	slack *fakeslack.Server
	hooks hooks
	// looks counts the surveys of a Prometheus that the journey has counted.
	looks atomic.Int64
	// told is the folder with what commands have printed.
	told string
	// https asks a bot that serves HTTPS; nil when the journey's serves HTTP.
	https *http.Client
}

type journeyKey struct{}

func of(ts *testscript.TestScript) *journey { return ts.Value(journeyKey{}).(*journey) }

var reference = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

// setup fills ${NAME} in the file's YAML and JSON, and starts what the names stand for.
func setup(env *testscript.Env, m *metrics) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return errors.New("the test is not a testing.TB")
	}
	if err := needsItsSize(t, env.WorkDir); err != nil {
		return err
	}
	j := &journey{t: t, told: t.TempDir()}
	env.Values[journeyKey{}] = j
	env.Defer(func() { j.end() })
	env.Setenv("PATH", keeper+string(filepath.ListSeparator)+os.Getenv("PATH"))
	env.Setenv("TOLD", j.told)
	// A program with the race detector sleeps a second before it ends, to let races show; the journeys run it two hundred
	// times.
	env.Setenv("GORACE", "atexit_sleep_ms=10")
	env.Setenv("AM_TOKEN", secret)
	env.Setenv("VIEWER_TOKEN", secret+"-viewer")
	if err := provide(env.WorkDir); err != nil {
		return err
	}
	begun := time.Now().UTC()
	values := map[string]func() string{
		"WORK": func() string { return env.WorkDir },
		"PROM": m.address,
		// The same models under a Prometheus with alert rules, and behind a proxy that lets only queries pass.
		"PROM_RULES": m.ruled, "PROM_QUERIES": m.queries,
		// Nothing can listen on port 1 of loopback: it is reserved, and no test runs a tcpmux.
		"NOBODY": func() string { return "http://127.0.0.1:1" },
		"NS":     func() string { return j.cluster(env) },
		"SLACK":  func() string { return j.workspace(env) },
		// A program that takes what the bot posts.
		"HOOKS": func() string { return j.receiver(env) },
		// PostgreSQL beside the SQLite file that journeys have otherwise.
		"POSTGRES": func() string { return j.database(env) },
		// The setting by which the API listener serves HTTPS.
		"TLS": func() string { return j.serveHTTPS(env) }, "TLS_MOUNTED": j.mountedTLS,
		// Times of alerts: a "firing" is late news only for some minutes after the end.
		"MINUTE_AGO": func() string { return begun.Add(-time.Minute).Format(time.RFC3339) },
		"BEGIN":      func() string { return begun.Format(time.RFC3339) },
	}
	return filepath.WalkDir(env.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || (ext != ".yaml" && ext != ".json") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := reference.ReplaceAllStringFunc(string(raw), func(s string) string {
			if value, ok := values[reference.FindStringSubmatch(s)[1]]; ok {
				return value()
			}
			return s
		})
		return os.WriteFile(path, []byte(text), 0o600)
	})
}

// sizeOfFile begins a file whose journey is no medium test.
const sizeOfFile = "# size: "

// needsItsSize leaves the journey out of a run that is smaller than its file says in the first line.
func needsItsSize(t testing.TB, dir string) error {
	t.Helper()
	name := strings.TrimPrefix(filepath.Base(dir), "script-") + ".txtar"
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	text, has := strings.CutPrefix(first, sizeOfFile)
	if !has {
		return nil
	}
	var needs size.Size
	if err := needs.UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("%s:1: %w", name, err)
	}
	size.Needs(t, needs)
	return nil
}

// provide puts the files that most journeys need into the folder: the webhook's token, an alert, and medic.yaml. A
// journey brings its own file of the same name, or a medic.yaml with nothing but "# shared: NAME", which becomes
// testdata/shared/NAME.
func provide(dir string) error {
	config := "medic.yaml"
	if own, err := os.ReadFile(filepath.Join(dir, config)); err == nil {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(own)), "# shared: "); ok {
			config = name
			if err := os.Remove(filepath.Join(dir, "medic.yaml")); err != nil {
				return err
			}
		}
	}
	for name, from := range map[string]string{"medic.yaml": config, "payload.json": "payload.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "shared", from))
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(dir, name), string(b)); err != nil {
			return err
		}
	}
	return writeNew(filepath.Join(dir, "am-token"), secret+"\n")
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// serveHTTPS gives the bot a certificate, bot.crt, of the authority in bot-ca.crt.
func (j *journey) serveHTTPS(env *testscript.Env) string {
	ca, err := os.ReadFile(bots.File)
	if err != nil {
		j.t.Fatal(err)
	}
	cert, key := bots.Sign(j.t, "medic", nil, identity.Serving("medic.example.com"))
	for name, b := range map[string][]byte{"bot-ca.crt": ca, "bot.crt": cert, "bot.key": key} {
		if err := os.WriteFile(filepath.Join(env.WorkDir, name), b, 0o600); err != nil {
			j.t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	j.https = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	return "{api: {cert_file: bot.crt, key_file: bot.key}}"
}

// cluster makes the journey's namespace with the pool's Deployment, and a kubeconfig for the bot.
func (j *journey) cluster(env *testscript.Env) string {
	if j.ns != "" {
		return j.ns
	}
	c := kube.Cluster(j.t)
	j.ns = c.Namespace(j.t)
	env.Setenv("NS", j.ns)
	if err := os.Symlink(c.Kubeconfig(j.t, kubetest.Admin), filepath.Join(env.WorkDir, "kubeconfig")); err != nil {
		j.t.Fatal(err)
	}
	j.watch = c.Dynamic(j.t).Resource(schema.GroupVersionResource{
		Group: "apps", Version: "v1",
		Resource: "deployments",
	}).Namespace(j.ns)
	if _, err := j.watch.Create(j.t.Context(), deployment(), metav1.CreateOptions{}); err != nil {
		j.t.Fatal(err)
	}
	kubetest.Eventually(j.t, "two ready replicas", j.ready)
	return j.ns
}
