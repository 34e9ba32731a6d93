package kubeapi

import (
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxOperations is the API server's bound on one JSON Patch.
const maxOperations = 10000

// patchBody is a patch as it was sent.
type patchBody struct {
	kind types.PatchType
	text []byte
	// validation is what to do about unknown fields.
	validation string
}

// patchTypes are the kinds of patches that objects of a kind take.
func (k *kind) patchTypes() []string {
	out := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if !k.custom() {
		out = append(out, string(types.StrategicMergePatchType))
	}
	return append(out, string(types.ApplyYAMLPatchType))
}

// to applies the patch to an object of a kind, which decode reads. The warnings are for the client.
func (p patchBody) to(now map[string]any, empty func() runtime.Object,
	decode func(text []byte) (*unstructured.Unstructured, []error, error),
) (o *unstructured.Unstructured, warnings []error, err error) {
	before, err := utiljson.Marshal(now)
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	after, unknown, err := p.merged(before, empty)
	if err != nil {
		return nil, nil, err
	}
	o, more, err := decode(after)
	if unknown = append(unknown, more...); err == nil && p.validation == metav1.FieldValidationStrict && len(unknown) > 0 {
		err = runtime.NewStrictDecodingError(unknown)
	}
	if err != nil {
		return nil, nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(after), err.Error()),
		})
	}
	if p.validation != metav1.FieldValidationWarn {
		unknown = nil
	}
	return o, unknown, nil
}

// merged is the text of the object after the patch. unknown is what is wrong with the patch for a strict reader only.
func (p patchBody) merged(before []byte, empty func() runtime.Object) (after []byte, unknown []error, err error) {
	var shape any = &map[string]any{}
	if p.kind == types.JSONPatchType {
		shape = &[]any{}
	}
	if unknown, err = strictly(p.text, shape); err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	switch p.kind {
	case types.JSONPatchType:
		after, err = operate(before, p.text)
		for i := range unknown {
			unknown[i] = fmt.Errorf("json patch %w", unknown[i])
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, p.text)
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, p.text, empty())
	}
	var status apierrors.APIStatus
	if err != nil && !isStatus(err, &status) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return after, unknown, err
}

// operate runs a JSON Patch. A test that fails, and a path that is not there, make it one that cannot be processed.
func operate(before, text []byte) ([]byte, error) {
	ops, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, err
	}
	if len(ops) > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(ops)))
	}
	after, err := ops.Apply(before)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
			err.Error(), 0, false)
	}
	return after, nil
}

// strictly reads JSON and says which of its fields are there twice.
func strictly(text []byte, into any) ([]error, error) {
	return strictjson.UnmarshalStrict(text, into, strictjson.DisallowDuplicateFields)
}

// applied reads an apply patch, which is YAML or JSON.
func (k *kind) applied(text []byte, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	// YAML's numbers come as JSON's: whole ones have to be told from the others.
	if err := utiljson.ConvertMapNumbers(o.Object, 0); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if have := o.GroupVersionKind(); have != k.gvk() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API "+
			"version (%s)", have.GroupVersion(), k.GroupVersion()))
	}
	if o.GetName() != "" && o.GetName() != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", o.GetName(), name))
	}
	o.SetName(name)
	return o, nil
}

// patch changes an object, or its status, by a patch. The code is that of the answer: an apply may have made it.
func (s *Server) patch(k *kind, sub, namespace, name string, p patchBody, h how) (
	o *unstructured.Unstructured, code int, warnings []error, err error,
) {
	if p.kind == types.ApplyYAMLPatchType {
		o, code, err = s.apply(k, sub, namespace, name, p, h)
		return o, code, nil, err
	}
	o, err = s.update(k, sub, namespace, name, h, func(now *unstructured.Unstructured) (
		*unstructured.Unstructured, error,
	) {
		next, w, err := p.to(now.Object, k.typed, k.decodeText)
		if err != nil {
			return nil, err
		}
		warnings = w
		return next, k.checkNames(now, next)
	})
	return o, http.StatusOK, warnings, err
}

// checkNames refuses a patch that makes another object of it.
func (k *kind) checkNames(now, next *unstructured.Unstructured) error {
	if next.GroupVersionKind() != k.gvk() {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: the patch changes its kind "+
			"to %s", k.Kind, k.Version, k.Kind, next.GroupVersionKind()))
	}
	if next.GetName() != now.GetName() {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", next.GetName(), now.GetName()))
	}
	if next.GetNamespace() != now.GetNamespace() {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the " +
			"request")
	}
	return nil
}

// apply merges what one manager wants of an object, and makes it when there is none.
func (s *Server) apply(k *kind, sub, namespace, name string, p patchBody, h how) (
	o *unstructured.Unstructured, code int, err error,
) {
	h.apply = true
	want, err := k.applied(p.text, name)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	m, err := k.manager(s.converter, sub)
	_, missing := s.find(k, namespace, name)
	s.mu.Unlock()
	if err != nil {
		return nil, 0, apierrors.NewInternalError(err)
	}
	if missing != nil && sub == "" {
		live, err := k.empty()
		if err != nil {
			return nil, 0, apierrors.NewInternalError(err)
		}
		if o, err = asObject(m.Apply(live, want, h.manager, h.force)); err == nil {
			o, err = s.create(k, namespace, o, h)
		}
		return o, http.StatusCreated, err
	}
	o, err = s.update(k, sub, namespace, name, h, func(now *unstructured.Unstructured) (
		*unstructured.Unstructured, error,
	) {
		return asObject(m.Apply(now, want, h.manager, h.force))
	})
	return o, http.StatusOK, err
}
