package diagnosis

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// kube is a Kubernetes API that only answers reads, with an incident's objects. Whatever would write is refused and
// remembered: diagnose promises that it writes nothing.
type kube struct {
	objects []object
	logs    map[string][]string // of the container before, by pod
	writes  chan string
}

// object is one stored object, with where it is found.
type object struct {
	resource  string // "apps/v1/deployments", "v1/pods"
	namespace string
	name      string
	labels    map[string]string
	fields    fields.Set
	body      any
}

// resources are the kinds that the API has.
func resources() map[string][]metav1.APIResource {
	r := func(name, kind string) metav1.APIResource {
		return metav1.APIResource{
			Name: name, Kind: kind, Namespaced: kind != "Node",
			Verbs: metav1.Verbs{"get", "list", "watch"},
		}
	}
	return map[string][]metav1.APIResource{
		"v1": {
			r("pods", "Pod"), r("pods/log", "Pod"), r("events", "Event"), r("nodes", "Node"),
			r("services", "Service"), r("endpoints", "Endpoints"),
		},
		"apps/v1": {
			r("deployments", "Deployment"), r("deployments/scale", "Scale"), r("replicasets", "ReplicaSet"),
			r("statefulsets", "StatefulSet"), r("controllerrevisions", "ControllerRevision"),
		},
		"autoscaling/v2": {r("horizontalpodautoscalers", "HorizontalPodAutoscaler")},
	}
}

// ServeHTTP implements http.Handler.
func (k *kube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		select {
		case k.writes <- r.Method + " " + r.URL.Path:
		default:
		}
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden, "this API only answers reads")
		return
	}
	path := strings.Trim(r.URL.Path, "/")
	if answer, ok := discovery(path); ok {
		write(w, http.StatusOK, answer)
		return
	}
	k.find(w, r, path)
}

// discovery answers what kinds there are.
func discovery(path string) (any, bool) {
	switch path {
	case "api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case "apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, gv := range []string{"apps/v1", "autoscaling/v2"} {
			group, v, _ := strings.Cut(gv, "/")
			known := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: v}
			list.Groups = append(list.Groups,
				metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{known}, PreferredVersion: known})
		}
		return list, true
	}
	gv, ok := strings.CutPrefix(path, "apis/")
	if !ok {
		gv, ok = strings.CutPrefix(path, "api/")
	}
	if known, has := resources()[gv]; ok && has {
		return metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv,
			APIResources: known,
		}, true
	}
	return nil, false
}

// find answers a get or a list of one resource.
func (k *kube) find(w http.ResponseWriter, r *http.Request, path string) {
	gv, rest, ok := groupVersion(path)
	if !ok {
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	namespace := ""
	if n, more, ok := strings.Cut(rest, "/"); ok && n == "namespaces" {
		namespace, rest, _ = strings.Cut(more, "/")
	}
	parts := strings.Split(rest, "/")
	known := slices.IndexFunc(resources()[gv], func(x metav1.APIResource) bool { return x.Name == parts[0] })
	switch {
	case known < 0 || len(parts) > 3:
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	case len(parts) == 1:
		k.list(w, r, gv, resources()[gv][known], namespace)
	case len(parts) == 3:
		k.sub(w, gv+"/"+parts[0], parts[1], parts[2])
	default:
		k.get(w, gv+"/"+parts[0], namespace, parts[1])
	}
}

func groupVersion(path string) (gv, rest string, ok bool) {
	for _, gv := range []string{"v1", "apps/v1", "autoscaling/v2"} {
		prefix := "apis/" + gv + "/"
		if gv == "v1" {
			prefix = "api/v1/"
		}
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return gv, rest, true
		}
	}
	return "", "", false
}

func (k *kube) get(w http.ResponseWriter, resource, namespace, name string) {
	for _, o := range k.objects {
		if o.resource == resource && o.namespace == namespace && o.name == name {
			write(w, http.StatusOK, o.body)
			return
		}
	}
	status(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", resource, name))
}

// sub answers the previous container's log; other subresources are not there.
func (k *kube) sub(w http.ResponseWriter, resource, name, sub string) {
	lines, ok := k.logs[name]
	if resource != "v1/pods" || sub != "log" {
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
		return
	}
	if !ok {
		status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest,
			fmt.Sprintf("previous terminated container %q in pod %q not found", container, name))
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return // the client went away; it says so itself
	}
}

func (k *kube) list(w http.ResponseWriter, r *http.Request, gv string, kind metav1.APIResource, namespace string) {
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	byField, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	items := []any{}
	for _, o := range k.objects {
		if o.resource == gv+"/"+kind.Name && (namespace == "" || o.namespace == namespace) &&
			byLabel.Matches(labels.Set(o.labels)) && byField.Matches(o.fields) {
			items = append(items, o.body)
		}
	}
	write(w, http.StatusOK, map[string]any{
		"kind": kind.Kind + "List", "apiVersion": gv, "metadata": map[string]any{"resourceVersion": "4711"}, "items": items,
	})
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, text string) {
	write(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code),
		Reason: reason, Message: text,
	})
}

func write(w http.ResponseWriter, code int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		return // the client went away; it says so itself
	}
}
