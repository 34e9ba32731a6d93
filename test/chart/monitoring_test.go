package chart

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The rules that Prometheus gets are those of deploy/prometheus, in one spelling of vLLM's metrics, and always those on
// the bot itself.
func TestTheRulesAreThoseThatAreTested(t *testing.T) {
	t.Parallel()
	const rules = "../../deploy/prometheus/rules"
	for spelling, want := range map[string][]string{
		"v1": {"vllm-alerts", "vllm-medic"}, "v0": {"vllm-alerts-v0", "vllm-medic"},
		"underscore": {"vllm-alerts-underscore", "vllm-medic"}, "none": {"vllm-medic"},
	} {
		t.Run(spelling, func(t *testing.T) {
			t.Parallel()
			got := map[string]any{}
			for _, o := range ofKind(rendered(t, "medic", "monitoring: {rules: {enabled: true, vllm: "+spelling+"}}"),
				"PrometheusRule") {
				if o.GetLabels()["release"] != "kube-prometheus-stack" {
					t.Errorf("the operator ignores %s: its labels are %v", o.GetName(), o.GetLabels())
				}
				got[strings.TrimPrefix(o.GetName(), "vllm-medic-")] = o.Object["spec"]
			}
			is := map[string]any{}
			for _, name := range want {
				var file any
				must(t, yaml.Unmarshal([]byte(read(t, filepath.Join(rules, name+".yaml"))), &file))
				is[name] = file
			}
			if diff := cmp.Diff(plain(t, is), plain(t, got)); diff != "" {
				t.Errorf("deploy/prometheus (-) differs from the chart (+):\n%s", diff)
			}
		})
	}
}

// plain makes the numbers of two decoders the same.
func plain(t *testing.T, v any) string {
	t.Helper()
	b, err := yaml.Marshal(v)
	must(t, err)
	return string(b)
}

// The route of the AlertmanagerConfig is that of the example, whose regular expressions are tested; only the models'
// namespaces are the pools'. Each of its namespaces has one, with the token by name.
func TestTheRouteIsThatOfTheExample(t *testing.T) {
	t.Parallel()
	var example struct {
		Route struct {
			Routes []struct {
				Matchers []string `json:"matchers"`
			} `json:"routes"`
		} `json:"route"`
	}
	must(t, yaml.Unmarshal([]byte(read(t, "../../deploy/prometheus/alertmanager.example.yml")), &example))
	all := ofKind(rendered(t, "medic", `
config:
  pools:
    - {name: a, match: {a: b}, matchers: {a: b},
       workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: a}}
    - {name: b, match: {a: c}, matchers: {a: c},
       workload: {apiVersion: apps/v1, kind: Deployment, namespace: rag, name: b}}
secret: {keys: {AM_TOKEN: am}}
monitoring: {alertmanagerConfig: {enabled: true, namespaces: [llm, rag]}}
`), "AlertmanagerConfig")
	var namespaces []string
	for _, o := range all {
		namespaces = append(namespaces, o.GetNamespace())
		routes, _, err := unstructured.NestedSlice(o.Object, "spec", "route", "routes")
		must(t, err)
		var got, want [][]string
		for _, r := range routes {
			got = append(got, matchersOf(t, r))
		}
		for _, r := range example.Route.Routes {
			want = append(want, r.Matchers)
		}
		for _, m := range want {
			for n := range m {
				m[n] = strings.Replace(m[n], `namespace =~ "llm"`, `namespace =~ "llm|rag"`, 1)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the example (-) differs from the chart (+):\n%s", diff)
		}
		for _, secret := range []string{"name: vllm-medic\n", "key: am\n"} {
			if !strings.Contains(plain(t, o.Object), secret) {
				t.Errorf("the receiver's token is not %q", secret)
			}
		}
	}
	if !slices.Equal(namespaces, []string{"llm", "rag"}) {
		t.Errorf("they are in %q", namespaces)
	}
}

func matchersOf(t *testing.T, route any) []string {
	t.Helper()
	of, ok := route.(map[string]any)
	if !ok {
		t.Fatalf("no route: %v", route)
	}
	all, _, err := unstructured.NestedSlice(of, "matchers")
	must(t, err)
	var out []string
	for _, m := range all {
		one, ok := m.(map[string]any)
		if !ok {
			t.Fatalf("no matcher: %v", m)
		}
		out = append(out, fmt.Sprintf("%v %v %q", one["name"], one["matchType"], one["value"]))
	}
	return out
}

// A ConfigMap that the chart can't read is mounted as it is, and nothing is granted for it.
func TestAnExistingConfigMapIsMounted(t *testing.T) {
	t.Parallel()
	all := rendered(t, "medic", "existingConfigMap: mine\nrbac: {create: false, onCallRole: false}\n"+
		"secret: {keys: {AM_TOKEN: AM_TOKEN}}")
	for _, kind := range []string{"ConfigMap", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"} {
		if of := ofKind(all, kind); len(of) > 0 {
			t.Errorf("there is a %s: %v", kind, of)
		}
	}
	d := podOf(t, all).Spec.Template
	if name := d.Spec.Volumes[0].ConfigMap.Name; name != "mine" || len(d.Spec.Containers[0].Env) != 1 ||
		d.Annotations["checksum/config"] != "" {
		t.Errorf("the pod mounts %s, has %+v and %v", name, d.Spec.Containers[0].Env, d.Annotations)
	}
}
