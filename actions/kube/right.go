package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Right is one verb on one resource in one namespace; of one object, unless Name is empty.
type Right struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// Need is a right that a knob uses.
type Need struct {
	Right

	// Optional says that the knob works without it. Without then says what is unknown.
	Optional bool
	Without  string
}

// String is `patch deployments.apps/scale "llama-70b" in namespace llm`.
func (r Right) String() string {
	s := r.Verb + " " + r.Resource
	if r.Group != "" {
		s += "." + r.Group
	}
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	if r.Name != "" {
		s += fmt.Sprintf(" %q", r.Name)
	}
	if r.Namespace == "" { // the object is in none
		return s
	}
	return s + " in namespace " + r.Namespace
}

// For is the same right for another verb.
func (r Right) For(verb string) Right {
	r.Verb = verb
	return r
}

// Required says that a knob does not work without these rights.
func Required(rights ...Right) []Need {
	out := make([]Need, len(rights))
	for n, r := range rights {
		out[n] = Need{Right: r}
	}
	return out
}

// Attributes is the right as the API server is asked for it.
func (r Right) Attributes() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
}

// RightOf is the right of which these are the Attributes.
func RightOf(a authorizationv1.ResourceAttributes) Right {
	return Right{
		Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
	}
}

// Lacks says that the bot lacks a right.
func Lacks(r Right) string { return fmt.Sprintf("the bot lacks permission to %s", r) }

// May asks the API server whether the bot has a right. Only a clear yes is yes.
func (c *Reader) May(ctx context.Context, r Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: new(r.Attributes()),
	}}
	got, err := c.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether the bot may %s: %w", r, err)
	}
	return got.Status.Allowed && !got.Status.Denied, nil
}
