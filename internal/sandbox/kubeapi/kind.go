package kubeapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kind is a kind of object that is served.
type kind struct {
	schema.GroupVersionResource

	Kind       string
	singular   string
	short      []string
	namespaced bool
	// status and scale say which subresources it has.
	status bool
	scale  *scalePaths
	// graceful says that an object is asked to end before it goes, as pods are.
	graceful bool
	// generation says that the API server counts the changes of its specification, and notes that it counts those of its
	// annotations too.
	generation, notes bool
	// fields are those that a list can be selected by, beside its name and namespace.
	fields map[string][]string

	// typed makes an empty object of a kind of Kubernetes; nil for custom kinds, which have a schema.
	typed  func() runtime.Object
	schema *spec.Schema
	// fill writes the defaults into an object; check says what is wrong with it. old is nil when it is new.
	fill  func(runtime.Object)
	check func(now, old runtime.Object) field.ErrorList
	// unconditional says that an update may leave out the version that it is based on.
	unconditional bool

	managers map[string]*managedfields.FieldManager // by subresource
}

// scalePaths are where an object keeps what its scale shows.
type scalePaths struct {
	replicas, observed []string
	// selector leads to a string, or where it is spec.selector of a kind of Kubernetes to a selector.
	selector []string
}

func (k *kind) gvk() schema.GroupVersionKind { return k.GroupVersion().WithKind(k.Kind) }

func (k *kind) custom() bool { return k.typed == nil }

// serves says whether the kind has a subresource.
func (k *kind) serves(sub string) bool {
	switch sub {
	case "":
		return true
	case "status":
		return k.status
	case "scale":
		return k.scale != nil
	case "log":
		return k.Group == "" && k.Resource == "pods"
	}
	return false
}

// subresources are those that the kind has.
func (k *kind) subresources() []string {
	return slices.DeleteFunc([]string{"log", "scale", "status"}, func(sub string) bool { return !k.serves(sub) })
}

// manager keeps track of who has set which field, with the code of the API server itself.
func (k *kind) manager(converter managedfields.TypeConverter, sub string) (*managedfields.FieldManager, error) {
	if m := k.managers[sub]; m != nil {
		return m, nil
	}
	of := k.gvk()
	build := managedfields.NewDefaultFieldManager
	if sub == "scale" {
		of, converter = scaleKind, managedfields.NewDeducedTypeConverter()
	} else if k.custom() {
		build = managedfields.NewDefaultCRDFieldManager
		var err error
		if converter, err = customConverter(k); err != nil {
			return nil, err
		}
	}
	m, err := build(converter, sameVersion{}, filled{k}, empties{k, sub}, of, of.GroupVersion(), sub, resetBy(k, sub))
	if err != nil {
		return nil, err
	}
	if k.managers == nil {
		k.managers = map[string]*managedfields.FieldManager{}
	}
	k.managers[sub] = m
	return m, nil
}

// sameVersion converts nothing: each kind has one version.
type sameVersion struct{}

// Convert implements runtime.ObjectConvertor.
func (sameVersion) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	to, also := out.(*unstructured.Unstructured)
	if !ok || !also {
		return runtime.NewNotRegisteredErrForKind("kubeapi", schema.GroupVersionKind{})
	}
	to.Object = from.Object
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (sameVersion) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	have := in.GetObjectKind().GroupVersionKind()
	if _, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{have}); !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("kubeapi", nil, to)
	}
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (sameVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// empties makes objects with nothing in them.
type empties struct {
	*kind

	sub string
}

// New implements runtime.ObjectCreater.
func (e empties) New(schema.GroupVersionKind) (runtime.Object, error) {
	if e.sub == "scale" {
		return scales.empty()
	}
	return e.empty()
}

// filled writes a kind's defaults into what an apply has merged. What cannot be read is left as it is: it is decoded
// again, and refused, before anything is kept.
type filled struct{ *kind }

// Default implements runtime.ObjectDefaulter.
func (f filled) Default(o runtime.Object) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if whole, _, err := f.decode(u.Object); err == nil {
		u.Object = whole.Object
	}
}
