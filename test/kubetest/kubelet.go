package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kubelet is a node as far as the API server asks it for logs: it answers GET /containerLogs/NAMESPACE/POD/CONTAINER
// over TLS, as a kubelet does, and nothing else. Its methods are safe for concurrent use.
type Kubelet struct {
	server *httptest.Server

	mu    sync.Mutex
	logs  map[string]string
	hold  chan struct{}
	asked []url.Values
}

// StartKubelet registers a node and answers for it until the test ends. The API server, which has been told of no
// authority, takes its certificate. It is not for clusters with Options.Kwok: kwok takes every node for its own.
func (c *Cluster) StartKubelet(t testing.TB, node string) *Kubelet {
	t.Helper()
	if c.opts.Kwok {
		t.Fatal("kwok takes every node for its own: start this cluster without Options.Kwok")
	}
	k := &Kubelet{logs: make(map[string]string)}
	k.server = httptest.NewTLSServer(k)
	t.Cleanup(k.Stop)
	if err := c.registerNode(t.Context(), node, k.server.URL); err != nil {
		t.Fatalf("node %s: %v", node, err)
	}
	return k
}

func (c *Cluster) registerNode(ctx context.Context, name, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	if err != nil {
		return fmt.Errorf("port of %s: %w", address, err)
	}
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	_, err = k.CoreV1().Nodes().Create(ctx,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: u.Hostname()}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		}}, metav1.CreateOptions{})
	return err
}

// SetLog gives a container a log; previous is that of the run before.
func (k *Kubelet) SetLog(namespace, pod, container string, previous bool, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[logKey(namespace, pod, container, previous)] = text
}

// Hang makes the node take requests and answer none of them until it is stopped.
func (k *Kubelet) Hang() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hold == nil {
		k.hold = make(chan struct{})
	}
}

// Stop takes the node away: its port refuses connections. It may be called more than once.
func (k *Kubelet) Stop() {
	k.mu.Lock()
	if k.hold != nil {
		close(k.hold)
		k.hold = nil
	}
	k.mu.Unlock()
	k.server.Close()
}

// Asked are the parameters of the requests so far.
func (k *Kubelet) Asked() []url.Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked)
}

func logKey(namespace, pod, container string, previous bool) string {
	return fmt.Sprintf("%s/%s/%s/%t", namespace, pod, container, previous)
}

// ServeHTTP implements http.Handler.
func (k *Kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.Method != http.MethodGet || len(parts) != 4 || parts[0] != "containerLogs" {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	k.mu.Lock()
	k.asked = append(k.asked, q)
	text, known := k.logs[logKey(parts[1], parts[2], parts[3], q.Get("previous") == "true")]
	hold := k.hold
	k.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
		return
	}
	if !known { // the kubelet's own words (pkg/kubelet/kubelet_pods.go, validateContainerLogStatus)
		http.Error(w, fmt.Sprintf("previous terminated container %q in pod %q not found", parts[3], parts[2]),
			http.StatusBadRequest)
		return
	}
	text, err := part(text, q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(text)) // a client that has gone needs no answer
}

// part does what a kubelet does with its two limits: first the last lines, and of these the first bytes.
func part(text string, q url.Values) (string, error) {
	lines, errLines := limit(q, "tailLines")
	size, errSize := limit(q, "limitBytes")
	if err := errors.Join(errLines, errSize); err != nil {
		return "", err
	}
	if all := strings.SplitAfter(text, "\n"); lines >= 0 {
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		text = strings.Join(all[max(0, len(all)-lines):], "")
	}
	if size >= 0 && size < len(text) {
		text = text[:size]
	}
	return text, nil
}

// limit is -1 when there is none.
func limit(q url.Values, name string) (int, error) {
	if !q.Has(name) {
		return -1, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is %q: want a number that is not negative", name, q.Get(name))
	}
	return n, nil
}
