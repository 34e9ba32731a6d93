package kubetest

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/test/tools"
)

// CRD is the definition of a custom kind, without its controller.
type CRD string

// The custom kinds that come with the tools, as KEDA, Envoy Gateway and the Prometheus operator ship them.
const (
	ScaledObjects          CRD = "scaledobjects.yaml"
	BackendTrafficPolicies CRD = "backendtrafficpolicies.yaml"
	Prometheuses           CRD = "prometheuses.yaml"
	PodMonitors            CRD = "podmonitors.yaml"
	ServiceMonitors        CRD = "servicemonitors.yaml"
	PrometheusRules        CRD = "prometheusrules.yaml"
	AlertmanagerConfigs    CRD = "alertmanagerconfigs.yaml"
	Alertmanagers          CRD = "alertmanagers.yaml"
)

// Kinds of the operators that serve vLLM, and the Gateway API's routes, reduced to the fields that the bot reads and to
// their scale.
const (
	PodAutoscalers    CRD = "podautoscalers.yaml"
	StormServices     CRD = "stormservices.yaml"
	Models            CRD = "models.yaml"
	VLLMRuntimes      CRD = "vllmruntimes.yaml"
	LeaderWorkerSets  CRD = "leaderworkersets.yaml"
	RoleScalers       CRD = "disaggregatedsetrolescalers.yaml"
	GraphScaleAdapter CRD = "dynamographdeploymentscalingadapters.yaml"
	HTTPRoutes        CRD = "httproutes.yaml"
	ModelServings     CRD = "modelservings.yaml"
	// Objects of operators by which nobody can tell which pods are theirs.
	InferenceServices    CRD = "inferenceservices.yaml"
	LLMInferenceServices CRD = "llminferenceservices.yaml"
	RayServices          CRD = "rayservices.yaml"
	RayClusters          CRD = "rayclusters.yaml"
	NIMServices          CRD = "nimservices.yaml"
	// Kthena's autoscalers.
	AutoscalingPolicies       CRD = "autoscalingpolicies.yaml"
	AutoscalingPolicyBindings CRD = "autoscalingpolicybindings.yaml"
)

//go:embed crds/*.yaml
var reduced embed.FS

// InstallCRD makes the API server serve these kinds, and waits until it does. One that is there already stays.
func (c *Cluster) InstallCRD(t testing.TB, crds ...CRD) {
	t.Helper()
	c.crdsMu.Lock()
	defer c.crdsMu.Unlock()
	for _, crd := range crds {
		if c.crds[crd] {
			continue
		}
		c.InstallCRDYAML(t, Definition(t, crd))
		if c.crds == nil {
			c.crds = map[CRD]bool{}
		}
		c.crds[crd] = true
	}
}

// Definition is the text of a definition, YAML, for tests that install it elsewhere.
func Definition(t testing.TB, crd CRD) []byte {
	t.Helper()
	b, err := reduced.ReadFile("crds/" + string(crd))
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(tools.File(t, filepath.Join("crds", string(crd))))
	}
	if err != nil {
		t.Fatal(err)
	}
	return withoutTemplate(b)
}

// withoutTemplate drops the lines of a Helm condition around a definition: Envoy Gateway's chart has them.
func withoutTemplate(b []byte) []byte {
	var out [][]byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("{{")) {
			out = append(out, line)
		}
	}
	return bytes.Join(out, nil)
}

// InstallCRDYAML is InstallCRD for a definition of the test's own: one CustomResourceDefinition as YAML or JSON.
func (c *Cluster) InstallCRDYAML(t testing.TB, definition []byte) {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(definition, &o.Object); err != nil {
		t.Fatalf("custom resource definition: %v", err)
	}
	crds := c.Dynamic(t).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions",
	})
	if _, err := crds.Create(t.Context(), &o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("custom resource definition %s: %v", o.GetName(), err)
	}
	Eventually(t, "the kind "+o.GetName(), func(ctx context.Context) error {
		got, err := crds.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return established(got)
	})
	gvr, err := served(&o)
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "objects of "+o.GetName(), func(ctx context.Context) error {
		_, err := c.Dynamic(t).Resource(gvr).List(ctx, metav1.ListOptions{})
		return err
	})
}

func established(crd *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("not established yet: %v", conditions)
}

// served is the first version that the definition serves.
func served(crd *unstructured.Unstructured) (schema.GroupVersionResource, error) {
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	plural, _, err := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			name, _ := m["name"].(string)
			return schema.GroupVersionResource{Group: group, Version: name, Resource: plural}, nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("%s serves no version", crd.GetName())
}
