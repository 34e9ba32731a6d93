package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

const model = "llama-70b"

// deployment has two replicas, and an argument that must never show.
func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": model},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": model}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": model}},
				"spec": map[string]any{
					"nodeName": kubetest.Node, "terminationGracePeriodSeconds": int64(1),
					"containers": []any{map[string]any{
						"name": "vllm", "image": "vllm/vllm-openai:v0.20.0",
						"args": []any{"--api-key=" + secret, "--max-num-seqs=256", "--max-num-batched-tokens=8192"},
					}},
				},
			},
		},
	}}
}

func (j *journey) ready(ctx context.Context) error {
	d, err := j.watch.Get(ctx, model, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if n, _, err := unstructured.NestedInt64(d.Object, "status", "readyReplicas"); err != nil || n < 2 {
		return fmt.Errorf("%d replicas are ready: %w", n, err)
	}
	return nil
}

// token sets an environment variable to a Kubernetes token: token VARIABLE ACCOUNT [AUDIENCE]; without an audience one
// for the API server itself.
func token(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: token VARIABLE ACCOUNT [AUDIENCE]")
	}
	j := of(ts)
	ts.Setenv(args[0], kube.Cluster(j.t).ServiceAccountToken(j.t, j.ns, args[1], args[2:]...))
}

// grant gives an account, or a person, rights on the bot: grant ACCOUNT|PERSON read|decide|pause...
func grant(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: grant ACCOUNT|PERSON read|decide|pause...")
	}
	j := of(ts)
	rules := map[string]rbacv1.PolicyRule{
		"read":   {Verbs: []string{"get"}, Resources: []string{"incidents"}},
		"decide": {Verbs: []string{"update"}, Resources: []string{"incidents/decision"}},
		"pause":  {Verbs: []string{"update"}, Resources: []string{"incidents/pause"}},
	}
	for _, name := range args[1:] {
		rule, ok := rules[name]
		if !ok {
			ts.Fatalf("there is no right %q", name)
		}
		rule.APIGroups = []string{"vllm-medic.io"}
		user := "system:serviceaccount:" + j.ns + ":" + args[0]
		if strings.Contains(args[0], "@") {
			user = args[0]
		}
		kube.Cluster(j.t).GrantAll(j.t, user, rule)
	}
}

// autoscaler makes a HorizontalPodAutoscaler for the Deployment, with a minimum of 2.
func autoscaler(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: autoscaler")
	}
	j := of(ts)
	scaler := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": model},
		"spec": map[string]any{
			"minReplicas": int64(2), "maxReplicas": int64(8),
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": model},
			"metrics": []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)},
			}}},
		},
	}}
	_, err := kube.Cluster(j.t).Dynamic(j.t).Resource(schema.GroupVersionResource{
		Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers",
	}).Namespace(j.ns).Create(j.t.Context(), scaler, metav1.CreateOptions{})
	ts.Check(err)
}

// replicas fails unless the Deployment is set to this number: replicas N.
func replicas(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: replicas N")
	}
	j := of(ts)
	d, err := j.watch.Get(j.t.Context(), model, metav1.GetOptions{})
	ts.Check(err)
	n, _, err := unstructured.NestedInt64(d.Object, "spec", "replicas")
	ts.Check(err)
	if strconv.FormatInt(n, 10) != args[0] {
		ts.Fatalf("the Deployment is set to %d replicas, want %s", n, args[0])
	}
}
