package kubetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Grant gives a user rights in a namespace and waits until the API server obeys them. Several grants add up. In a
// user's name, "system:serviceaccount:NAMESPACE:NAME" is a service account.
func (c *Cluster) Grant(t testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	k := c.Client(t)
	role, err := k.RbacV1().Roles(namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "grant-"}, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("role for %s: %v", user, err)
	}
	_, err = k.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subjects(user),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("role binding for %s: %v", user, err)
	}
	c.obeyed(t, user, namespace, rules)
}

// GrantAll is Grant in all namespaces, and for objects that are in none.
func (c *Cluster) GrantAll(t testing.TB, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	k := c.Client(t)
	role, err := k.RbacV1().ClusterRoles().Create(t.Context(),
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "grant-"}, Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cluster role for %s: %v", user, err)
	}
	_, err = k.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subjects(user),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cluster role binding for %s: %v", user, err)
	}
	c.obeyed(t, user, "", rules)
}

func subjects(user string) []rbacv1.Subject {
	if parts := strings.Split(user, ":"); len(parts) == 4 && strings.HasPrefix(user, "system:serviceaccount:") {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: parts[2], Name: parts[3]}}
	}
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
}

// obeyed waits until the authorizer has seen the rules.
func (c *Cluster) obeyed(t testing.TB, user, namespace string, rules []rbacv1.PolicyRule) {
	t.Helper()
	k := c.Client(t)
	for _, a := range questions(namespace, rules) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               user,
			ResourceAttributes: a,
		}}
		Eventually(t, fmt.Sprintf("%s's right to %s %s", user, a.Verb, a.Resource), func(ctx context.Context) error {
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
}

// questions asks for one thing that each rule allows.
func questions(namespace string, rules []rbacv1.PolicyRule) []*authorizationv1.ResourceAttributes {
	var out []*authorizationv1.ResourceAttributes
	for _, r := range rules {
		if len(r.Resources) == 0 || len(r.Verbs) == 0 || len(r.APIGroups) == 0 {
			continue // a rule for paths that are no resources
		}
		a := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: r.Verbs[0], Group: r.APIGroups[0]}
		a.Resource, a.Subresource, _ = strings.Cut(r.Resources[0], "/")
		if len(r.ResourceNames) > 0 {
			a.Name = r.ResourceNames[0]
		}
		out = append(out, a)
	}
	return out
}
