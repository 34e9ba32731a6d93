package rights

import (
	"log/slog"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// engineSets is a kind that the bot has never heard of.
const engineSets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: enginesets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: EngineSet, plural: enginesets, listKind: EngineSetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {scale: {specReplicasPath: .spec.engines.number, statusReplicasPath: .status.number}}
`

func setRef() incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "set"}
}

// grants are what vllm-medic rbac prints for pools in this mode: pool() on its Deployment and on a StatefulSet, and
// those whose Deployments belong to operators.
func grants(t *testing.T, mode incident.Mode) []app.Grant {
	t.Helper()
	set, stacked, served := pool(), pool(), pool()
	set.Workload = setRef()
	stacked.Workload.Name, stacked.Knobs = "stacked", incident.Knobs{}
	served.Workload.Name, served.Knobs = "served", incident.Knobs{}
	pools := []incident.Pool{pool(), set, stacked, served}
	for n := range pools {
		pools[n].Mode = mode
	}
	return grantsFor(t, app.Options{Config: config.Config{
		Kubernetes: &config.Kubernetes{}, Pools: pools, Access: config.Access{ClientCertificates: true},
	}})
}

func grantsFor(t *testing.T, opts app.Options) []app.Grant {
	t.Helper()
	opts.Logger = slog.New(slog.DiscardHandler)
	out, err := app.Grants(t.Context(), opts, app.Account{Namespace: "vllm-medic", Name: "vllm-medic"}, false)
	must(t, err)
	return out
}

// rolesOf are the rules of grants by namespace; empty for the cluster.
func rolesOf(grants []app.Grant) map[string][]rbacv1.PolicyRule {
	out := map[string][]rbacv1.PolicyRule{}
	for _, g := range grants {
		for _, r := range g.Rules {
			out[g.Namespace] = append(out[g.Namespace], r.PolicyRule)
		}
	}
	return out
}

// single are the rules by verb.
func single(roles map[string][]rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	out := map[string][]rbacv1.PolicyRule{}
	for namespace, rules := range roles {
		for _, r := range rules {
			for _, verb := range r.Verbs {
				one := r
				one.Verbs = []string{verb}
				out[namespace] = append(out[namespace], one)
			}
		}
	}
	return out
}

// ofAllObjects are the rules without the names of objects.
func ofAllObjects(roles map[string][]rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	out := single(roles)
	for _, rules := range out {
		for n := range rules {
			rules[n].ResourceNames = nil
		}
	}
	return out
}

// apply grants the bot's account everything, and returns how it asks.
func apply(t *testing.T, c *kubetest.Cluster, all []app.Grant) *rest.Config {
	t.Helper()
	rc := c.ConfigWithToken(c.ServiceAccountToken(t, "vllm-medic", "vllm-medic"))
	give(t, c, account, "llm", rolesOf(all))
	for _, g := range all {
		if g.Existing == "" {
			continue
		}
		_, err := c.Client(t).RbacV1().RoleBindings(g.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: g.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: g.Existing},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "vllm-medic", Name: "vllm-medic"}},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	return rc
}

// account is the bot's own.
const account = "system:serviceaccount:vllm-medic:vllm-medic"

// give grants roles to a user. A namespace of the test stands for that of the models.
func give(t *testing.T, c *kubetest.Cluster, user, models string, roles map[string][]rbacv1.PolicyRule) {
	t.Helper()
	for _, in := range slices.Sorted(maps.Keys(roles)) {
		switch in {
		case "":
			c.GrantAll(t, user, roles[in]...)
		case "llm":
			c.Grant(t, user, models, roles[in]...)
		default:
			c.Grant(t, user, in, roles[in]...)
		}
	}
}

// image is what every container here runs.
const image = "vllm/vllm-openai:v0.20.0"

// makeWorkload makes the pool's Deployment, whose pod has crashed, and a StatefulSet.
func makeWorkload(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	spec := corev1.PodSpec{
		NodeName:   "gpu-1",
		Containers: []corev1.Container{{Name: "vllm", Image: image, Args: []string{"--max-num-batched-tokens=8192"}}},
	}
	makeTrouble(t, c, makeDeployment(t, c, "llama-70b", spec))
	makeSet(t, c, spec)
}

// makeDeployment makes a Deployment with the ReplicaSet and the pod that its controllers would make, and returns the
// pod.
func makeDeployment(
	t *testing.T, c *kubetest.Cluster, name string, spec corev1.PodSpec, above ...metav1.OwnerReference,
) *corev1.Pod {
	t.Helper()
	labels, two := map[string]string{"app": name}, int32(2)
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	k := c.Client(t)
	d, err := k.AppsV1().Deployments("llm").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: above},
		Spec:       appsv1.DeploymentSpec{Replicas: &two, Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	rs, err := k.AppsV1().ReplicaSets("llm").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-7d4", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "Deployment", d)},
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1"},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	pod, err := k.CoreV1().Pods("llm").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "ReplicaSet", rs)},
		},
		Spec: spec,
	}, metav1.CreateOptions{})
	must(t, err)
	return pod
}

// makeTrouble lets the pod's container crash, with a log, and its node have an event.
func makeTrouble(t *testing.T, c *kubetest.Cluster, pod *corev1.Pod) {
	t.Helper()
	k, now := c.Client(t), metav1.Now()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "vllm", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: now},
		},
	}}
	_, err := k.CoreV1().Pods("llm").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	must(t, err)
	c.StartKubelet(t, pod.Spec.NodeName).SetLog("llm", pod.Name, "vllm", true, "EngineDeadError\n")
	_, err = k.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}, Type: corev1.EventTypeWarning, Reason: "Rebooted",
		LastTimestamp:  now,
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: pod.Spec.NodeName},
	}, metav1.CreateOptions{})
	must(t, err)
}

// makeSet makes a StatefulSet without pods, with the revision that its controller would make.
func makeSet(t *testing.T, c *kubetest.Cluster, spec corev1.PodSpec) {
	t.Helper()
	k, none := c.Client(t), int32(0)
	labels := map[string]string{"app": "set"}
	set, err := k.AppsV1().StatefulSets("llm").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = k.AppsV1().ControllerRevisions("llm").Create(t.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "set-1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "StatefulSet", set)},
		}, Revision: 1,
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)},
	}, metav1.CreateOptions{})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
