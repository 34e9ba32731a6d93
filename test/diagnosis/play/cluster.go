package play

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/gateway"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/inpods"
)

const (
	modelName = "llama-70b"
	namespace = "llm"
	container = "vllm"
	botUser   = "vllm-medic"
	botToken  = "play"
	image     = "vllm/vllm-openai:v"
	// before is how long the model has been served when a play begins.
	before = 14 * 24 * time.Hour
	// baseLabel says on a pod what its number counts.
	baseLabel = "play/name"
	// roleLabel is llm-d's label on the pods of one side.
	roleLabel = "llm-d.ai/role"
)

// workload is one Deployment of an incident.
type workload struct {
	name, base, version string
	replicas            int
	args                []string
	role                fleet.Role
}

// workloads are the Deployments that an incident begins with, the pool's own first.
func (inc *Incident) workloads() []workload {
	f := inc.Fleet
	var out []workload
	if f.Prefill+f.Decode > 0 {
		out = append(out, inc.half(fleet.Decode, "kv_consumer", f.Decode), inc.half(fleet.Prefill, "kv_producer", f.Prefill))
	} else {
		out = append(out, workload{modelName, "pod", inc.Version, f.Replicas, f.Args, ""})
	}
	if c := f.Canary; c != nil {
		out = append(out, workload{modelName + "-canary", "canary", c.Version, c.Replicas, c.Args, ""})
	}
	return out
}

// half is one side of a disaggregated model, with the label and the argument that people give it.
func (inc *Incident) half(role fleet.Role, kvRole string, replicas int) workload {
	args := append([]string{
		`--kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"` + kvRole + `"}`,
	}, inc.Fleet.Args...)
	return workload{modelName + "-" + string(role), string(role), inc.Version, replicas, args, role}
}

// bases are what the names of pods in levers begin with.
func (inc *Incident) bases() []string {
	var out []string
	for _, w := range inc.workloads() {
		out = append(out, w.base)
	}
	return out
}

// cluster is the Kubernetes of a play, and the fleet that runs in it.
type cluster struct {
	incident *Incident
	now      atomic.Int64 // Unix nanoseconds
	kube     *kubeapi.Server
	acts     *workloads.Cluster
	pods     *inpods.Pods
	fleet    *fleet.Fleet
	// versions and logs are those of pods, by the cluster's name.
	versions map[string]version
	logs     map[string][]string
	// rest is the version of the objects at which the cluster had come to rest.
	rest uint64
}

func (c *cluster) clock() time.Time { return time.Unix(0, c.now.Load()).UTC() }

// newCluster makes the cluster with all its pods, two weeks before the fleet's time begins, and then the fleet.
func newCluster(inc *Incident, epoch time.Time) (*cluster, error) {
	c := &cluster{incident: inc, versions: map[string]version{}, logs: map[string][]string{}}
	c.now.Store(epoch.Add(-before).UnixNano())
	var err error
	c.kube, err = kubeapi.New(kubeapi.Options{
		Now: c.clock, Logs: c.log, Users: []kubeapi.User{{Name: botUser, Token: botToken}},
	})
	if err != nil {
		return nil, err
	}
	every := []string{"*"}
	c.kube.Grant(botUser, "", rbacv1.PolicyRule{Verbs: every, APIGroups: every, Resources: every})
	c.pods = inpods.New(nil, c.describe)
	c.acts, err = workloads.New(c.kube, workloads.Options{Now: c.clock, Fleet: c.pods})
	if err != nil {
		return nil, err
	}
	_, err = gateway.New(c.kube, gateway.Options{ // only for the kind; nobody changes the limit
		Namespace: namespace, Name: "eg", Route: modelName, Now: c.clock, SetLimit: func(int) error { return nil },
	})
	if err != nil {
		return nil, err
	}
	if err := c.create(); err != nil {
		return nil, err
	}
	if err := c.acts.Step(); err != nil {
		return nil, err
	}
	opts, err := inc.options(c.pods.All())
	if err != nil {
		return nil, err
	}
	opts.Epoch = epoch
	if c.fleet, err = fleet.New(opts); err != nil {
		return nil, err
	}
	scenario, err := inc.scenario()
	if err != nil {
		return nil, err
	}
	c.pods.Begin(c.fleet)
	for _, do := range []func() error{
		func() error { return c.fleet.Apply(scenario) },
		func() error { return c.fleet.SetThrottle(inc.Fleet.Parallel) },
		c.acts.Step,
		func() error { c.now.Store(epoch.UnixNano()); return c.step() },
	} {
		if err := do(); err != nil {
			return nil, err
		}
	}
	return c, c.pods.Err()
}

// describe says what the fleet has to know of a pod.
func (c *cluster) describe(p *corev1.Pod) fleet.Pod {
	spec := p.Spec.Containers[0]
	out := fleet.Pod{
		Name: p.Labels[baseLabel], Args: slices.Clone(spec.Args), Role: fleet.Role(p.Labels[roleLabel]),
	}
	v, err := readVersion(strings.TrimPrefix(spec.Image, image))
	if err == nil {
		c.versions[p.Name] = v
		out.Dialect, _ = v.dialect() // checked when the file was read
	}
	return out
}

// log is that of a container that ended.
func (c *cluster) log(r kubeapi.LogRequest) (string, error) {
	if !r.Previous {
		return "", nil
	}
	return strings.Join(c.logs[r.Pod], "\n") + "\n", nil
}

var (
	deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	podKind     = corev1.SchemeGroupVersion.WithResource("pods")
	nodes       = corev1.SchemeGroupVersion.WithResource("nodes")
)

func (c *cluster) create() error {
	admin := c.kube.As("kubectl")
	if err := c.kube.MakeNamespace(namespace); err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-node-1"}}
	if err := kubeapi.Create(admin, nodes, node); err != nil {
		return err
	}
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gateway.Policies.GroupVersion().String(), "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": modelName},
		"spec": map[string]any{
			"targetRefs": []any{map[string]any{
				"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": modelName,
			}},
			"circuitBreaker": map[string]any{"maxParallelRequests": int64(c.incident.Fleet.Parallel)},
		},
	}}
	if err := kubeapi.Create(admin, gateway.Policies, policy); err != nil {
		return err
	}
	for _, w := range c.incident.workloads() {
		if err := kubeapi.Create(admin, deployments, c.deployment(w)); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) deployment(w workload) *appsv1.Deployment {
	labels := map[string]string{"app": w.name, baseLabel: w.base}
	if w.role != "" {
		labels[roleLabel] = string(w.role)
	}
	n := int32(w.replicas)
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	rolling := &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}
	if c.incident.Fleet.NoSpareGPU {
		rolling = &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &one}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: rolling},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: container, Image: image + w.version, Args: slices.Concat(baseArgs(), w.args),
				}}},
			},
		},
	}
}

func baseArgs() []string { return []string{"--model=meta-llama/Llama-3.3-70B-Instruct"} }

// step lets the cluster act, if there is anything to act on.
func (c *cluster) step() error {
	c.now.Store(max(c.now.Load(), c.fleet.Now().UnixNano()))
	if c.kube.Version() == c.rest && c.pods.Settled() {
		return nil
	}
	err := c.acts.Step()
	c.rest = c.kube.Version()
	return err
}

// happen does what an event says.
func (c *cluster) happen(e Event) error {
	if e.Levers != nil {
		if err := c.fleet.SetLevers(*e.Levers); err != nil {
			return err
		}
	}
	if e.DropPrefixCaches {
		c.fleet.DropPrefixCaches()
	}
	for _, name := range e.Crash {
		c.logs[c.pods.Name(name)] = e.Log
		if err := c.fleet.Crash(name); err != nil {
			return err
		}
	}
	hand := c.kube.As("kubectl")
	for _, name := range e.Delete {
		of := &metav1.ObjectMeta{Namespace: namespace, Name: c.pods.Name(name)}
		if of.Name == "" {
			return fmt.Errorf("delete pod %s: %w", name, fleet.ErrNoPod)
		}
		if err := hand.Delete(podKind, of, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if err := c.change(e); err != nil {
		return err
	}
	if err := c.step(); err != nil {
		return err
	}
	return c.pods.Err()
}

// change changes a Deployment.
func (c *cluster) change(e Event) error {
	if e.Scale == nil && e.Rollout == nil {
		return nil
	}
	all := c.incident.workloads()
	w := all[max(0, slices.IndexFunc(all, func(w workload) bool { return w.base == e.Of }))]
	of := &metav1.ObjectMeta{Namespace: namespace, Name: w.name}
	return kubeapi.Change(c.kube.As("kubectl"), deployments, "", of, func(d *appsv1.Deployment) error {
		if e.Scale != nil {
			n := int32(*e.Scale)
			d.Spec.Replicas = &n
		}
		if r := e.Rollout; r != nil {
			spec := &d.Spec.Template.Spec.Containers[0]
			spec.Image = image + cmp.Or(r.Version, strings.TrimPrefix(spec.Image, image))
			if r.Args != nil {
				kept := w.args[:len(w.args)-len(c.incident.Fleet.Args)] // what a role needs
				if w.base == "canary" {
					kept = nil
				}
				spec.Args = slices.Concat(baseArgs(), kept, r.Args)
			}
		}
		return nil
	})
}
