package kubeapi

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// How is how a write is made: as whom, and whether it is kept.
type how struct {
	manager string
	dryRun  bool
	// patch says that the object was not sent whole.
	patch bool
	// apply merges what one manager wants; force takes fields from others.
	apply, force bool
}

// create keeps a new object, whose fields are the server's from now on, and returns it.
func (s *Server) create(k *kind, namespace string, o *unstructured.Unstructured, h how) (
	*unstructured.Unstructured, error,
) {
	if err := s.checkPlace(k, namespace, o); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.namespaced && s.store.objects[key{schema.GroupResource{Resource: "namespaces"}, "", namespace}] == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, namespace)
	}
	if err := s.birth(k, namespace, o); err != nil {
		return nil, err
	}
	if err := k.checkNew(o); err != nil {
		return nil, err
	}
	if s.store.objects[k.key(namespace, o.GetName())] != nil {
		return nil, apierrors.NewAlreadyExists(k.GroupResource(), o.GetName())
	}
	m, err := k.manager(s.converter, "")
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !h.apply { // an apply has them already
		empty, err := k.empty()
		if err == nil {
			o, err = asObject(m.Update(empty, o, h.manager))
		}
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	s.stamp(nil, o)
	if h.dryRun {
		return o, nil
	}
	return o, s.keep(k, o)
}

// birth sets what only the server sets.
func (s *Server) birth(k *kind, namespace string, o *unstructured.Unstructured) error {
	if o.GetName() == "" && o.GetGenerateName() != "" {
		const suffix = 5
		o.SetName(o.GetGenerateName() + rand.String(suffix))
	}
	if k.namespaced {
		o.SetNamespace(namespace)
	}
	o.SetUID(uuid.NewUUID())
	o.SetResourceVersion("")
	o.SetCreationTimestamp(s.now())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetSelfLink("")
	o.SetGeneration(0)
	if k.generation {
		o.SetGeneration(1)
	}
	if k.status {
		delete(o.Object, "status")
	}
	switch empty, err := k.empty(); {
	case err != nil:
		return apierrors.NewInternalError(err)
	case k.graceful:
		o.Object["status"] = map[string]any{"phase": "Pending"}
	case k.status && !k.custom():
		o.Object["status"] = empty.Object["status"]
	}
	return nil
}

// checkPlace refuses an object that says that it belongs elsewhere.
func (s *Server) checkPlace(k *kind, namespace string, o *unstructured.Unstructured) error {
	switch ns := o.GetNamespace(); {
	case k.namespaced && namespace == "":
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	case ns != "" && ns != namespace && k.namespaced:
		return apierrors.NewBadRequest(
			"the namespace of the provided object does not match the namespace sent on the request")
	case o.GetResourceVersion() != "":
		// The API server's storage refuses it in words of its own.
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "resourceVersion should not be set on objects to be created",
		}}
	}
	return nil
}

// checkNew says what is wrong with an object that is to be made.
func (k *kind) checkNew(o *unstructured.Unstructured) error {
	all := apivalidation.ValidateObjectMetaAccessor(o, k.namespaced, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	more, err := k.problems(o, nil)
	return k.invalid(o.GetName(), append(all, more...), err)
}

func (k *kind) invalid(name string, all field.ErrorList, err error) error {
	switch {
	case err != nil:
		return apierrors.NewInternalError(err)
	case len(all) > 0:
		return apierrors.NewInvalid(k.gvk().GroupKind(), name, all)
	}
	return nil
}

// problems are what the kind itself says is wrong with an object.
func (k *kind) problems(o, old *unstructured.Unstructured) (field.ErrorList, error) {
	if k.custom() {
		return k.checkSchema(o), nil
	}
	if k.check == nil {
		return nil, nil
	}
	now, err := k.intoTyped(o)
	if err != nil {
		return nil, err
	}
	before, err := k.intoTyped(old)
	if err != nil {
		return nil, err
	}
	return k.check(now, before), nil
}

// update replaces an object, or one of its subresources, by what next makes of it.
func (s *Server) update(k *kind, sub, namespace, name string, h how,
	next func(now *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.find(k, namespace, name)
	if err != nil {
		return nil, err
	}
	o, err := next(old.DeepCopy())
	if err != nil {
		return nil, err
	}
	if err := k.checkSame(old, o, h.patch); err != nil {
		return nil, err
	}
	if sub == "scale" { // its own fields are managed by the caller
		return s.replace(k, sub, old, o, h)
	}
	k.carryOver(sub, old, o)
	if equality.Semantic.DeepEqual(old.Object, o.Object) {
		return o, nil // what changes nothing makes no new version, and nobody has set anything
	}
	if !h.apply {
		m, err := k.manager(s.converter, sub)
		if err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		if o, err = asObject(m.Update(old.DeepCopy(), o, h.manager)); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	return s.replace(k, sub, old, o, h)
}

// replace checks what an object would become, and keeps it.
func (s *Server) replace(k *kind, sub string, old, o *unstructured.Unstructured, h how) (
	*unstructured.Unstructured, error,
) {
	all := apivalidation.ValidateObjectMetaAccessorUpdate(o, old, field.NewPath("metadata"))
	more, err := k.problems(o, old)
	if err := k.invalid(old.GetName(), append(all, more...), err); err != nil {
		return nil, err
	}
	if k.generation && !equality.Semantic.DeepEqual(old.Object["spec"], o.Object["spec"]) ||
		k.notes && sub == "" && !equality.Semantic.DeepEqual(old.GetAnnotations(), o.GetAnnotations()) {
		o.SetGeneration(old.GetGeneration() + 1)
	}
	s.stamp(old, o)
	if h.dryRun || equality.Semantic.DeepEqual(old.Object, o.Object) {
		return o, nil // what changes nothing makes no new version
	}
	return o, s.keep(k, o)
}

// checkSame refuses a change that was made for another object, or for another version of it. A patch that writes
// another UID is refused as one of what never changes.
func (k *kind) checkSame(old, o *unstructured.Unstructured, patched bool) error {
	if uid := o.GetUID(); uid != "" && uid != old.GetUID() && !patched {
		return apierrors.NewConflict(k.GroupResource(), old.GetName(),
			//nolint:staticcheck // the API server's words
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old.GetUID()))
	}
	switch version := o.GetResourceVersion(); {
	case version == "" && !k.unconditional:
		of := schema.GroupKind{Group: k.Group, Kind: k.Resource} // the API server names the resource here
		return apierrors.NewInvalid(of, old.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case version != "" && version != old.GetResourceVersion():
		return apierrors.NewConflict(k.GroupResource(), old.GetName(), errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// carryOver keeps what a write to this subresource does not change.
func (k *kind) carryOver(sub string, old, o *unstructured.Unstructured) {
	if sub == "status" {
		now := o.Object["status"]
		fields := o.GetManagedFields()
		notes := o.GetAnnotations()
		o.Object = old.DeepCopy().Object
		o.SetManagedFields(fields)
		if !k.custom() {
			o.SetAnnotations(notes)
		}
		if o.Object["status"] = now; now == nil {
			delete(o.Object, "status")
		}
		return
	}
	if status, has := old.Object["status"]; k.status {
		if o.Object["status"] = status; !has {
			delete(o.Object, "status")
		}
	}
	if o.GetUID() == "" {
		o.SetUID(old.GetUID())
	}
	o.SetResourceVersion(old.GetResourceVersion())
	o.SetCreationTimestamp(old.GetCreationTimestamp())
	o.SetDeletionTimestamp(old.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	o.SetGeneration(old.GetGeneration())
	o.SetGenerateName(old.GetGenerateName())
}

// stamp gives what was managed just now the server's time: the code of the API server takes the machine's.
func (s *Server) stamp(old, o *unstructured.Unstructured) {
	var before []metav1.ManagedFieldsEntry
	if old != nil {
		before = old.GetManagedFields()
	}
	same := func(a, b metav1.ManagedFieldsEntry) bool {
		return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource && a.Time.Equal(b.Time)
	}
	all := o.GetManagedFields()
	for i := range all {
		known := false
		for _, b := range before {
			known = known || same(all[i], b)
		}
		if now := s.now(); !known && all[i].Time != nil {
			all[i].Time = &now
		}
	}
	o.SetManagedFields(all)
}

// keep stores an object, takes it away when nothing holds it any more, and tells whoever watches.
func (s *Server) keep(k *kind, o *unstructured.Unstructured) error {
	at := k.key(o.GetNamespace(), o.GetName())
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 &&
		(o.GetDeletionGracePeriodSeconds() == nil || *o.GetDeletionGracePeriodSeconds() == 0) {
		s.store.remove(at)
	} else {
		s.store.put(at, o)
	}
	s.changed()
	if k.Group == definitions.Group {
		return s.define(o)
	}
	return nil
}

// remove deletes an object, or asks it to end.
func (s *Server) remove(k *kind, namespace, name string, opts metav1.DeleteOptions) (
	o *unstructured.Unstructured, gone bool, err error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.find(k, namespace, name)
	if err != nil {
		return nil, false, err
	}
	if err := k.checkPreconditions(old, opts.Preconditions); err != nil {
		return nil, false, err
	}
	o = old.DeepCopy()
	grace := k.grace(o, opts.GracePeriodSeconds)
	if o.GetDeletionTimestamp() == nil || o.GetDeletionGracePeriodSeconds() == nil ||
		grace < *o.GetDeletionGracePeriodSeconds() {
		at := metav1.NewTime(s.now().Add(seconds(grace)))
		o.SetDeletionTimestamp(&at)
		o.SetDeletionGracePeriodSeconds(&grace)
		if k.generation {
			o.SetGeneration(o.GetGeneration() + 1)
		}
	}
	if p := opts.PropagationPolicy; p != nil && *p == metav1.DeletePropagationForeground {
		o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerDeleteDependents))
	} else if p != nil && *p == metav1.DeletePropagationOrphan {
		o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerOrphanDependents))
	}
	gone = grace == 0 && len(o.GetFinalizers()) == 0
	if len(opts.DryRun) > 0 {
		return o, gone, nil
	}
	return o, gone, s.keep(k, o)
}

// grace is how long an object is given to end, in seconds. A pod that runs nowhere has nothing to end.
func (k *kind) grace(o *unstructured.Unstructured, asked *int64) int64 {
	if !k.graceful {
		return 0
	}
	if node, _, err := unstructured.NestedString(o.Object, "spec", "nodeName"); err != nil || node == "" {
		return 0
	}
	if asked != nil {
		return *asked
	}
	own, _, err := unstructured.NestedInt64(o.Object, "spec", "terminationGracePeriodSeconds")
	if err != nil {
		return 0
	}
	return own
}

func (k *kind) checkPreconditions(o *unstructured.Unstructured, p *metav1.Preconditions) error {
	of := schema.GroupResource{Group: k.Group, Resource: k.Kind}
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != o.GetUID():
		return apierrors.NewConflict(of, o.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match the UID "+
			"in record (%s). The object might have been deleted and then recreated", *p.UID, o.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion():
		return apierrors.NewConflict(of, o.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not "+
			"match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion,
			o.GetResourceVersion()))
	}
	return nil
}
