package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/test/machine"
	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// Start runs a cluster until the test, a medium one, ends and returns when it is ready. A cluster takes some seconds
// and some 400 MB, so tests of one package better share one: see Share.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	size.Needs(t, size.Medium)
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
	c, err := launch(t, dir, o)
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
	t.Cleanup(c.stop)
	return c
}

// launch starts everything in dir, which goes with the cluster. On an error nothing is left running.
func launch(t testing.TB, dir string, o Options) (*Cluster, error) {
	t.Helper()
	c := &Cluster{opts: o, dir: dir, tools: filepath.Dir(filepath.Dir(tools.Binary(t, "kube-apiserver")))}
	if err := machine.Reserve(machine.Cluster); err != nil {
		return nil, err
	}
	if err := c.start(t.Context()); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	for _, p := range []*ports.Port{&c.etcdPort, &c.peerPort, &c.apiPort, &c.controllerPort} {
		if *p, err = ports.HoldShared(); err != nil {
			return err
		}
		c.held = append(c.held, *p)
	}
	err = errors.Join(writeKeys(c.path("sa.key"), c.path("sa.pub")), writeTokens(c.path("tokens.csv"), c.opts.AllUsers()),
		os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o600))
	if err != nil {
		return err
	}
	if err := c.startStore(ctx); err != nil {
		return err
	}
	if err := c.startServer(ctx); err != nil {
		return err
	}
	return c.startActors(ctx)
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// run starts one of the tools.
func (c *Cluster) run(name string, args []string) (*process.Process, error) {
	//nolint:gosec,noctx // a tool of the tests; its life is the cluster's
	return process.Start(name, c.dir, exec.Command(filepath.Join(c.tools, "bin", name), args...))
}

// startStore starts etcd. Nothing in it has to survive the machine, so it does not wait for the disk.
func (c *Cluster) startStore(ctx context.Context) error {
	client, peer := c.etcdPort.URL("http"), c.peerPort.URL("http")
	p, err := c.run("etcd", []string{
		"--data-dir=" + c.path("etcd"), "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer, "--unsafe-no-fsync",
		"--socket-reuse-port", "--log-level=warn",
	})
	if err != nil {
		return err
	}
	c.others = append(c.others, p)
	return p.Await(ctx, "readiness of etcd", func(ctx context.Context) error {
		return getOK(ctx, http.DefaultClient, client+"/readyz")
	})
}

func (c *Cluster) startServer(ctx context.Context) error {
	issuer := c.apiPort.URL("https")
	args := []string{
		"--etcd-servers=" + c.etcdPort.URL("http"), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.apiPort.Number), "--permit-port-sharing", "--cert-dir=" + c.path("certs"),
		"--service-cluster-ip-range=10.0.0.0/24", "--service-account-key-file=" + c.path("sa.pub"),
		"--service-account-signing-key-file=" + c.path("sa.key"), "--service-account-issuer=" + issuer,
		"--api-audiences=" + issuer,
		"--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		"--allow-privileged=true",
		"--service-account-extend-token-expiration=false", "--shutdown-delay-duration=0s",
	}
	if c.opts.AuditLog {
		// The blocking mode, which is the default of a log file: an answered request is in the log.
		args = append(args, "--audit-policy-file="+c.path("audit-policy.yaml"), "--audit-log-path="+c.AuditLogPath(),
			"--audit-log-mode=blocking")
	}
	p, err := c.run("kube-apiserver", append(args, c.opts.ServerArgs...))
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.server = p
	c.mu.Unlock()
	return p.Await(ctx, "readiness of kube-apiserver", c.ready)
}

// ready says whether the API server serves. It writes its certificate at its first start, and the key after it: before
// the key is there, the certificate can be read half, and client-go keeps what it read of a file for minutes.
func (c *Cluster) ready(ctx context.Context) error {
	if _, err := os.Stat(c.path("certs/apiserver.key")); err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(c.AdminConfig())
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return getOK(ctx, client, c.apiPort.URL("https")+"/readyz")
}

// startActors starts what acts on objects, and makes what pods need: the node, and the service account of the default
// namespace.
func (c *Cluster) startActors(ctx context.Context) error {
	if !c.opts.Controllers && !c.opts.Kwok {
		return nil
	}
	kubeconfig, err := c.writeKubeconfig(Admin)
	if err != nil {
		return err
	}
	if c.opts.Controllers {
		p, err := c.run("kube-controller-manager", []string{
			"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--service-account-private-key-file=" + c.path("sa.key"),
			"--use-service-account-credentials=false", "--bind-address=127.0.0.1",
			fmt.Sprintf("--secure-port=%d", c.controllerPort.Number),
			"--permit-port-sharing", "--cert-dir=" + c.path("certs-controller"), "--horizontal-pod-autoscaler-sync-period=1s",
			// Its default of 20 requests a second is for a cluster that it shares; here every test would wait for it.
			"--kube-api-qps=500", "--kube-api-burst=1000",
		})
		if err != nil {
			return err
		}
		c.others = append(c.others, p)
		if err := p.Await(ctx, "the controllers' first work", c.controllersWork); err != nil {
			return err
		}
	}
	if c.opts.Kwok {
		p, err := c.run("kwok", []string{
			"--kubeconfig=" + kubeconfig, "--config=" + filepath.Join(c.tools, "kwok", "stages.yaml"), "--manage-all-nodes=true",
			"--node-ip=127.0.0.1",
			"--node-lease-duration-seconds=40",
		})
		if err != nil {
			return err
		}
		c.others = append(c.others, p)
		if err := c.makeNode(ctx); err != nil {
			return err
		}
		return p.Await(ctx, "readiness of the node", c.nodeReady)
	}
	return nil
}

func getOK(ctx context.Context, client *http.Client, url string) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
