package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// Cluster is a running control plane. Its methods are safe for concurrent use, except those that stop and start the
// server.
type Cluster struct {
	opts  Options
	dir   string
	tools string

	etcdPort, peerPort, apiPort, controllerPort ports.Port
	held                                        []ports.Port

	mu     sync.Mutex
	server *process.Process
	// others in the order of their start.
	others []*process.Process
	names  int
	gone   bool

	audit       auditLog
	kubeconfigs sync.Mutex
	// crds are the definitions that are installed; its mutex is held while one is.
	crdsMu sync.Mutex
	crds   map[CRD]bool
}

// AdminConfig is a client configuration that may do everything.
func (c *Cluster) AdminConfig() *rest.Config { return c.ConfigFor(Admin) }

// ConfigFor is a client configuration of one of the cluster's users, with its static token; of nobody when the cluster
// has no such user. Every call returns a new one. The limits on requests per second are off.
func (c *Cluster) ConfigFor(user string) *rest.Config {
	cfg := c.anonymous()
	if slices.ContainsFunc(c.opts.AllUsers(), func(u User) bool { return u.Name == user }) {
		cfg.BearerToken = token(user)
	}
	return cfg
}

// ConfigAs is a client configuration that acts as any user, who needs no token: the administrator impersonates.
func (c *Cluster) ConfigAs(user string) *rest.Config {
	cfg := c.AdminConfig()
	cfg.Impersonate.UserName = user
	return cfg
}

func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{
		Host: c.apiPort.URL("https"), TLSClientConfig: rest.TLSClientConfig{CAFile: c.path("certs/apiserver.crt")}, QPS: -1,
		WarningHandler: rest.NoWarnings{},
	}
}

// Kubeconfig writes a kubeconfig file for a user and returns its path.
func (c *Cluster) Kubeconfig(t testing.TB, user string) string {
	t.Helper()
	path, err := c.writeKubeconfig(user)
	if err != nil {
		t.Fatalf("kubeconfig of %s: %v", user, err)
	}
	return path
}

func (c *Cluster) writeKubeconfig(user string) (string, error) {
	cfg := c.ConfigFor(user)
	path := c.path("kubeconfig-" + user)
	// Each user's file is written once: a program that is started by another test may be reading it.
	c.kubeconfigs.Lock()
	defer c.kubeconfigs.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: cfg.Host, CertificateAuthority: cfg.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: cfg.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: user}},
		CurrentContext: "test",
	}, path)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

// Client is an admin's typed client.
func (c *Cluster) Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Dynamic is an admin's dynamic client.
func (c *Cluster) Dynamic(t testing.TB) *dynamic.DynamicClient {
	t.Helper()
	d, err := dynamic.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// StopServer kills the API server, as an outage does: connections break, and new ones are refused until StartServer.
// etcd keeps everything.
func (c *Cluster) StopServer(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.Kill()
}

// StartServer starts the API server again on the same address and waits until it is ready. Tokens and certificates are
// those of before.
func (c *Cluster) StartServer(t testing.TB) {
	t.Helper()
	if err := c.startServer(t.Context()); err != nil {
		t.Fatalf("start the API server again: %v", err)
	}
}

// Eventually polls f until it succeeds, and fails the test with its last error after process.Patience.
func Eventually(t testing.TB, what string, f func(ctx context.Context) error) {
	t.Helper()
	if err := process.Until(t.Context(), f); err != nil {
		t.Fatalf("waited %v for %s: %v", process.Patience, what, err)
	}
}

// stop ends all processes, the clients first, and removes the folder.
func (c *Cluster) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	c.gone = true
	for _, p := range slices.Backward(c.others) {
		if p.Name != "etcd" {
			p.Stop(syscall.SIGTERM)
		}
	}
	if c.server != nil {
		c.server.Stop(syscall.SIGTERM)
	}
	for _, p := range c.others {
		p.Stop(syscall.SIGTERM)
	}
	for _, p := range c.held {
		if err := p.Release(); err != nil {
			fmt.Fprintf(os.Stderr, "kubetest: release port %d: %v\n", p.Number, err)
		}
	}
	if err := os.RemoveAll(c.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "kubetest: %v\n", err)
	}
}
