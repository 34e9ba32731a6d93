package kubeapi

import (
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	reviewGroup = "authorization.k8s.io"
	tokenGroup  = "authentication.k8s.io"
)

// reviews are the questions that are answered and not kept.
func reviews() []*kind {
	one := func(group, resource, name string, typed func() runtime.Object) *kind {
		return &kind{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
			Kind:                 name, singular: name, typed: typed,
		}
	}
	return []*kind{
		one(reviewGroup, "selfsubjectaccessreviews", "SelfSubjectAccessReview",
			func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }),
		one(reviewGroup, "subjectaccessreviews", "SubjectAccessReview",
			func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }),
		one(tokenGroup, "tokenreviews", "TokenReview",
			func() runtime.Object { return &authenticationv1.TokenReview{} }),
	}
}

func (p place) isReview() bool {
	return p.kind != nil && p.verb == "create" && p.sub == "" && p.name == "" && p.namespace == "" &&
		(p.Group == reviewGroup || p.Group == tokenGroup)
}

// review answers a question about rights or a token.
func (s *Server) review(a answer, r *http.Request, p place) error {
	o, warnings, err := p.kind.read(r, values(r).Get("fieldValidation"))
	if err != nil {
		return err
	}
	typed, err := p.kind.intoTyped(o)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	switch review := typed.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		review.Status, err = s.answerFor(p.kind, p.user, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	case *authorizationv1.SubjectAccessReview:
		if review.Spec.User == "" && len(review.Spec.Groups) == 0 {
			return p.kind.invalid("", field.ErrorList{field.Invalid(field.NewPath("spec", "user"), review.Spec.User,
				"at least one of user or group must be specified")}, nil)
		}
		who := user{name: review.Spec.User, groups: review.Spec.Groups}
		review.Status, err = s.answerFor(p.kind, who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	case *authenticationv1.TokenReview:
		if review.Spec.Token == "" {
			return apierrors.NewBadRequest("token is required for TokenReview in authentication")
		}
		review.Status = s.whose(review.Spec)
	}
	if err != nil {
		return err
	}
	if o, err = p.kind.whole(typed); err != nil {
		return apierrors.NewInternalError(err)
	}
	a.warn(warnings)
	a.object(http.StatusCreated, o.Object)
	return nil
}

// answerFor says whether somebody may do something.
func (s *Server) answerFor(
	k *kind, who user, what *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes,
) (authorizationv1.SubjectAccessReviewStatus, error) {
	if (what == nil) == (path == nil) {
		return authorizationv1.SubjectAccessReviewStatus{}, k.invalid("", field.ErrorList{field.Invalid(
			field.NewPath("spec", "resourceAttributes"), what,
			"exactly one of nonResourceAttributes or resourceAttributes must be specified")}, nil)
	}
	if path != nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: slices.Contains(who.groups, Administrators)}, nil
	}
	want := right{what.Verb, what.Group, what.Resource, what.Namespace, what.Name}
	if what.Subresource != "" {
		want.resource += "/" + what.Subresource
	}
	return authorizationv1.SubjectAccessReviewStatus{Allowed: s.rights.allow(who, want)}, nil
}

// whose says who owns a token, if it is for whom the question says.
func (s *Server) whose(spec authenticationv1.TokenReviewSpec) authenticationv1.TokenReviewStatus {
	u := s.owner(spec.Token)
	switch {
	case u == nil:
		return authenticationv1.TokenReviewStatus{Error: "[invalid bearer token]"}
	case u.Audience != "" && !slices.Contains(spec.Audiences, u.Audience),
		u.Audience == "" && len(spec.Audiences) > 0:
		return authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, token audiences are not those asked for]"}
	}
	id := u.identity()
	return authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: spec.Audiences, User: authenticationv1.UserInfo{Username: id.name, Groups: id.groups},
	}
}
