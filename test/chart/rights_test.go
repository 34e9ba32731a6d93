package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// values are configurations with every kind of pool that the permissions depend on.
func values() map[string]string {
	const pool = `
    - name: NAME
      match: {a: NAME}
      matchers: {namespace: llm, a: NAME}
      workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: NAME, container: vllm}
`
	const knobs = `
      knobs:
        replicas: {min: 1, max: 8}
        max_num_batched_tokens: {min: 2048, max: 4194304}
        throttle: {kind: envoy-gateway, namespace: gateways, name: NAME, field: requests, min: 16, max: 1024}
`
	named := func(text string, names ...string) string {
		out := ""
		for _, n := range names {
			out += strings.ReplaceAll(text, "NAME", n)
		}
		return out
	}
	all := map[string]string{
		"fresh":                   "",
		"no kubernetes":           "config: {kubernetes: null, mode: observe}",
		"evidence only":           "config:\n  pools:" + named(pool, "one"),
		"names that are no words": "config:\n  mode: approve\n  pools:" + named(pool+knobs, `"123"`, `"on"`),
		"certificates": "config:\n  access: {client_certificates: true}\n" +
			"  listen: {tls: {api: {cert_file: /c, key_file: /k}}}",
		"their own CA": "config:\n  access: {client_certificates: true, client_ca_file: /ca}\n" +
			"  listen: {tls: {api: {cert_file: /c, key_file: /k}}}",
		"another account": "serviceAccount: {name: bot}",
		"only required":   "rbac: {optional: false}\nconfig:\n  mode: auto\n  pools:" + named(pool+knobs, "one"),
		"forced dry run":  "dryRun: true\nconfig:\n  mode: auto\n  pools:" + named(pool+knobs, "one"),
		"modes of each own": "config:\n  mode: approve\n  pools:" + named(pool+knobs+"      mode: observe\n", "one") +
			named(pool+knobs, "two"),
		"a route": "config:\n  mode: approve\n  pools:" + named(pool+"      http_route: {name: NAME}\n"+knobs, "one") +
			named(pool+"      http_route: {namespace: gateways, name: NAME}\n"+knobs, "two"),
		"no workload": "config:\n  mode: approve\n  pools: [{name: x, match: {a: b}, matchers: {a: b}}]",
		"an autoscaler": "config:\n  mode: approve\n  pools:" +
			named(pool+"      autoscaler: {kind: ScaledObject, name: NAME}\n"+knobs, "one") +
			named(pool+"      autoscaler: {kind: HorizontalPodAutoscaler, name: NAME-hpa}\n"+knobs, "two") +
			named(pool+"      autoscaler: {kind: PodAutoscaler, name: NAME}\n"+
				strings.ReplaceAll(knobs, "field: requests", "field: maxParallelRequests"), "three"),
		"in default": "config:\n  pools:" + strings.ReplaceAll(named(pool, "one"), "namespace: llm, name",
			"namespace: default, name"),
		"an unknown kind": "rbac: {kinds: {ScaledObject.keda.sh: scaledobjects}}\nconfig:\n  mode: auto\n  pools:" +
			strings.ReplaceAll(named(pool+knobs, "one"), "apiVersion: apps/v1, kind: Deployment",
				"apiVersion: keda.sh/v1alpha1, kind: ScaledObject"),
	}
	for _, mode := range []string{"observe", "dry-run", "approve", "auto"} {
		all["mode "+mode] = "config:\n  mode: " + mode + "\n  pools:" + named(pool+knobs, "one", "two")
	}
	for _, kind := range []string{"StatefulSet", "DaemonSet", "ReplicaSet"} {
		all[kind] = "config:\n  mode: approve\n  pools:" +
			strings.ReplaceAll(named(pool+knobs, "one"), "kind: Deployment", "kind: "+kind)
	}
	for kind := range kube.PlatformKinds() {
		all[kind.Kind] = "config:\n  mode: approve\n  pools:" + strings.ReplaceAll(named(pool+knobs, "one"),
			"apiVersion: apps/v1, kind: Deployment", "apiVersion: "+kind.Group+"/v1, kind: "+kind.Kind)
	}
	return all
}

// The chart's templates cannot call the program, so they have a table of their own. It is that of vllm-medic rbac, and
// so that of check --live.
func TestTheChartGrantsWhatTheProgramSaysItNeeds(t *testing.T) {
	t.Parallel()
	for name, text := range values() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const namespace = "medic"
			granted := roles(t, rendered(t, namespace, text))
			needed := roles(t, objects(t, rbac(t, namespace, text)))
			if diff := cmp.Diff(needed, granted); diff != "" {
				t.Errorf("the chart (+) differs from vllm-medic rbac (-):\n%s", diff)
			}
			writes := false
			for _, r := range granted {
				writes = writes || writesAnything(rbacv1.Role{Rules: r.Rules})
			}
			if may := strings.Contains(text, "mode: approve") || strings.Contains(text, "mode: auto"); writes &&
				(!may || strings.Contains(text, "dryRun: true")) {
				t.Errorf("the bot may write: %+v", granted)
			}
		})
	}
}

// writesAnything says whether a role lets its account change anything. A review asks a question.
func writesAnything(r rbacv1.Role) bool {
	return slices.ContainsFunc(r.Rules, func(rule rbacv1.PolicyRule) bool {
		return !slices.Equal(rule.Verbs, []string{"create"}) && slices.ContainsFunc(rule.Verbs,
			func(verb string) bool { return verb != "get" && verb != "list" }) ||
			slices.Contains(rule.Verbs, "create") && !strings.HasSuffix(rule.Resources[0], "reviews")
	})
}

// role is what a role grants, and to whom.
type role struct {
	Rules    []rbacv1.PolicyRule
	RoleRef  rbacv1.RoleRef
	Subjects []rbacv1.Subject
}

// roles are those of the bot by kind, namespace and name.
func roles(t *testing.T, all []unstructured.Unstructured) map[string]role {
	t.Helper()
	out := map[string]role{}
	for _, o := range all {
		if o.GroupVersionKind().Group != rbacv1.GroupName || strings.HasSuffix(o.GetName(), "-on-call") {
			continue
		}
		var b rbacv1.RoleBinding
		var r rbacv1.Role
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b))
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r))
		out[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = role{Rules: r.Rules, RoleRef: b.RoleRef, Subjects: b.Subjects}
	}
	return out
}

// rbac is what vllm-medic rbac prints for the configuration that the chart makes of the values.
func rbac(t *testing.T, namespace, text string, flags ...string) []byte {
	t.Helper()
	var v struct {
		DryRun         bool `json:"dryRun"`
		ServiceAccount struct {
			Name string `json:"name"`
		} `json:"serviceAccount"`
		RBAC struct {
			Optional *bool `json:"optional"`
		} `json:"rbac"`
	}
	must(t, yaml.Unmarshal([]byte(text), &v))
	account := "vllm-medic"
	if v.ServiceAccount.Name != "" {
		account = v.ServiceAccount.Name
	}
	args := []string{
		"rbac", "--config", medicYAML(t, rendered(t, namespace, text)), "--namespace", namespace,
		"--service-account", account,
	}
	if v.DryRun {
		args = append(args, "--dry-run")
	}
	if v.RBAC.Optional != nil && !*v.RBAC.Optional {
		args = append(args, "--required-only")
	}
	cmd := exec.CommandContext(t.Context(), medic, append(args, flags...)...)
	kubeconfig := filepath.Join(t.TempDir(), "none") // the cluster isn't asked about known kinds
	if strings.Contains(text, "rbac: {kinds:") {
		c := cluster.Cluster(t)
		c.InstallCRD(t, kubetest.ScaledObjects)
		kubeconfig = c.Kubeconfig(t, kubetest.Admin)
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("vllm-medic rbac: %v\n%s", err, out)
	}
	return out
}

// medicYAML writes the configuration of the chart's ConfigMap to a file.
func medicYAML(t *testing.T, all []unstructured.Unstructured) string {
	t.Helper()
	maps := ofKind(all, "ConfigMap")
	if len(maps) != 1 {
		t.Fatalf("%d ConfigMaps, want 1", len(maps))
	}
	text, _, err := unstructured.NestedString(maps[0].Object, "data", "medic.yaml")
	must(t, err)
	path := filepath.Join(t.TempDir(), "medic.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
