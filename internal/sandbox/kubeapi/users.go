package kubeapi

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User is somebody with a token.
type User struct {
	Name, Token string
	Groups      []string
	// Audience is what the token is for; empty: for the API server itself.
	Audience string
}

// Administrators is the group that may do everything.
const Administrators = "system:masters"

const (
	anonymous       = "system:anonymous"
	unauthenticated = "system:unauthenticated"
	authenticated   = "system:authenticated"
)

// user is who asks.
type user struct {
	name   string
	groups []string
}

// grant gives one user or group rights in a namespace, or everywhere when it is empty.
type grant struct {
	subject   string
	namespace string
	rules     []rbacv1.PolicyRule
}

// rights are what people may do. They add up.
type rights struct {
	mu     sync.RWMutex
	grants []grant
}

// Grant gives a user or a group rights in a namespace; everywhere when it is empty. They hold at once, and several add
// up. Resource names, and "*" for verbs, groups and resources, mean what they mean in a Role.
func (s *Server) Grant(subject, namespace string, rules ...rbacv1.PolicyRule) {
	s.rights.mu.Lock()
	defer s.rights.mu.Unlock()
	s.rights.grants = append(s.rights.grants, grant{subject, namespace, slices.Clone(rules)})
}

// right is one thing that somebody wants to do.
type right struct {
	verb, group, resource, namespace, name string
}

func (r *rights) allow(who user, want right) bool {
	if slices.Contains(who.groups, Administrators) {
		return true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.ContainsFunc(r.grants, func(g grant) bool {
		return (g.subject == who.name || slices.Contains(who.groups, g.subject)) &&
			(g.namespace == "" || g.namespace == want.namespace) && slices.ContainsFunc(g.rules, want.in)
	})
}

// in says whether a rule allows it.
func (want right) in(rule rbacv1.PolicyRule) bool {
	has := func(list []string, one string) bool {
		return slices.Contains(list, one) || slices.Contains(list, "*")
	}
	_, sub, isSub := strings.Cut(want.resource, "/")
	return has(rule.Verbs, want.verb) && has(rule.APIGroups, want.group) &&
		(has(rule.Resources, want.resource) || isSub && slices.Contains(rule.Resources, "*/"+sub)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, want.name))
}

// authenticate finds out who asks. Who shows nothing is nobody; who shows a token that is nobody's is refused.
func (s *Server) authenticate(r *http.Request) (user, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return user{name: anonymous, groups: []string{unauthenticated}}, nil
	}
	token, ok := strings.CutPrefix(header, "Bearer ")
	if ok {
		if u := s.owner(token); u != nil && u.Audience == "" {
			return s.impersonate(u.identity(), r)
		}
	}
	return user{}, apierrors.NewUnauthorized("Unauthorized")
}

// impersonate makes somebody who may do so act as the user that the request names.
func (s *Server) impersonate(who user, r *http.Request) (user, error) {
	name := r.Header.Get("Impersonate-User")
	if name == "" {
		return who, nil
	}
	want := right{verb: "impersonate", resource: "users", name: name}
	if !s.rights.allow(who, want) {
		return user{}, apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, name, fmt.Errorf(
			"User %q cannot impersonate resource \"users\" in API group \"\" at the cluster scope", who.name))
	}
	return user{name: name, groups: append(slices.Clone(r.Header.Values("Impersonate-Group")), authenticated)}, nil
}

// owner is whose token it is; nil when nobody's.
func (s *Server) owner(token string) *User {
	for i, u := range s.opts.Users {
		if u.Token != "" && subtle.ConstantTimeCompare([]byte(u.Token), []byte(token)) == 1 {
			return &s.opts.Users[i]
		}
	}
	return nil
}

func (u User) identity() user {
	return user{name: u.Name, groups: append(slices.Clone(u.Groups), authenticated)}
}

// authorize refuses what a user may not do. Everybody with a token may ask for their own rights.
func (s *Server) authorize(p place) error {
	own := p.Group == reviewGroup && p.Resource == "selfsubjectaccessreviews" && p.verb == "create"
	if own && slices.Contains(p.user.groups, authenticated) {
		return nil
	}
	want := right{p.verb, p.Group, p.resource(), p.namespace, p.name}
	if p.Group == "" && p.Resource == "namespaces" {
		want.namespace = p.name
	}
	if s.rights.allow(p.user, want) {
		return nil
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q", p.user.name, p.verb, p.resource(), p.Group)
	if want.namespace != "" {
		text += fmt.Sprintf(" in the namespace %q", want.namespace)
	} else {
		text += " at the cluster scope"
	}
	return apierrors.NewForbidden(p.GroupResource(), p.name, errors.New(text))
}

// errPath says that somebody may not ask for a path.
func errPath(who user, path string) error {
	return fmt.Errorf("User %q cannot get path %q", who.name, path)
}
