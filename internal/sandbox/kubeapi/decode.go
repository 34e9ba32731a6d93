package kubeapi

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// strict decodes the kinds of Kubernetes and tells of fields that they do not have, and of fields that are there twice.
var strict = sync.OnceValue(func() *json.Serializer {
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Strict: true})
})

// decodeText reads an object from JSON as a client sent it. unknown is what is wrong with it for a strict reader only.
func (k *kind) decodeText(text []byte) (o *unstructured.Unstructured, unknown []error, err error) {
	if k.custom() {
		var m map[string]any
		twice, err := strictly(text, &m)
		if err != nil {
			return nil, nil, err
		}
		o, unknown, err := k.decode(m)
		return o, append(twice, unknown...), err
	}
	// The object is decoded into its own kind, whatever the text says; the caller compares the two.
	of := k.gvk()
	typed, _, err := strict().Decode(text, &of, k.typed())
	if err != nil {
		of, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict {
			return nil, nil, err
		}
		unknown = of.Errors()
	}
	o, err = k.whole(typed)
	return o, unknown, err
}

// decodeProtobuf reads an object as client-go's typed clients send it.
func (k *kind) decodeProtobuf(b []byte) (o *unstructured.Unstructured, unknown []error, err error) {
	of := k.gvk()
	typed, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(b, &of, k.typed())
	if err != nil {
		return nil, nil, err
	}
	o, err = k.whole(typed)
	return o, nil, err
}

// readDeleteOptions reads the body of a deletion, which may be empty.
func readDeleteOptions(b []byte, contentType string, into *metav1.DeleteOptions) error {
	if len(b) == 0 {
		return nil
	}
	if contentType == runtime.ContentTypeProtobuf {
		_, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(b, nil, into)
		return err
	}
	return yaml.Unmarshal(b, into)
}

// decode is decodeText for an object that was read before.
func (k *kind) decode(m map[string]any) (o *unstructured.Unstructured, unknown []error, err error) {
	if k.custom() {
		m = runtime.DeepCopyJSON(m)
		return &unstructured.Unstructured{Object: m}, k.prune(m), nil
	}
	text, err := utiljson.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	return k.decodeText(text)
}

// whole writes the defaults into an object.
func (k *kind) whole(typed runtime.Object) (*unstructured.Unstructured, error) {
	said := typed.GetObjectKind().GroupVersionKind()
	if k.fill != nil {
		k.fill(typed)
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Kind, err)
	}
	o := &unstructured.Unstructured{Object: m}
	if said.Empty() {
		said = k.gvk()
	}
	o.SetGroupVersionKind(said)
	return o, nil
}

// intoTyped is the object as its Go type; nil for custom kinds and for none.
func (k *kind) intoTyped(o *unstructured.Unstructured) (runtime.Object, error) {
	if k.custom() || o == nil {
		return nil, nil
	}
	typed := k.typed()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Kind, o.GetName(), err)
	}
	return typed, nil
}

// empty is an object of the kind with nothing in it, which a new one is compared with: of Kubernetes' kinds it has the
// fields that are never left out.
func (k *kind) empty() (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if !k.custom() {
		var err error
		if o.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(k.typed()); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Kind, err)
		}
	}
	o.SetGroupVersionKind(k.gvk())
	return o, nil
}
