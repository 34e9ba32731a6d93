package workloads_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
)

const (
	namespace = "default"
	loading   = time.Minute // until a model is loaded
)

// engines are what runs in the pods: each is ready after a while.
type engines struct {
	now func() time.Time

	mu     sync.Mutex
	began  map[workloads.ID]time.Time
	crash  map[workloads.ID]*workloads.End
	story  []string
	names  map[workloads.ID]string
	ending map[workloads.ID]bool
	// linger says that engines end by force only.
	linger bool
}

func (e *engines) Started(r workloads.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.began[r.ID()], e.names[r.ID()] = e.now(), r.Pod.Name
	e.tell(r.ID(), "started")
}

func (e *engines) tell(id workloads.ID, what string) {
	e.story = append(e.story, fmt.Sprintf("%s/%d %s", e.names[id], id.Number, what))
}

func (e *engines) Ready(id workloads.ID, ready bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell(id, fmt.Sprintf("ready %t", ready))
}

func (e *engines) Ending(id workloads.ID, _ time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ending[id] = true
	e.tell(id, "ending")
}

func (e *engines) Ended(id workloads.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.began, id)
	e.tell(id, "ended")
}

func (e *engines) State(id workloads.ID) workloads.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	if end := e.crash[id]; end != nil {
		return workloads.State{Ended: end}
	}
	if e.ending[id] && !e.linger {
		return workloads.State{Ended: &workloads.End{}}
	}
	began, runs := e.began[id]
	return workloads.State{Ready: runs && !e.now().Before(began.Add(loading))}
}

// bench is a cluster whose clock the test turns.
type bench struct {
	t       *testing.T
	at      time.Time
	server  *kubeapi.Server
	cluster *workloads.Cluster
	engines *engines
	k       *kubernetes.Clientset
	config  *rest.Config
}

func newBench(t *testing.T, change ...func(*workloads.Options)) *bench {
	t.Helper()
	b := &bench{t: t, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	now := func() time.Time { return b.at }
	b.engines = &engines{
		now: now, began: map[workloads.ID]time.Time{}, crash: map[workloads.ID]*workloads.End{},
		names: map[workloads.ID]string{}, ending: map[workloads.ID]bool{},
	}
	var err error
	b.server, err = kubeapi.New(kubeapi.Options{Now: now, Users: []kubeapi.User{
		{Name: "admin", Token: "t", Groups: []string{kubeapi.Administrators}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	opts := workloads.Options{Now: now, Fleet: b.engines}
	for _, f := range change {
		f(&opts)
	}
	if b.cluster, err = workloads.New(b.server, opts); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(b.server)
	t.Cleanup(web.Close)
	b.config = b.server.Config(web.URL, "admin")
	if b.k, err = kubernetes.NewForConfig(b.config); err != nil {
		t.Fatal(err)
	}
	return b
}

// pass lets time pass and everything come to rest.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.at = b.at.Add(d)
	if err := b.cluster.Step(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) node(name string, gpus int64) {
	b.t.Helper()
	room := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
	_, err := b.k.CoreV1().Nodes().Create(b.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = b.k.CoreV1().Nodes().UpdateStatus(b.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.UpdateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
}

// deployment asks for one GPU for each pod, and may roll out one pod at a time beyond its number.
func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "m"}
	one := intstr.FromInt32(1)
	none := intstr.FromInt32(0)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: &one, MaxUnavailable: &none,
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "vllm", Image: "vllm/vllm-openai:v0.29.0", Args: []string{"--max-num-batched-tokens=8192"},
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
						"nvidia.com/gpu": resource.MustParse("1"),
					}},
				}}},
			},
		},
	}
}

func (b *bench) deploy(d *appsv1.Deployment) {
	b.t.Helper()
	if _, err := b.k.AppsV1().Deployments(namespace).Create(b.t.Context(), d, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) change(f func(*appsv1.Deployment)) {
	b.t.Helper()
	d := b.get()
	f(d)
	if _, err := b.k.AppsV1().Deployments(namespace).Update(b.t.Context(), d, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get() *appsv1.Deployment {
	b.t.Helper()
	d, err := b.k.AppsV1().Deployments(namespace).Get(b.t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *bench) pods() []corev1.Pod {
	b.t.Helper()
	l, err := b.k.CoreV1().Pods(namespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: "app=m"})
	if err != nil {
		b.t.Fatal(err)
	}
	return l.Items
}

// events are the messages of a reason, the oldest first.
func (b *bench) events(reason string) []string {
	b.t.Helper()
	l, err := b.k.CoreV1().Events(namespace).List(b.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		b.t.Fatal(err)
	}
	slices.SortStableFunc(l.Items, func(a, b corev1.Event) int {
		return a.FirstTimestamp.Compare(b.FirstTimestamp.Time)
	})
	var out []string
	for _, e := range l.Items {
		out = append(out, e.Message)
	}
	return out
}

func progressing(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			return c.Reason
		}
	}
	return ""
}
