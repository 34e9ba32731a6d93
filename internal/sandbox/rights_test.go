package sandbox

import (
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// The bot may do in the sandbox what vllm-medic rbac lets it do in a cluster, and nothing else.
func TestTheBotHasTheRightsOfItsConfiguration(t *testing.T) {
	t.Parallel()
	kube, err := kubeapi.New(kubeapi.Options{Users: []kubeapi.User{{Name: botUser, Token: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := addresses{page: "x", pages: "z", prometheus: "y"}
	cfg, err := config.Parse("medic.yaml", []byte(medicYAML(t.TempDir(), at)),
		config.Options{Profiles: builtin, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := grantRights(t.Context(), kube, app.Options{Config: cfg}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(kube)
	t.Cleanup(web.Close)
	client := clientOf(t, kube.Config(web.URL, botUser))
	for _, c := range []struct {
		may                                        bool
		verb, namespace, group, resource, on, name string
	}{
		{true, "get", "llm", "", "pods", "", ""},
		{true, "patch", "llm", "apps", "deployments", "scale", modelName},
		{true, "patch", "llm", "gateway.envoyproxy.io", "backendtrafficpolicies", "", modelName},
		{true, "list", "default", "", "events", "", ""},
		{true, "create", "", "authentication.k8s.io", "tokenreviews", "", ""},
		{false, "create", "llm", "gateway.envoyproxy.io", "backendtrafficpolicies", "", modelName},
		{false, "delete", "llm", "", "pods", "", ""},
		{false, "get", "llm", "", "secrets", "", ""},
		{false, "patch", "llm", "apps", "deployments", "scale", "another"},
		{false, "patch", "default", "apps", "deployments", "scale", modelName},
		{false, "list", "kube-system", "", "configmaps", "", ""},
	} {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: c.namespace, Verb: c.verb, Group: c.group, Resource: c.resource, Subresource: c.on,
					Name: c.name,
				},
			}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != c.may {
			t.Errorf("%+v: the bot may: %v", c, review.Status.Allowed)
		}
	}
}

func clientOf(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
