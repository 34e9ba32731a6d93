package kubetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Grant gives a user rights in a namespace and waits until the API server obeys them. Several grants add up. In a
// user's name, "system:serviceaccount:NAMESPACE:NAME" is a service account.
func (c *Cluster) Grant(t testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	k, name := c.Client(t), c.name("grant-")
	_, err := k.RbacV1().Roles(namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: marked(rules, name)}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("role for %s: %v", user, err)
	}
	_, err = k.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects(user),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("role binding for %s: %v", user, err)
	}
	c.obeyed(t, user, namespace, name)
}

// GrantAll is Grant in all namespaces, and for objects that are in none.
func (c *Cluster) GrantAll(t testing.TB, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	k, name := c.Client(t), c.name("grant-")
	_, err := k.RbacV1().ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: marked(rules, name)}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cluster role for %s: %v", user, err)
	}
	_, err = k.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects(user),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cluster role binding for %s: %v", user, err)
	}
	c.obeyed(t, user, "", name)
}

func subjects(user string) []rbacv1.Subject {
	if parts := strings.Split(user, ":"); len(parts) == 4 && strings.HasPrefix(user, "system:serviceaccount:") {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: parts[2], Name: parts[3]}}
	}
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
}

// grants is what the mark of a grant is a right to. There are no such objects.
var grants = schema.GroupResource{Group: "kubetest", Resource: "grants"}

// marked adds a rule that no other grant has. The authorizer sees all rules of a role at once, so that one question
// about this rule answers for all of them, also when an earlier grant allows some already.
func marked(rules []rbacv1.PolicyRule, name string) []rbacv1.PolicyRule {
	return append(slices.Clone(rules), rbacv1.PolicyRule{
		APIGroups: []string{grants.Group}, Resources: []string{grants.Resource}, ResourceNames: []string{name},
		Verbs: []string{"get"},
	})
}

// obeyed waits until the authorizer has seen a grant.
func (c *Cluster) obeyed(t testing.TB, user, namespace, name string) {
	t.Helper()
	k := c.Client(t)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "get", Group: grants.Group, Resource: grants.Resource, Name: name,
		},
	}}
	Eventually(t, "the rights of "+user, func(ctx context.Context) error {
		got, err := k.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if !got.Status.Allowed {
			return fmt.Errorf("not allowed yet: %s", got.Status.Reason)
		}
		return nil
	})
}
