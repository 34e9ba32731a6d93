package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// planted are secrets of every kind that a bot meets, none of which may be in a bundle.
var planted = map[string]string{
	"environment variable":      "planted-Env-9f3a71c2",
	"file":                      "planted-File-0b77e1d4",
	"store password":            "planted-Store-c41d88",
	"receiver path":             "planted-Hook-Zk2Qw81",
	"slack bot token":           "xoxb-111111111111-222222222222-plantedBotToken0000",
	"slack app token":           "xapp-1-A0111111-333333333333-plantedappaaaabbbb",
	"slack token of nobody":     "xoxp-444444444444-555555555555-plantedOtherToken1",
	"Vault token of nobody":     "hvs." + "CAESIJ0123456789abcdefABCDplanted",
	"Groq key of nobody":        "gsk_" + "0123456789abcdefABCDEFplanted",
	"kubernetes token":          "eyJhbGciOiJSUzI1NiJ9.eyJwbGFudGVkIjoiazhzLXRva2VuIn0.c2lnbmF0dXJlLXBsYW50ZWQ",
	"kubeconfig token":          "planted-kubeconfig-77aa",
	"kubeconfig key":            "cGxhbnRlZC1rZXktZGF0YS1vZi1hLWNsaWVudA==",
	"user in a URL":             "planted-UrlPass-51",
	"annotation":                "planted annotation with no sign of a secret",
	"label":                     "planted-label-value",
	"password in an annotation": "plantedHunter2",
	"reason of a person":        "planted-apikey-3321aabbccdd",
	"setting written itself":    "planted-inline-5151",
	"comment":                   "planted-comment-9922ffee",
	"header":                    "planted-header-6161",
	"parameter":                 "planted-param-7171",
	"variable name":             "planted_not_a_name_8181",
	"argument of vLLM":          "planted-hf-token-4242",
	"PEM block":                 "cGxhbnRlZFBFTWJsb2NrcGxhbnRlZFBFTWJsb2Nr",
}

// plantedConfig names some secrets rightly, and has others where none belong.
func plantedConfig(dir string) string {
	return fmt.Sprintf(`# token: %s
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:1"}
store: {url: "sqlite://%s/medic.db"}
prometheus:
  url: "http://medic:%s@prometheus:9090"
  http_config: {authorization: {credentials_file: secret.txt}}
  headers: {X-Api: %s}
  extra_params: {key: %s}
alertmanager: {auth: {bearer_token_env: HOOK, bearer_token: "%s"}}
slack: {channel: C1, token_env: SLACK, app_token_env: APP}
access: {viewer_token_env: %s}
kubernetes: {kubeconfig: kube.yaml}
notify: [{name: hook, kind: teams, url_env: TEAMS, secret_env: PG}]
pools:
  - name: llama-70b
    matchers: {model_name: llama-70b}
    knobs: {max_num_batched_tokens: {min: 1024, max: 16384}}
`, planted["comment"], dir, planted["user in a URL"], planted["header"], planted["parameter"],
		planted["setting written itself"], planted["variable name"])
}

// plantedIncident has secrets wherever alerts, people and the cluster write.
func plantedIncident(now time.Time) (incident.Incident, []incident.Entry) {
	inc := incident.New("inc-planted", "llama-70b", incident.ModeApprove, false, now)
	inc.Alerts = []incident.Alert{{
		Fingerprint: "f", Firing: true, StartsAt: now, SeenAt: now,
		Labels: map[string]string{"alertname": "vLLMHighTTFT", "namespace": "llm", "note": planted["label"]},
		Annotations: map[string]string{
			"description": planted["annotation"], "runbook_url": "https://u:" + planted["user in a URL"] + "@wiki/x",
		},
		GeneratorURL: "http://medic:" + planted["user in a URL"] + "@prometheus/graph?token=" +
			planted["environment variable"],
	}}
	inc.Note = "the API server says: Bearer " + planted["kubernetes token"]
	inc.Cluster.Error = "dial " + planted["store password"] + ": password: " + planted["password in an annotation"]
	inc.Plan = &incident.Plan{Steps: []incident.Step{{
		ID: "p1-s1", Title: "x", Diff: "-  --hf-token=" + planted["argument of vLLM"] + "\n+  --max-num-seqs=8",
	}}}
	return inc, []incident.Entry{
		{At: now, Kind: incident.KindAlerts, Text: "post to " + planted["receiver path"] + " failed"},
		{At: now, Kind: incident.KindClosed, Text: "closed: api_key=" + planted["reason of a person"]},
	}
}

func plantedBot(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			_, _ = fmt.Fprintf(w, "vllm_medic_store_up 1\nforeign{token=%q} 1\n", planted["file"])
		case "/readyz":
			_, _ = fmt.Fprintf(w, "ready\nSlack doesn't work: %s\n", planted["slack token of nobody"])
		case "/healthz":
			_, _ = io.WriteString(w, "ok\n")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// unpacked are the files of an archive by their names.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode != 0o600 {
			t.Errorf("%s has the mode %o", h.Name, h.Mode)
		}
		out[strings.TrimPrefix(h.Name, "vllm-medic-support/")] = string(text)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASupportBundleHoldsNoSecret(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	writeFiles(t, dir, map[string]string{
		"medic.yaml": plantedConfig(dir), "secret.txt": planted["file"] + "\n",
		"kube.yaml": "users: [{user: {token: " + planted["kubeconfig token"] + ", client-key-data: " +
			planted["kubeconfig key"] + "}}]",
		"medic.log": "level=INFO msg=start\nlevel=WARN err=\"" + planted["environment variable"] + " and " +
			planted["kubeconfig token"] + "\"\nAuthorization: Bearer " + planted["kubernetes token"] + "\n" +
			"-----BEGIN RSA PRIVATE KEY-----\n" + planted["PEM block"] + "\n-----END RSA PRIVATE KEY-----\n" +
			"key " + planted["kubeconfig key"] + " slack " + planted["slack token of nobody"] + "\n" +
			"denied for " + planted["Vault token of nobody"] + ", then 401 with " + planted["Groq key of nobody"] + "\n",
	})
	s, err := store.Open(t.Context(), "sqlite://"+filepath.Join(dir, "medic.db"), store.Options{
		ChannelFor: func(string) string { return "" }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	inc, lines := plantedIncident(now)
	if err := errors.Join(s.Commit(t.Context(), incident.Change{Incident: inc, Entries: lines}), s.Close()); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"HOOK": planted["environment variable"], "SLACK": planted["slack bot token"], "APP": planted["slack app token"],
		"TEAMS":            "https://hooks.example.com/" + planted["receiver path"],
		"VLLM_MEDIC_TOKEN": planted["kubernetes token"], "PG": "postgres://medic:" + planted["store password"] + "@db/medic",
	}
	var out, errs bytes.Buffer
	to := filepath.Join(dir, "bundle.tar.gz")
	code := run(t.Context(), []string{
		"support-bundle", "--config", filepath.Join(dir, "medic.yaml"), "-o", to, "--ops", plantedBot(t).URL,
		"--log", filepath.Join(dir, "medic.log"), "--log", filepath.Join(dir, "nowhere.log"),
	}, terminal{
		in: strings.NewReader(""), out: &out, err: &errs,
		getenv: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	})
	if code != exitDone {
		t.Fatalf("exit code %d: %s%s", code, &out, &errs)
	}
	files := unpacked(t, to)
	files["the terminal"] = out.String() + errs.String()
	for name, text := range files {
		for kind, secret := range planted {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the %s: %s", name, kind, text)
			}
		}
	}
	for name, want := range map[string][]string{
		"version.txt":                {"vllm-medic ", "store schema"},
		"config.yaml":                {"llama-70b", "max: 16384", "bearer_token_env: HOOK", "credentials_file: secret.txt"},
		"check.txt":                  {"prometheus.url: must not hold a password", "errors in "},
		"metrics.txt":                {"vllm_medic_store_up 1"},
		"healthz.txt":                {"ok"},
		"readyz.txt":                 {"Slack doesn't work"},
		"incidents/inc-planted.json": {`"alertname": "vLLMHighTTFT"`, `"namespace": "llm"`, "--max-num-seqs=8", "[left out]"},
		"logs/medic.log":             {"level=INFO msg=start"},
		"CONTENTS.txt":               {"goroutines.txt", "this bot doesn't have it", "logs/nowhere.log", "no such file"},
		"the terminal": {
			"incidents/inc-planted.json", "an incident of llama-70b, received", "before you send it",
		},
	} {
		for _, w := range want {
			if !strings.Contains(files[name], w) {
				t.Errorf("%s does not hold %q: %s", name, w, files[name])
			}
		}
	}
}

func TestASupportBundleReplacesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"medic.yaml": "pools: []\n", "mine.txt": "mine"})
	var errs bytes.Buffer
	code := run(t.Context(), []string{
		"support-bundle", "--config", filepath.Join(dir, "medic.yaml"), "-o", filepath.Join(dir, "mine.txt"),
		"--ops", "http://127.0.0.1:1",
	}, terminal{
		in: strings.NewReader(""), out: io.Discard, err: &errs,
		getenv: func(string) (string, bool) { return "", false },
	})
	b, err := os.ReadFile(filepath.Join(dir, "mine.txt"))
	said := strings.Contains(errs.String(), "exists; choose another name")
	if err != nil || string(b) != "mine" || code != exitFail || !said {
		t.Errorf("%v %q %d %s", err, b, code, &errs)
	}
}

// Whoever waits for a bundle must not learn at the end that there is no place for it: nothing is collected then.
func TestASupportBundleLooksForItsPlaceFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"medic.yaml": "pools: []\n", "mine.txt": "mine"})
	ops := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the bot was asked") }))
	t.Cleanup(ops.Close)
	for _, out := range []string{filepath.Join(dir, "mine.txt"), filepath.Join(dir, "nowhere", "bundle.tar.gz"), dir} {
		code, _, errs := call{args: []string{
			"support-bundle", "--config", filepath.Join(dir, "medic.yaml"), "-o", out, "--ops", ops.URL,
		}}.run(t)
		if code != exitFail || !strings.Contains(errs, out) {
			t.Errorf("-o %s: exit %d, %q", out, code, errs)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// A bot whose listener ops has TLS is read like any other once its authority is named, and not before.
func TestASupportBundleReadsAListenerWithTLS(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "vllm_medic_store_up 1\n")
	}))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	writeFiles(t, dir, map[string]string{"medic.yaml": "pools: []\n", "ca.crt": string(ca), "no.crt": "none"})
	named := slices.Clip([]string{"--ca-file", dir + "/ca.crt", "--tls-server-name"})
	for name, tt := range map[string]struct {
		flags []string
		code  int
		// metrics is part of metrics.txt, said of the list of contents or of the error.
		metrics, said string
	}{
		"its authority":             {[]string{"--ca-file", dir + "/ca.crt"}, exitDone, "vllm_medic_store_up 1", ""},
		"a name in its certificate": {append(named, "example.com"), exitDone, "vllm_medic_store_up 1", ""},
		"another name":              {append(named, "medic"), exitDone, "", "not medic"},
		"those of this machine":     {nil, exitDone, "", "unknown authority"},
		"a file without a cert":     {[]string{"--ca-file", dir + "/no.crt"}, exitFail, "", "no.crt holds no certificate"},
		"a file that doesn't exist": {[]string{"--ca-file", dir + "/none"}, exitFail, "", "--ca-file: open "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			to := filepath.Join(t.TempDir(), "bundle.tar.gz")
			code := run(t.Context(), append([]string{
				"support-bundle", "--config", filepath.Join(dir, "medic.yaml"), "-o", to, "--ops", srv.URL, "--incidents", "0",
			}, tt.flags...), terminal{
				in: strings.NewReader(""), out: &out, err: &errs,
				getenv: func(string) (string, bool) { return "", false },
			})
			said := out.String() + errs.String()
			if code != tt.code || !strings.Contains(said, tt.said) {
				t.Fatalf("exit code %d, want %d with %q: %s", code, tt.code, tt.said, said)
			}
			if tt.code != exitDone {
				return
			}
			if got := unpacked(t, to)["metrics.txt"]; !strings.Contains(got, tt.metrics) || (got == "") != (tt.metrics == "") {
				t.Errorf("the metrics are %q", got)
			}
		})
	}
}
