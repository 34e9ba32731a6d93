package kubeapi

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// place is what a path names, and what is asked of it.
type place struct {
	schema.GroupVersionResource

	kind                 *kind
	namespace, name, sub string
	verb                 string
	user                 user
}

// place reads a path. ok is false for paths that name no resource.
func (s *Server) place(path string) (out place, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		out.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		out.Group, out.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return out, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		out.namespace, parts = parts[1], parts[2:]
	}
	const most = 3
	if len(parts) > most {
		return out, false
	}
	out.Resource = parts[0]
	if len(parts) > 1 {
		out.name = parts[1]
	}
	if len(parts) > 2 {
		out.sub = parts[2]
	}
	out.kind = s.kindOf(out.GroupVersionResource)
	return out, true
}

// verbOf is what a request does, in the words of rights.
func (p place) verbOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		switch watch := r.URL.Query().Get("watch"); {
		case watch == "true" || watch == "1":
			return "watch"
		case p.name == "":
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if p.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return ""
}

// resource is what rights call it: "deployments/scale".
func (p place) resource() string {
	if p.sub == "" {
		return p.Resource
	}
	return p.Resource + "/" + p.sub
}
