package kubetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Enforce puts admission policies in force for all objects, and waits until the API server obeys them.
func (c *Cluster) Enforce(t testing.TB, policies ...admissionv1.ValidatingAdmissionPolicy) {
	t.Helper()
	mark := c.name("enforced-")
	k := c.Client(t).AdmissionregistrationV1()
	for _, p := range append(policies, marker(mark)) {
		if _, err := k.ValidatingAdmissionPolicies().Create(t.Context(), &p, metav1.CreateOptions{}); err != nil {
			t.Fatalf("policy %s: %v", p.Name, err)
		}
		_, err := k.ValidatingAdmissionPolicyBindings().Create(t.Context(),
			&admissionv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: p.Name},
				Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				},
			}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("binding of policy %s: %v", p.Name, err)
		}
	}
	// The API server takes all policies in at once, so that the last one answers for the others.
	Eventually(t, "the policies are in force", func(ctx context.Context) error {
		_, err := c.Client(t).CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: mark}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("they are not obeyed yet")
		}
		return nil
	})
}

// marker refuses one ConfigMap that nobody makes.
func marker(name string) admissionv1.ValidatingAdmissionPolicy {
	return admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule: admissionv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
					},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "mark", Expression: fmt.Sprintf("object.metadata.name == %q", name),
			}},
			Validations: []admissionv1.Validation{{Expression: "false"}},
		},
	}
}
