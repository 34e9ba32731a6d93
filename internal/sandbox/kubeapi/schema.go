package kubeapi

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// checkSchema holds a custom object against its schema. Rules in CEL (x-kubernetes-validations) are not looked at.
func (k *kind) checkSchema(o *unstructured.Unstructured) field.ErrorList {
	if k.schema == nil {
		return nil
	}
	var all field.ErrorList
	for _, err := range validate.NewSchemaValidator(k.schema, nil, "", strfmt.Default).Validate(o.Object).Errors {
		all = append(all, schemaError(err))
	}
	if k.scale != nil {
		n, _, err := unstructured.NestedInt64(o.Object, k.scale.replicas...)
		if err == nil && n < 0 { // one of another type is refused by the schema
			all = append(all, field.Invalid(field.NewPath(dotted(k.scale.replicas)), n, "should be a non-negative integer"))
		}
	}
	return all
}

// schemaError is an error of the schema in the words of the API server.
func schemaError(err error) *field.Error {
	v, ok := errors.AsType[*openapierrors.Validation](err)
	if !ok {
		return field.Invalid(nil, "", err.Error())
	}
	at := field.NewPath(v.Name)
	switch v.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(at, "")
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(at, v.Value, v.Error())
	case openapierrors.EnumFailCode:
		values := make([]string, 0, len(v.Values))
		for _, one := range v.Values {
			if text, ok := one.(string); ok {
				values = append(values, text)
			}
		}
		return field.NotSupported(at, v.Value, values)
	}
	return field.Invalid(at, v.Value, v.Error())
}

// resetBy are the fields that a write to one part of an object takes no part in.
func resetBy(k *kind, sub string) map[fieldpath.APIVersion]fieldpath.Filter {
	if !k.status || sub == "scale" {
		return nil
	}
	other := "status"
	if sub == "status" {
		other = "spec"
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(k.GroupVersion().String()): fieldpath.NewExcludeSetFilter(
			fieldpath.NewSet(fieldpath.MakePathOrDie(other))),
	}
}
