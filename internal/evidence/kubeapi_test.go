package evidence

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// startKube runs a real etcd and kube-apiserver without controllers, so that the test decides every status, and returns the administrator's and
// the bot's way in.
func startKube(t *testing.T) (admin, bot *rest.Config) {
	t.Helper()
	dir := t.TempDir()
	ports := freePorts(t, 3)
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	runTool(t, dir, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(dir, "sa.key")
	writeFile(t, private, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	tokens := filepath.Join(dir, "tokens.csv")
	writeFile(t, tokens, []byte("admintoken,admin,admin,\"system:masters\"\n"+kubeToken+",bot,bot,\"\"\n"))
	host := fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	runTool(t, dir, "kube-apiserver", "--etcd-servers="+etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]),
		"--cert-dir="+filepath.Join(dir, "certs"), "--service-cluster-ip-range=10.0.0.0/24", "--service-account-key-file="+private,
		"--service-account-signing-key-file="+private, "--service-account-issuer="+host, "--api-audiences="+host, "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount", "--allow-privileged=true")
	admin = &rest.Config{Host: host, BearerToken: "admintoken", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 200, Burst: 200}
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	bot = rest.CopyConfig(admin)
	bot.BearerToken = kubeToken
	return admin, bot
}

const kubeToken = "bot-hunter2-token"

func runTool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(promtest.Binary(t, name), args...) //nolint:gosec,noctx // a tool of the tests; the cleanup ends it
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if b, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s said:\n%s", name, b[max(0, len(b)-4000):])
		}
		_ = log.Close()
	})
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed again at once
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v", what, err)
		case <-tick.C:
		}
	}
}
