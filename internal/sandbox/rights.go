package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vllm-medic/vllm-medic/deploy/kubernetes"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// roleFile is what is read of the objects in deploy/kubernetes/rbac.yaml: roles have rules, bindings the rest.
type roleFile struct {
	Kind     string              `json:"kind"`
	Metadata metav1.ObjectMeta   `json:"metadata"`
	Rules    []rbacv1.PolicyRule `json:"rules"`
	RoleRef  rbacv1.RoleRef      `json:"roleRef"`
	Subjects []rbacv1.Subject    `json:"subjects"`
}

// grantRights gives the bot what deploy/kubernetes/rbac.yaml gives it, in the namespaces that the file names.
func grantRights(kube *kubeapi.Server) error {
	objects, err := rolesIn(kubernetes.RBAC)
	if err != nil {
		return err
	}
	for _, binding := range objects {
		for _, subject := range binding.Subjects {
			rules := rulesOf(objects, binding)
			if rules == nil || "system:serviceaccount:"+subject.Namespace+":"+subject.Name != botUser {
				continue // a role of Kubernetes itself, about objects that the sandbox doesn't have
			}
			kube.Grant(botUser, binding.Metadata.Namespace, rules...)
		}
	}
	return nil
}

func rolesIn(manifest []byte) ([]roleFile, error) {
	var out []roleFile
	for dec := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest)); ; {
		var o roleFile
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the permissions of the bot: %w", err)
		}
		out = append(out, o)
	}
}

// rulesOf are those of the role that a binding names; nil when the file doesn't have it.
func rulesOf(objects []roleFile, binding roleFile) []rbacv1.PolicyRule {
	for _, role := range objects {
		if role.Kind == binding.RoleRef.Kind && role.Metadata.Name == binding.RoleRef.Name &&
			(role.Kind == "ClusterRole" || role.Metadata.Namespace == binding.Metadata.Namespace) {
			return role.Rules
		}
	}
	return nil
}
