package kubeapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kept is how many changes can be looked back over, for lists of an earlier version.
const kept = 1000

// key names one object.
type key struct {
	kind            schema.GroupResource
	namespace, name string
}

func (k *kind) key(namespace, name string) key { return key{k.GroupResource(), namespace, name} }

// compare is the order of lists: the API server's, which is that of its keys.
func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

// change is one change with what was there before; nil for nothing.
type change struct {
	version uint64
	key     key
	before  *unstructured.Unstructured
}

// store has all objects. They are never changed in place, so that whoever got one may read it; the caller holds the
// server's lock.
type store struct {
	version uint64
	objects map[key]*unstructured.Unstructured
	log     []change
}

func newStore() store { return store{objects: map[key]*unstructured.Unstructured{}} }

// put keeps an object under a new version, which it is given.
func (s *store) put(at key, o *unstructured.Unstructured) {
	s.note(at)
	o.SetResourceVersion(strconv.FormatUint(s.version, 10))
	s.objects[at] = o
}

// remove forgets an object.
func (s *store) remove(at key) {
	s.note(at)
	delete(s.objects, at)
}

func (s *store) note(at key) {
	s.version++
	s.log = append(s.log, change{version: s.version, key: at, before: s.objects[at]})
	if len(s.log) > 2*kept {
		s.log = slices.Clone(s.log[len(s.log)-kept:])
	}
}

// at is what the store was like in an earlier version.
func (s *store) at(version uint64) (map[key]*unstructured.Unstructured, error) {
	switch {
	case version == s.version:
		return s.objects, nil
	case version > s.version:
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", version,
			s.version), 1)
	case len(s.log) == 0 || s.log[0].version > version+1:
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("The resourceVersion for the provided list is too old: %d",
			version))
	}
	out := maps.Clone(s.objects)
	for _, c := range slices.Backward(s.log) {
		if c.version <= version {
			break
		}
		if out[c.key] = c.before; c.before == nil {
			delete(out, c.key)
		}
	}
	return out, nil
}

// among are the keys of a kind in a namespace, or in all of them when it is empty, in the order of lists.
func among(objects map[key]*unstructured.Unstructured, kind schema.GroupResource, namespace string) []key {
	var out []key
	for k := range objects {
		if k.kind == kind && (namespace == "" || k.namespace == namespace) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, key.compare)
	return out
}
