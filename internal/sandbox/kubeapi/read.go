package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// get returns an object, which the caller must not change.
func (s *Server) get(k *kind, namespace, name string) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(k, namespace, name)
}

// find is get under the lock.
func (s *Server) find(k *kind, namespace, name string) (*unstructured.Unstructured, error) {
	if o := s.store.objects[k.key(namespace, name)]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.GroupResource(), name)
}

// page is where a list goes on: after this object, in this version.
type page struct {
	Version uint64 `json:"rv"`
	After   string `json:"start"`
}

// list returns the objects of a kind that are asked for.
func (s *Server) list(k *kind, namespace string, opts metav1.ListOptions) (map[string]any, error) {
	wanted, err := k.selector(opts)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	version, after, err := s.from(opts)
	if err != nil {
		return nil, err
	}
	objects, err := s.store.at(version)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{"resourceVersion": strconv.FormatUint(version, 10)}
	if k.custom() {
		meta["continue"] = "" // where other kinds leave it out
	}
	items := []any{}
	rest := int64(0)
	last := ""
	for _, at := range among(objects, k.GroupResource(), namespace) {
		place := at.namespace + "/" + at.name
		if place <= after || !wanted(objects[at]) {
			continue
		}
		if opts.Limit > 0 && int64(len(items)) == opts.Limit {
			rest++
			continue
		}
		items, last = append(items, k.item(objects[at])), place
	}
	if rest > 0 {
		if meta["continue"], err = next(page{Version: version, After: last}); err != nil {
			return nil, err
		}
		if opts.LabelSelector == "" && opts.FieldSelector == "" {
			meta["remainingItemCount"] = rest
		}
	}
	return map[string]any{
		"kind": k.Kind + "List", "apiVersion": k.GroupVersion().String(), "metadata": meta, "items": items,
	}, nil
}

// item is an object in a list: those of Kubernetes' kinds do not repeat what they are.
func (k *kind) item(o *unstructured.Unstructured) map[string]any {
	if k.custom() {
		return o.Object
	}
	out := make(map[string]any, len(o.Object))
	for name, v := range o.Object {
		if name != "kind" && name != "apiVersion" {
			out[name] = v
		}
	}
	return out
}

// from is the version that a list is of, and the object that it goes on after.
func (s *Server) from(opts metav1.ListOptions) (version uint64, after string, err error) {
	if opts.Continue != "" {
		var p page
		b, err := base64.RawURLEncoding.DecodeString(opts.Continue)
		if err == nil {
			err = json.Unmarshal(b, &p)
		}
		if err != nil || p.Version == 0 {
			return 0, "", apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", err))
		}
		return p.Version, p.After, nil
	}
	if opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		version, err := strconv.ParseUint(opts.ResourceVersion, 10, 64)
		if err != nil {
			return 0, "", apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q: %v", opts.ResourceVersion, err))
		}
		return version, "", nil
	}
	return s.store.version, "", nil
}

func next(p page) (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("continue token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// selector is what a list is selected by.
func (k *kind) selector(opts metav1.ListOptions) (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(opts.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, r := range byField.Requirements() {
		if !k.selectable(r.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", r.Field))
		}
	}
	return func(o *unstructured.Unstructured) bool {
		return byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(k.fieldsOf(o))
	}, nil
}

func (k *kind) selectable(label string) bool {
	_, own := k.fields[label]
	return own || label == "metadata.name" || k.namespaced && label == "metadata.namespace"
}

// fieldsOf are the fields of an object that lists can be selected by.
func (k *kind) fieldsOf(o *unstructured.Unstructured) fields.Set {
	out := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	for label, path := range k.fields {
		text, _, err := unstructured.NestedString(o.Object, path...)
		if err == nil { // a field of another shape has no text, and fits no selector that asks for one
			out[label] = text
		}
	}
	return out
}

// paths is a set of fields to select by, each under the name of its path.
func paths(names ...string) map[string][]string {
	out := make(map[string][]string, len(names))
	for _, n := range names {
		out[n] = strings.Split(n, ".")
	}
	return out
}
