package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/identity"
)

// secretToken is what must reach the bot and nobody else.
const secretToken = "s3cr3t-token-of-alice"

// listener is a bot that only notes who asks.
type listener struct {
	url string

	mu   sync.Mutex
	asks []string
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who := r.Header.Get("Authorization")
	if r.TLS != nil {
		for _, c := range r.TLS.PeerCertificates {
			who += " cert of " + c.Subject.CommonName
		}
	}
	l.mu.Lock()
	l.asks = append(l.asks, who)
	l.mu.Unlock()
	_, _ = w.Write([]byte(`{"incidents": []}`))
}

func (l *listener) asked() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.asks, "; ")
}

func plain(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

// overTLS asks for a client certificate, as the bot does, and returns the file of its authority.
func overTLS(t *testing.T) (l *listener, caFile string) {
	t.Helper()
	l = &listener{}
	srv := httptest.NewUnstartedServer(l)
	srv.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	l.url, caFile = srv.URL, filepath.Join(t.TempDir(), "bot.crt")
	save(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})), 0o600)
	return l, caFile
}

func save(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// kubeconfigOf has one context, "work", whose user is given in YAML; the cluster is one that nobody can reach.
func kubeconfigOf(t *testing.T, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	save(t, path, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: work
clusters:
- {name: c, cluster: {server: "https://cluster.example.com:6443", proxy-url: "http://proxy.example.com:1"}}
contexts:
- {name: work, context: {cluster: c, user: me}}
users:
- name: me
  user: %s
`, user), 0o600)
	return path
}

// plugin is a user whose credentials a program prints, which leaves a file behind that says that it ran, and what it
// was told.
func plugin(t *testing.T, prints string) (user, ran string) {
	t.Helper()
	dir := t.TempDir()
	ran = filepath.Join(dir, "ran")
	script := filepath.Join(dir, "login")
	// The shell alone does it: a small test finds no other program.
	save(t, script, "#!/bin/sh\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" > "+ran+
		"\nwhile IFS= read -r line; do printf '%s\\n' \"$line\"; done <<'END'\n"+prints+"\nEND\n", 0o700)
	return fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %s, interactiveMode: IfAvailable, "+
		"provideClusterInfo: true}}", script), ran
}

func credential(status string) string {
	return `{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": ` + status + `}`
}

func TestTheBotIsAskedWithThePersonsOwnToken(t *testing.T) {
	t.Parallel()
	tokenFile := filepath.Join(t.TempDir(), "token")
	save(t, tokenFile, secretToken+"\n", 0o600)
	byProgram, ran := plugin(t, credential(`{"token": "`+secretToken+`"}`))
	for name, user := range map[string]string{
		"a token": "{token: " + secretToken + "}", "a file": "{tokenFile: " + tokenFile + "}", "a program": byProgram,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bot := plain(t)
			code, out, errs := call{
				args: []string{"incidents", "list", "--kube", "--server", bot.url},
				env:  map[string]string{"KUBECONFIG": kubeconfigOf(t, user), "VLLM_MEDIC_TOKEN": "another"},
			}.run(t)
			if code != 0 || bot.asked() != "Bearer "+secretToken {
				t.Errorf("%d: the bot was asked with %q\n%s%s", code, bot.asked(), out, errs)
			}
		})
	}
	t.Cleanup(func() { // the program is told about its own cluster, and not about the bot
		info, err := os.ReadFile(ran)
		if err != nil || !strings.Contains(string(info), "https://cluster.example.com:6443") ||
			strings.Contains(string(info), "127.0.0.1") {
			t.Errorf("the program was told %s, %v", info, err)
		}
	})
}

func TestTheBotIsAskedWithThePersonsOwnCertificate(t *testing.T) {
	t.Parallel()
	authority, err := identity.NewAuthority(t.TempDir(), "cluster")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := authority.Sign(t, "alice", nil, nil)
	dir := t.TempDir()
	save(t, filepath.Join(dir, "crt"), string(cert), 0o600)
	save(t, filepath.Join(dir, "key"), string(key), 0o600)
	byProgram, _ := plugin(t, credential(fmt.Sprintf(`{"clientCertificateData": %q, "clientKeyData": %q}`, cert, key)))
	for name, user := range map[string]string{
		"files": fmt.Sprintf("{client-certificate: %s/crt, client-key: %s/key}", dir, dir),
		"data": fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}",
			base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key)),
		"a program": byProgram,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bot, ca := overTLS(t)
			args := []string{"incidents", "list", "--kube", "--kubeconfig", kubeconfigOf(t, user), "--ca-file", ca}
			code, out, errs := call{args: append(args, "--server", bot.url)}.run(t)
			if code != 0 || bot.asked() != " cert of alice" {
				t.Errorf("%d: the bot was asked with %q\n%s%s", code, bot.asked(), out, errs)
			}
			// Without TLS nobody could show it.
			code, _, errs = call{args: append(args, "--server", plain(t).url)}.run(t)
			if code != exitFail || !strings.Contains(errs, "your client certificate needs https") {
				t.Errorf("over http: %d %s", code, errs)
			}
			// The bot is known by its own authority, not by the cluster's.
			code, _, errs = call{args: append(args[:5:5], "--server", bot.url)}.run(t)
			if code != exitFail || !strings.Contains(errs, "certificate signed by unknown authority") {
				t.Errorf("an unknown bot: %d %s", code, errs)
			}
		})
	}
}

func TestAPortForwardMayNameTheBot(t *testing.T) {
	t.Parallel()
	bot, ca := overTLS(t)
	args := []string{
		"incidents", "list", "--kube", "--kubeconfig", kubeconfigOf(t, "{token: "+secretToken+"}"), "--ca-file", ca,
		"--server", bot.url, "--tls-server-name",
	}
	if code, _, errs := (call{args: append(args, "example.com")}).run(t); code != 0 { // the name that httptest has
		t.Errorf("%d %s", code, errs)
	}
	code, _, errs := call{args: append(args, "other.example.org")}.run(t)
	if code != exitFail || !strings.Contains(errs, "other.example.org") || strings.Count(bot.asked(), secretToken) != 1 {
		t.Errorf("another name: %d %s", code, errs)
	}
}

// On a machine that people share, anybody may listen where the bot would be by default.
func TestCredentialsGoOnlyToABotThatIsNamed(t *testing.T) {
	t.Parallel()
	user, ran := plugin(t, credential(`{"token": "`+secretToken+`"}`))
	kubeconfig := kubeconfigOf(t, user)
	code, _, errs := call{
		args: []string{"incidents", "list", "--kube"}, env: map[string]string{"KUBECONFIG": kubeconfig},
	}.run(t)
	if code != exitUsage || !strings.Contains(errs, "set --server or VLLM_MEDIC_SERVER") {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the login was begun")
	}
	bot := plain(t)
	code, _, errs = call{
		args: []string{"incidents", "list", "--kube"},
		env:  map[string]string{"KUBECONFIG": kubeconfig, "VLLM_MEDIC_SERVER": bot.url},
	}.run(t)
	if code != 0 {
		t.Errorf("named by the environment: %d %s", code, errs)
	}
}

// A token for a cluster may decide about all of it. Where others could read it, not even the login is begun.
func TestCredentialsDoNotTravelInTheClear(t *testing.T) {
	t.Parallel()
	user, ran := plugin(t, credential(`{"token": "`+secretToken+`"}`))
	kubeconfig := kubeconfigOf(t, user)
	for _, server := range []string{
		"http://medic.example.com", "http://10.0.0.7:8080", "http://localhost.example.com",
		"http://127.0.0.1.example.com:8080",
		"HTTP://0.0.0.0:8080", "http://[2001:db8::1]:8080", "ftp://medic.example.com",
	} {
		code, _, errs := call{
			args: []string{"incidents", "approve", "inc-1", "p1-s1", "--digest", "d", "--kube", "--server", server},
			env:  map[string]string{"KUBECONFIG": kubeconfig},
		}.run(t)
		if code != exitUsage || !strings.Contains(errs, "over plain http, where others could read them; use https") {
			t.Errorf("%s: %d %s", server, code, errs)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the login was begun")
	}
}

// The token of VLLM_MEDIC_TOKEN is in the environment of every command, and a server is easily named wrong.
func TestATokenDoesNotTravelInTheClear(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	save(t, file, secretToken, 0o600)
	for _, args := range [][]string{
		{"incidents", "list", "--server", "http://medic.example.com:8080"},
		{"incidents", "approve", "inc-1", "p1-s1", "--digest", "d", "--server", "http://10.0.0.7:8080"},
		{"pause", "--reason", "x", "--server", "http://localhost.example.com"},
		{"incidents", "list", "--server", "http://[2001:db8::1]:8080", "--token-file", file},
		{"test-alert", "--alertmanager", "http://10.0.0.7:9093", "--label", "a=b", "--token-file", file},
	} {
		code, _, errs := call{args: args, env: map[string]string{"VLLM_MEDIC_TOKEN": secretToken}}.run(t)
		if code != exitUsage || !strings.Contains(errs, "over plain http, where others could read it; use https, or kubectl "+
			"port-forward with --") || !strings.Contains(errs, "--allow-plain-http") || strings.Contains(errs, secretToken) {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
	// Whoever allows it gets as far as the connection, which is refused here: nothing listens there.
	for _, call := range []call{
		{
			args: []string{"incidents", "list", "--server", "http://0.0.0.0:1", "--allow-plain-http"},
			env:  map[string]string{"VLLM_MEDIC_TOKEN": secretToken},
		},
		{
			args: []string{"incidents", "list", "--server", "http://0.0.0.0:1"},
			env:  map[string]string{"VLLM_MEDIC_TOKEN": secretToken, "VLLM_MEDIC_ALLOW_PLAIN_HTTP": "true"},
		},
	} {
		if code, _, errs := call.run(t); code != exitFail || !strings.Contains(errs, "does not respond") {
			t.Errorf("%s: %d %s", call.args, code, errs)
		}
	}
	// A person's own credentials are never sent so, whatever is allowed.
	code, _, errs := call{args: []string{
		"incidents", "list", "--kube", "--allow-plain-http", "--server", "http://10.0.0.7:8080",
		"--kubeconfig", kubeconfigOf(t, "{token: "+secretToken+"}"),
	}}.run(t)
	if code != exitUsage || !strings.Contains(errs, "--kube doesn't send your Kubernetes credentials") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestCredentialsDoNotFollowARedirect(t *testing.T) {
	t.Parallel()
	thief := plain(t)
	srv := httptest.NewServer(http.RedirectHandler(thief.url, http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	code, _, errs := call{args: []string{
		"pause", "--reason", "x", "--kube", "--server", srv.URL,
		"--kubeconfig", kubeconfigOf(t, "{token: "+secretToken+"}"),
	}}.run(t)
	if code != exitFail || thief.asked() != "" || !strings.Contains(errs, "307 Temporary Redirect, but not like") {
		t.Errorf("%d %s; it went on to another server: %q", code, errs, thief.asked())
	}
}

func TestWhatIsNotAPersonsOwnIsRefused(t *testing.T) {
	t.Parallel()
	fails := filepath.Join(t.TempDir(), "fails")
	save(t, fails, "#!/bin/sh\necho "+secretToken+"\nexit 3\n", 0o700)
	raw, _ := plugin(t, secretToken)
	empty, _ := plugin(t, credential(`{}`))
	late, _ := plugin(t, credential(`{"token": "`+secretToken+`"}`))
	for name, tt := range map[string]struct {
		user string
		args []string
		code int
		want string
	}{
		"a password":     {"{username: me, password: " + secretToken + "}", nil, 1, "a user name and password are not"},
		"another person": {"{token: " + secretToken + ", as: bob}", nil, 1, "it acts as somebody else"},
		"another's groups": {
			"{token: " + secretToken + ", as: me, as-groups: [admins]}", nil, 1, "it acts as somebody else",
		},
		"nothing":         {"{}", nil, 1, "context work: it has neither a token nor a client certificate"},
		"no such context": {"{}", []string{"--context", "home"}, 1, `has no context "home"; it has work`},
		"no such file":    {"{}", []string{"--kubeconfig", "/no/such/file"}, 1, "/no/such/file: no such file"},
		"no such token":   {"{tokenFile: /no/such/token}", nil, 1, "/no/such/token: no such file"},
		"a program that fails": {
			"{exec: {apiVersion: client.authentication.k8s.io/v1, command: " + fails + ", interactiveMode: Never}}", nil, 1,
			"exit code 3",
		},
		"a program that is missing": {
			"{exec: {apiVersion: client.authentication.k8s.io/v1, command: /no/such/login, interactiveMode: Never}}", nil, 1,
			"/no/such/login: no such file",
		},
		"a program that must ask": {
			strings.Replace(late, "IfAvailable", "Always", 1), nil, 1, "standard input is not a terminal",
		},
		"a program that prints a bare token": {raw, nil, 1, "--kube: context work: getting credentials: decoding stdout"},
		"a program that prints nothing":      {empty, nil, 1, "didn't return a token or cert/key pair"},
		"a provider that is gone":            {"{auth-provider: {name: gcp}}", nil, 1, "gke-gcloud-auth-plugin"},
		"half a pair":                        {"{client-certificate-data: QQ==, client-key-data: QQ==}", nil, 1, "work: "},
		"two kinds":                          {"{}", []string{"--token-file", "x"}, 2, "give --kube or --token-file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bot := plain(t)
			code, out, errs := call{
				args: append([]string{"incidents", "ack", "inc-1", "--kube", "--server", bot.url}, tt.args...),
				env:  map[string]string{"KUBECONFIG": kubeconfigOf(t, tt.user)},
			}.run(t)
			if code != tt.code || !strings.Contains(errs, tt.want) || bot.asked() != "" {
				t.Errorf("%d, want %d and %q; the bot was asked with %q\n%s%s", code, tt.code, tt.want, bot.asked(), out, errs)
			}
			if strings.Contains(errs+out, secretToken) {
				t.Errorf("the token shows: %s%s", out, errs)
			}
		})
	}
	for _, args := range [][]string{{"--context", "work"}, {"--kubeconfig", "x"}} {
		code, _, errs := call{args: append([]string{"incidents", "list"}, args...), env: holder()}.run(t)
		if code != exitUsage || !strings.Contains(errs, args[0]+" needs --kube") {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}

// In a pod there is no person: its account is no answer to --kube.
func TestTheAccountOfAPodIsNobodysOwn(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	code, _, errs := call{
		args: []string{"incidents", "list", "--kube", "--server", defaultServer},
		env:  map[string]string{"KUBECONFIG": "/no/such/kubeconfig"},
	}.run(t)
	if code != exitFail || !strings.Contains(errs, "/no/such/kubeconfig has no context") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestAWholePairIsNeeded(t *testing.T) {
	t.Parallel()
	authority, err := identity.NewAuthority(t.TempDir(), "cluster")
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := authority.Sign(t, "alice", nil, nil)
	user := fmt.Sprintf("{client-certificate-data: %s}", base64.StdEncoding.EncodeToString(cert))
	code, _, errs := call{
		args: []string{"incidents", "list", "--kube", "--server", defaultServer},
		env:  map[string]string{"KUBECONFIG": kubeconfigOf(t, user)},
	}.run(t)
	if code != exitFail || !strings.Contains(errs, "--kube: ") {
		t.Errorf("%d %s", code, errs)
	}
}
