package platforms

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// platform is one file of testdata: objects.yaml are its objects, each below the one that it names as its owner,
// metrics.txt is what its engines export, and the others are files that init proposes.
type platform struct {
	name, file, metrics string
	golden              map[string]string
}

// world is the cluster with the kinds of all platforms.
type world struct {
	c      *kubetest.Cluster
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.ScaledObjects, kubetest.BackendTrafficPolicies, kubetest.PodAutoscalers,
		kubetest.StormServices, kubetest.Models, kubetest.VLLMRuntimes, kubetest.LeaderWorkerSets, kubetest.RoleScalers,
		kubetest.GraphScaleAdapter, kubetest.HTTPRoutes)
	for _, kind := range documents(t, "testdata/kinds.yaml") {
		b, err := yaml.Marshal(kind.Object)
		if err != nil {
			t.Fatal(err)
		}
		c.InstallCRDYAML(t, b)
	}
	reads := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}
	c.GrantAll(t, kubetest.Viewer, reads)
	c.MakeNamespace(t, "monitoring")
	_, err := c.Client(t).CoreV1().Services("monitoring").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus-operated", Labels: map[string]string{"operated-prometheus": "true"}},
		Spec:       corev1.ServiceSpec{ClusterIP: "None", Ports: []corev1.ServicePort{{Name: "http-web", Port: 9090}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &world{c: c, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
}

func (w *world) login(t *testing.T) app.Login {
	t.Helper()
	return app.Login{Kubeconfig: w.c.Kubeconfig(t, kubetest.Viewer)}
}

// owner names the owner of an object in testdata.
const owner = "owner"

// install makes the objects of a platform, in a namespace of its name.
func (w *world) install(t *testing.T, file string) platform {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := platform{
		name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, golden: map[string]string{},
	}
	w.c.MakeNamespace(t, p.name)
	made := map[string]*unstructured.Unstructured{}
	for _, f := range a.Files {
		switch f.Name {
		case "objects.yaml":
			for _, o := range parse(t, f.Data) {
				made[o.GetKind()+" "+o.GetName()] = w.make(t, p.name, o, made)
			}
		case "metrics.txt":
			p.metrics = strings.ReplaceAll(string(f.Data), "NS", p.name)
		default:
			p.golden[f.Name] = string(f.Data)
		}
	}
	return p
}

// make makes one object below its owner, and its status.
func (w *world) make(
	t *testing.T, namespace string, o *unstructured.Unstructured, made map[string]*unstructured.Unstructured,
) *unstructured.Unstructured {
	t.Helper()
	notes := o.GetAnnotations()
	if name := notes[owner]; name != "" {
		above := made[name]
		if above == nil {
			t.Fatalf("%s %s names the owner %q, which is not above it", o.GetKind(), o.GetName(), name)
		}
		o.SetOwnerReferences([]metav1.OwnerReference{kubetest.Owner(above.GetAPIVersion(), above.GetKind(), above)})
		delete(notes, owner)
		o.SetAnnotations(notes)
	}
	gvk := o.GroupVersionKind()
	at, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	client := w.c.Dynamic(t).Resource(at.Resource).Namespace(namespace)
	out, err := client.Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	if status, has := o.Object["status"]; has {
		out.Object["status"] = status
		if out, err = client.UpdateStatus(t.Context(), out, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return out
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, a.Comment)
}

func parse(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if o.Object != nil {
			out = append(out, &o)
		}
	}
	return out
}

// counted are the series of histograms and counters, which have rates once they have grown.
var counted = regexp.MustCompile(`(?m)^(\S+_(?:bucket|count|sum|total)\{.*\}) .*$`)

// scraped is a Prometheus that has scraped the engines of all platforms, from their start on.
func scraped(t *testing.T, all []platform) string {
	t.Helper()
	var text strings.Builder
	for _, p := range all {
		text.WriteString(p.metrics)
	}
	e := promtest.NewExporter(t, counted.ReplaceAllString(text.String(), "$1 0"))
	prom := promtest.Start(t, []promtest.Target{{Address: e.Address()}})
	promtest.WaitFor(t, prom, `count(vllm:time_to_first_token_seconds_bucket) > 0`)
	e.Set(text.String())
	promtest.WaitFor(t, prom, `sum(vllm:time_to_first_token_seconds_bucket) > 0`)
	for _, p := range all {
		promtest.WaitFor(t, prom, fmt.Sprintf(`count({__name__=~".*vllm.*num_requests_running",namespace=%q}) > 0`, p.name))
	}
	return prom
}
