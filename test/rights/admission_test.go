package rights

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// guarded is a namespace with a pool of each kind, and an account that has the rights of vllm-medic rbac and is held by
// what rbac --admission prints.
type guarded struct {
	c       *kubetest.Cluster
	ns      string
	account app.Account
	pools   []incident.Pool
	token   string
}

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	sets        = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	groups      = schema.GroupVersionResource{
		Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets",
	}
	hpas       = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	scaledObjs = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	policies   = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1", Resource: "backendtrafficpolicies",
	}
)

func guard(t *testing.T) guarded {
	t.Helper()
	g := guarded{c: kube.Cluster(t)}
	g.c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers,
		kubetest.LeaderWorkerSets)
	g.ns = g.c.Namespace(t)
	g.account = app.Account{Namespace: g.ns, Name: "bot"}
	g.token = g.c.ServiceAccountToken(t, g.ns, "bot")
	of := func(name, apiVersion, kind string) incident.Pool {
		p := pool()
		p.Name = name
		p.Workload = incident.WorkloadRef{
			APIVersion: apiVersion, Kind: kind, Namespace: g.ns, Name: name, Container: "vllm",
		}
		p.HTTPRoute, p.Knobs.Throttle = incident.RouteRef{}, nil
		return p
	}
	deployed, kept, grouped := of("deployed", "apps/v1", "Deployment"), of("kept", "apps/v1", "StatefulSet"),
		of("grouped", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
	deployed.Autoscaler = incident.AutoscalerRef{Kind: "HorizontalPodAutoscaler", Name: "deployed"}
	deployed.Knobs.Throttle = &incident.ThrottleKnob{
		Kind: "envoy-gateway", Namespace: g.ns, Name: "limit", Field: "maxParallelRequests", Min: 16, Max: 1024,
	}
	kept.Autoscaler = incident.AutoscalerRef{Kind: "ScaledObject", Name: "kept"}
	grouped.Knobs.Arguments = nil
	g.pools = []incident.Pool{
		deployed, kept, grouped, of("boxes", "apps/v1", "Deployment"), of("volumes", "apps/v1", "Deployment"),
	}
	opts := app.Options{
		Config: config.Config{Kubernetes: &config.Kubernetes{}, Pools: g.pools}, Logger: slog.New(slog.DiscardHandler),
	}
	grants, err := app.Grants(t.Context(), opts, g.account, false)
	must(t, err)
	give(t, g.c, g.user(), g.ns, rolesOf(grants))
	held, err := app.Policies(t.Context(), opts, g.account)
	must(t, err)
	g.c.Enforce(t, held...)
	return g
}

func (g guarded) user() string { return "system:serviceaccount:" + g.ns + ":bot" }

func (g guarded) rest() *rest.Config { return g.c.ConfigWithToken(g.token) }

// may gives the account every right there is, as if somebody had bound it to an administrator's role.
func (g guarded) may(t *testing.T) {
	t.Helper()
	g.c.GrantAll(t, g.user(), rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
}

func (g guarded) create(t *testing.T, r schema.GroupVersionResource, o map[string]any) *unstructured.Unstructured {
	t.Helper()
	got, err := g.c.Dynamic(t).Resource(r).Namespace(g.ns).Create(t.Context(), &unstructured.Unstructured{Object: o},
		metav1.CreateOptions{})
	must(t, err)
	return got
}

// attempt is one write with the bot's token.
type attempt struct {
	r         schema.GroupVersionResource
	name, sub string
	// patch is a JSON Patch, or a merge patch where it is no list.
	patch string
}

func (g guarded) try(ctx context.Context, t *testing.T, a attempt) error {
	t.Helper()
	d, err := dynamic.NewForConfig(g.rest())
	must(t, err)
	var sub []string
	if a.sub != "" {
		sub = []string{a.sub}
	}
	_, err = d.Resource(a.r).Namespace(g.ns).Patch(ctx, a.name, a.patchType(), []byte(a.patch),
		metav1.PatchOptions{}, sub...)
	return err
}

// asAdministrator tries a write as somebody who may do all, and keeps nothing of it: what is refused for another reason
// shows nothing.
func (g guarded) asAdministrator(t *testing.T, a attempt) error {
	t.Helper()
	var sub []string
	if a.sub != "" {
		sub = []string{a.sub}
	}
	_, err := g.c.Dynamic(t).Resource(a.r).Namespace(g.ns).Patch(t.Context(), a.name, a.patchType(), []byte(a.patch),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, sub...)
	return err
}

func (a attempt) patchType() types.PatchType {
	if strings.HasPrefix(a.patch, "[") {
		return types.JSONPatchType
	}
	return types.MergePatchType
}

const boxes = "/spec/template/spec/containers/"

func op(verb, path string, value any) string {
	b, err := json.Marshal([]any{map[string]any{"op": verb, "path": path, "value": value}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A thief of the bot's token gets what the limits of the configuration allow, and nothing else of the objects that the
// token may patch: with the permissions of vllm-medic rbac, and with all that there are.
func TestAStolenTokenChangesNothingButTheKnobsWithinTheirLimits(t *testing.T) {
	t.Parallel()
	g := guard(t)
	for name, spec := range map[string]map[string]any{
		"deployed": part(t, fullSpec(t, "Deployment"), noPart), "other": part(t, fullSpec(t, "Deployment"), noPart),
	} {
		g.create(t, deployments, object("apps/v1", "Deployment", name, spec))
	}
	g.create(t, sets, object("apps/v1", "StatefulSet", "kept", part(t, fullSpec(t, "StatefulSet"), noPart)))
	g.create(t, groups, object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "grouped",
		map[string]any{"replicas": int64(2), "size": int64(4)}))
	for _, name := range []string{"deployed", "foreign"} {
		g.create(t, hpas, object("autoscaling/v2", "HorizontalPodAutoscaler", name, fullSpec(t, "HorizontalPodAutoscaler")))
	}
	for _, name := range []string{"kept", "foreign"} {
		g.create(t, scaledObjs, object("keda.sh/v1alpha1", "ScaledObject", name, map[string]any{
			"scaleTargetRef": map[string]any{"name": "kept"}, "minReplicaCount": int64(2), "maxReplicaCount": int64(6),
			"triggers": []any{map[string]any{"type": "cpu", "metadata": map[string]any{"value": "5"}}},
		}))
	}
	g.create(t, policies, object("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", "limit", map[string]any{
		"targetRefs": []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "r"}},
	}))
	d := func(patch string) attempt { return attempt{deployments, "deployed", "", patch} }
	hostile := map[string]attempt{
		"another image":               d(op("replace", boxes+"1/image", "evil")),
		"another command":             d(op("add", boxes+"1/command", []string{"sh", "-c", "evil"})),
		"another word of the command": d(op("replace", boxes+"1/command/0", "evil")),
		"the proxy's arguments":       d(op("add", boxes+"0/args", []string{"--max-num-batched-tokens=4096"})),
		"environment from a Secret": d(op("add", boxes+"1/envFrom",
			[]any{map[string]any{"secretRef": map[string]any{"name": "s"}}})),
		"a variable from a Secret": d(op("add", boxes+"1/env", []any{map[string]any{
			"name": "X", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s", "key": "k"}},
		}})),
		"a Secret as a volume": d(`{"spec":{"template":{"spec":{
			"volumes":[{"name":"s","secret":{"secretName":"s"}}],
			"containers":[{"name":"proxy","image":"envoy","args":["--x"]},{"name":"vllm","image":"text",
				"command":["vllm","serve"],"args":["--max-num-batched-tokens=4096","--port","8000"],
				"volumeMounts":[{"name":"s","mountPath":"/s"}]}]}}}}`),
		"the node's files": d(`{"spec":{"template":{"spec":{"volumes":[{"name":"h","hostPath":{"path":"/"}}]}}}}`),
		"the node's network and a port of it": d(`[
			{"op":"add","path":"/spec/template/spec/hostNetwork","value":true},
			{"op":"add","path":"` + boxes + `1/ports","value":[{"containerPort":22,"hostPort":22}]}]`),
		"the node's processes": d(`{"spec":{"template":{"spec":{"hostPID":true,"hostIPC":true}}}}`),
		"a service account with its token": d(
			`{"spec":{"template":{"spec":{"serviceAccountName":"admin","automountServiceAccountToken":true}}}}`),
		"a service account by its old name": d(`{"spec":{"template":{"spec":{"serviceAccount":"admin"}}}}`),
		"a projected token": d(`{"spec":{"template":{"spec":{"volumes":[{"name":"t","projected":{"sources":[
			{"serviceAccountToken":{"path":"t","audience":"vllm-medic"}}]}}]}}}}`),
		"another user":      d(`{"spec":{"template":{"spec":{"securityContext":{"runAsUser":0}}}}}`),
		"a way to roll out": d(`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`),
		"a budget and more": d(`[
			{"op":"replace","path":"` + boxes + `1/args/0","value":"--max-num-batched-tokens=4096"},
			{"op":"replace","path":"` + boxes + `1/image","value":"evil"}]`),
		"a budget and replicas": d(`[
			{"op":"replace","path":"` + boxes + `1/args/0","value":"--max-num-batched-tokens=4096"},
			{"op":"replace","path":"/spec/replicas","value":4}]`),
		"replicas by the Deployment itself": d(`{"spec":{"replicas":4}}`),
		"an owner": d(`{"metadata":{"ownerReferences":[
			{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"none"}]}}`),
		"a status":            {deployments, "deployed", "status", `{"status":{"observedGeneration":99}}`},
		"a service account":   d(op("add", "/spec/template/spec/serviceAccountName", "admin")),
		"a further container": d(op("add", boxes+"-", map[string]any{"name": "evil", "image": "evil"})),
		"an init container": d(op("add", "/spec/template/spec/initContainers",
			[]any{map[string]any{"name": "evil", "image": "evil"}})),
		"a privileged container": d(op("add", boxes+"1/securityContext", map[string]any{"privileged": true})),
		"another node":           d(op("add", "/spec/template/spec/nodeName", "elsewhere")),
		"another flag":           d(op("add", boxes+"1/args/-", "--trust-remote-code")),
		"a budget of 1,000,000":  d(op("replace", boxes+"1/args/0", "--max-num-batched-tokens=1000000")),
		"a budget of 1":          d(op("replace", boxes+"1/args/0", "--max-num-batched-tokens=1")),
		"the flag taken away":    d(op("remove", boxes+"1/args/0", nil)),
		"a label":                d(`{"metadata":{"labels":{"a":"evil"}}}`),
		"an annotation":          d(`{"metadata":{"annotations":{"a":"evil"}}}`),
		"a finalizer":            d(`{"metadata":{"finalizers":["a.b/c"]}}`),
		"no pods by the way":     d(`{"spec":{"replicas":0}}`),
		"no longer paused":       d(`{"spec":{"paused":false}}`),
		"another Deployment": {
			deployments, "other", "", op("replace", boxes+"1/args/0", "--max-num-batched-tokens=4096"),
		},
		"another one's scale":     {deployments, "other", "scale", `{"spec":{"replicas":3}}`},
		"no replicas":             {deployments, "deployed", "scale", `{"spec":{"replicas":0}}`},
		"1,000 replicas":          {deployments, "deployed", "scale", `{"spec":{"replicas":1000}}`},
		"1,000 groups":            {groups, "grouped", "scale", `{"spec":{"replicas":1000}}`},
		"no groups":               {groups, "grouped", "scale", `{"spec":{"replicas":0}}`},
		"a set's image":           {sets, "kept", "", op("replace", boxes+"1/image", "evil")},
		"a foreign HPA's minimum": {hpas, "foreign", "", `{"spec":{"minReplicas":3}}`},
		"a foreign HPA's maximum": {hpas, "foreign", "", `{"spec":{"maxReplicas":100}}`},
		"a foreign HPA's target":  {hpas, "foreign", "", `{"spec":{"scaleTargetRef":{"name":"deployed"}}}`},
		"its own HPA re-aimed":    {hpas, "deployed", "", `{"spec":{"scaleTargetRef":{"name":"other"}}}`},
		"its own HPA's maximum":   {hpas, "deployed", "", `{"spec":{"maxReplicas":100}}`},
		"its own HPA beyond":      {hpas, "deployed", "", `{"spec":{"minReplicas":9,"maxReplicas":9}}`},
		"its own HPA below":       {hpas, "deployed", "", `{"spec":{"minReplicas":1}}`},
		"another version's HPA": {
			schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"},
			"deployed", "", `{"spec":{"maxReplicas":100}}`,
		},
		"a foreign ScaledObject":        {scaledObjs, "foreign", "", `{"spec":{"minReplicaCount":3}}`},
		"its own ScaledObject re-aimed": {scaledObjs, "kept", "", `{"spec":{"scaleTargetRef":{"name":"other"}}}`},
		"its own ScaledObject beyond":   {scaledObjs, "kept", "", `{"spec":{"minReplicaCount":9,"maxReplicaCount":9}}`},
		"its own ScaledObject to 0":     {scaledObjs, "kept", "", `{"spec":{"minReplicaCount":0}}`},
		"a trigger":                     {scaledObjs, "kept", "", op("replace", "/spec/triggers/0/metadata/value", "99")},
		"a limit of 1":                  {policies, "limit", "", `{"spec":{"circuitBreaker":{"maxParallelRequests":1}}}`},
		"another limit":                 {policies, "limit", "", `{"spec":{"circuitBreaker":{"maxConnections":1}}}`},
		"the limit re-aimed": {
			policies, "limit", "", op("replace", "/spec/targetRefs/0/name", "other"),
		},
	}
	own := map[string]attempt{
		"a budget":              d(op("replace", boxes+"1/args/0", "--max-num-batched-tokens=4096")),
		"replicas":              {deployments, "deployed", "scale", `{"spec":{"replicas":3}}`},
		"groups":                {groups, "grouped", "scale", `{"spec":{"replicas":3}}`},
		"a minimum":             {hpas, "deployed", "", `{"spec":{"minReplicas":3}}`},
		"a ScaledObject's":      {scaledObjs, "kept", "", `{"spec":{"minReplicaCount":3}}`},
		"a set's budget":        {sets, "kept", "", op("replace", boxes+"1/args/0", "--max-num-batched-tokens=4096")},
		"a limit where none is": {policies, "limit", "", `{"spec":{"circuitBreaker":{"maxParallelRequests":100}}}`},
	}
	refusedAll := func(by string) {
		for name, a := range hostile {
			if err := g.try(t.Context(), t, a); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), by) {
				t.Errorf("%s, refused by %q: %v", name, by, err)
			}
		}
	}
	for name, a := range hostile {
		if err := g.asAdministrator(t, a); err != nil {
			t.Errorf("%s is nothing that an API server takes from anybody: %v", name, err)
		}
	}
	refusedAll("")
	for name, a := range own {
		if err := g.try(t.Context(), t, a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	g.may(t)
	refusedAll("ValidatingAdmissionPolicy '" + g.ns + "-bot-")
	g.refusesOtherVerbs(t)
}

// refusesOtherVerbs tries what no knob does, with all rights.
func (g guarded) refusesOtherVerbs(t *testing.T) {
	t.Helper()
	d, err := dynamic.NewForConfig(g.rest())
	must(t, err)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
	}}
	_, made := d.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(g.ns).Create(
		t.Context(), secret, metav1.CreateOptions{})
	of := d.Resource(deployments).Namespace(g.ns)
	for what, err := range map[string]error{
		"a Secret made":        made,
		"a Deployment removed": of.Delete(t.Context(), "deployed", metav1.DeleteOptions{}),
		"all removed":          of.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}),
		"a pod made": func() error {
			_, err := d.Resource(pods).Namespace(g.ns).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
				"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x"}}},
			}}, metav1.CreateOptions{})
			return err
		}(),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "-bot-writes'") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func object(apiVersion, kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{
			"name": name, "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"},
			"finalizers": []any{"example.org/kept"},
		},
	}
}
