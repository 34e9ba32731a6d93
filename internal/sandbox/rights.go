package sandbox

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// grantRights gives the bot what deploy/kubernetes/rbac.yaml gives it, as far as the sandbox has the kinds.
func grantRights(kube *kubeapi.Server) {
	kube.Grant(botUser, "",
		rule("create", "authentication.k8s.io", "tokenreviews"),
		rule("create", "authorization.k8s.io", "subjectaccessreviews"))
	kube.Grant(botUser, namespace,
		rule("get", "", "pods", "pods/log"), rule("list", "", "pods", "events"),
		rule("get", "apps", "deployments", "replicasets", "deployments/scale"),
		rule("list", "apps", "replicasets", "controllerrevisions"),
		rule("list", "autoscaling", "horizontalpodautoscalers"),
		rule("patch", "apps", "deployments", "deployments/scale"))
	kube.Grant(botUser, "default", rule("list", "", "events"))
}

func rule(verb, group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: resources}
}
