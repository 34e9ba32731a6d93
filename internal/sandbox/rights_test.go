package sandbox

import (
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// The bot may do in the sandbox what deploy/kubernetes/rbac.yaml lets it do in a cluster, and nothing else.
func TestTheBotHasTheRightsThatAreDeployed(t *testing.T) {
	t.Parallel()
	kube, err := kubeapi.New(kubeapi.Options{Users: []kubeapi.User{{Name: botUser, Token: "t"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := grantRights(kube); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(kube)
	t.Cleanup(web.Close)
	client := clientOf(t, kube.Config(web.URL, botUser))
	for _, c := range []struct {
		may                                  bool
		verb, namespace, group, resource, on string
	}{
		{true, "get", "llm", "", "pods", ""},
		{true, "patch", "llm", "apps", "deployments", "scale"},
		{true, "patch", "llm", "gateway.envoyproxy.io", "backendtrafficpolicies", ""},
		{true, "list", "default", "", "events", ""},
		{true, "create", "", "authentication.k8s.io", "tokenreviews", ""},
		{true, "get", "", "apiextensions.k8s.io", "customresourcedefinitions", ""},
		{false, "create", "llm", "gateway.envoyproxy.io", "backendtrafficpolicies", ""},
		{false, "delete", "llm", "", "pods", ""},
		{false, "get", "llm", "", "secrets", ""},
		{false, "patch", "default", "apps", "deployments", "scale"},
		{false, "list", "kube-system", "", "configmaps", ""},
	} {
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: c.namespace, Verb: c.verb, Group: c.group, Resource: c.resource, Subresource: c.on,
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

func TestAPermissionFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := rolesIn([]byte("kind: Role\n---\nrules: 7\n")); err == nil {
		t.Error("a list of rules that is a number was taken")
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
