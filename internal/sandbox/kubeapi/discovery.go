package kubeapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// release is the one of Kubernetes whose behavior is imitated.
const (
	releaseMajor = "1"
	releaseMinor = "37"
	release      = "v1.37.2+sandbox"
)

// aggregated is how a client asks for all kinds at once.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// serveOther answers what is asked about the server itself: its health, its version and its kinds.
func (s *Server) serveOther(a answer, r *http.Request, who user) {
	path := strings.Trim(r.URL.Path, "/")
	public := slices.Contains([]string{"healthz", "livez", "readyz", "version"}, path)
	switch {
	case !public && !slices.Contains(who.groups, authenticated):
		a.refuse(apierrors.NewForbidden(schema.GroupResource{}, "", errPath(who, r.URL.Path)))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		a.refuse(apierrors.NewMethodNotSupported(schema.GroupResource{}, strings.ToLower(r.Method)))
	case path == "version":
		a.object(http.StatusOK, version.Info{Major: releaseMajor, Minor: releaseMinor, GitVersion: release})
	case public:
		a.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = a.Write([]byte("ok")) // a client that has gone needs no answer
	default:
		s.discover(a, path, strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList"))
	}
}

// discover answers which kinds there are.
func (s *Server) discover(a answer, path string, whole bool) {
	kinds := s.served()
	parts := strings.Split(path, "/")
	switch {
	case whole && (path == "api" || path == "apis"):
		a.body(http.StatusOK, aggregated, discovered(kinds, path == "api"))
	case path == "api":
		a.object(http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
	case path == "apis":
		out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, gv := range versions(kinds) {
			if gv.Group != "" {
				out.Groups = append(out.Groups, group(gv))
			}
		}
		a.object(http.StatusOK, out)
	case parts[0] == "apis" && len(parts) == 2:
		for _, gv := range versions(kinds) {
			if gv.Group == parts[1] {
				g := group(gv)
				g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				a.object(http.StatusOK, g)
				return
			}
		}
		a.nothingHere()
	default:
		gv := schema.GroupVersion{Version: parts[len(parts)-1]}
		if parts[0] == "apis" && len(parts) == 3 {
			gv.Group = parts[1]
		}
		if !slices.Contains(versions(kinds), gv) || len(parts) > 3 || parts[0] == "api" && len(parts) != 2 ||
			parts[0] != "api" && parts[0] != "apis" {
			if parts[0] == "apis" && len(parts) == 3 && hasGroup(kinds, gv.Group) {
				a.refuse(noResource())
				return
			}
			a.nothingHere()
			return
		}
		a.object(http.StatusOK, resources(kinds, gv))
	}
}

// served are all kinds in a fixed order.
func (s *Server) served() []*kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*kind, 0, len(s.kinds))
	for _, k := range s.kinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Resource, b.Resource))
	})
	return out
}

func versions(kinds []*kind) []schema.GroupVersion {
	var out []schema.GroupVersion
	add := func(gv schema.GroupVersion) {
		if !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	for _, k := range kinds {
		add(k.GroupVersion())
	}
	return out
}

func hasGroup(kinds []*kind, group string) bool {
	return slices.ContainsFunc(kinds, func(k *kind) bool { return k.Group == group })
}

func group(gv schema.GroupVersion) metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
	return metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
}

// verbs are those of the kind itself, and of one of its subresources.
func (k *kind) verbs(sub string) metav1.Verbs {
	switch {
	case k.Group == reviewGroup || k.Group == tokenGroup:
		return metav1.Verbs{"create"}
	case sub == "log":
		return metav1.Verbs{"get"}
	case sub != "":
		return metav1.Verbs{"get", "patch", "update"}
	}
	return metav1.Verbs{"create", "delete", "get", "list", "patch", "update"}
}

func resources(kinds []*kind, gv schema.GroupVersion) metav1.APIResourceList {
	out := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
		APIResources: []metav1.APIResource{},
	}
	for _, k := range kinds {
		if k.GroupVersion() != gv {
			continue
		}
		out.APIResources = append(out.APIResources, metav1.APIResource{
			Name: k.Resource, SingularName: k.singular, Namespaced: k.namespaced, Kind: k.Kind, Verbs: k.verbs(""),
			ShortNames: k.short,
		})
		for _, sub := range k.subresources() {
			r := metav1.APIResource{
				Name: k.Resource + "/" + sub, Namespaced: k.namespaced, Kind: k.Kind, Verbs: k.verbs(sub),
			}
			if sub == "scale" {
				r.Group, r.Version, r.Kind = scaleKind.Group, scaleKind.Version, scaleKind.Kind
			}
			out.APIResources = append(out.APIResources, r)
		}
	}
	return out
}

// discovered is all of it in one answer, for the core or for all other groups.
func discovered(kinds []*kind, core bool) apidiscoveryv2.APIGroupDiscoveryList {
	out := apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []apidiscoveryv2.APIGroupDiscovery{},
	}
	for _, gv := range versions(kinds) {
		if (gv.Group == "") != core {
			continue
		}
		v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, k := range kinds {
			if k.GroupVersion() == gv {
				v.Resources = append(v.Resources, k.discovery())
			}
		}
		out.Items = append(out.Items, apidiscoveryv2.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: gv.Group}, Versions: []apidiscoveryv2.APIVersionDiscovery{v},
		})
	}
	return out
}

func (k *kind) discovery() apidiscoveryv2.APIResourceDiscovery {
	scope := apidiscoveryv2.ScopeCluster
	if k.namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: k.Resource, SingularResource: k.singular, Scope: scope, Verbs: k.verbs(""), ShortNames: k.short,
		ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
	}
	for _, sub := range k.subresources() {
		kind := metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
		if sub == "scale" {
			kind = metav1.GroupVersionKind(scaleKind)
		}
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: sub, Verbs: k.verbs(sub), ResponseKind: &kind,
		})
	}
	return out
}
