package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			Singular   string   `json:"singular"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
			Schema  struct {
				OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
			} `json:"schema"`
			Subresources struct {
				Status *struct{} `json:"status"`
				Scale  *struct {
					SpecReplicasPath   string `json:"specReplicasPath"`
					StatusReplicasPath string `json:"statusReplicasPath"`
					LabelSelectorPath  string `json:"labelSelectorPath"`
				} `json:"scale"`
			} `json:"subresources"`
		} `json:"versions"`
	} `json:"spec"`
}

// define makes the server serve a kind as its definition says, in the version that is stored, or no longer when the
// definition is gone. The caller holds the lock.
func (s *Server) define(o *unstructured.Unstructured) error {
	maps.DeleteFunc(s.kinds, func(at schema.GroupVersionResource, k *kind) bool {
		return k.custom() && at != definitions && at.Resource+"."+at.Group == o.GetName()
	})
	at := key{definitions.GroupResource(), "", o.GetName()}
	if s.store.objects[at] == nil {
		for k := range s.store.objects {
			if k.kind.String() == o.GetName() {
				s.store.remove(k)
			}
		}
		return nil
	}
	k, err := kindFrom(o)
	if err != nil {
		return err
	}
	s.kinds[k.GroupVersionResource] = k
	established := o.DeepCopy()
	established.Object["status"] = map[string]any{
		"acceptedNames":  map[string]any{"plural": k.Resource, "singular": k.singular, "kind": k.Kind},
		"storedVersions": []any{k.Version},
		"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts"},
			map[string]any{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"},
		},
	}
	s.store.put(at, established)
	return nil
}

// kindFrom reads a definition.
func kindFrom(o *unstructured.Unstructured) (*kind, error) {
	text, err := utiljson.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("definition %s: %w", o.GetName(), err)
	}
	for _, v := range d.Spec.Versions {
		if !v.Storage || !v.Served {
			continue
		}
		k := &kind{
			GroupVersionResource: schema.GroupVersionResource{
				Group: d.Spec.Group, Version: v.Name, Resource: d.Spec.Names.Plural,
			},
			Kind: d.Spec.Names.Kind, singular: d.Spec.Names.Singular, short: d.Spec.Names.ShortNames,
			namespaced: d.Spec.Scope == "Namespaced", status: v.Subresources.Status != nil, generation: true,
			schema: &spec.Schema{},
		}
		if err := json.Unmarshal(v.Schema.OpenAPIV3Schema, k.schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", o.GetName(), err)
		}
		if err := wholeNumbers(k.schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", o.GetName(), err)
		}
		if at := v.Subresources.Scale; at != nil {
			k.scale = &scalePaths{
				replicas: path(at.SpecReplicasPath), observed: path(at.StatusReplicasPath),
				selector: path(at.LabelSelectorPath),
			}
		}
		return k, nil
	}
	return nil, fmt.Errorf("definition %s: no version is both served and stored", o.GetName())
}

// wholeNumbers makes the defaults of a schema what objects have: a whole number is no float there.
func wholeNumbers(s *spec.Schema) error {
	if s == nil {
		return nil
	}
	if s.Default != nil {
		text, err := utiljson.Marshal(s.Default)
		if err != nil {
			return err
		}
		s.Default = nil
		if err := utiljson.Unmarshal(text, &s.Default); err != nil {
			return err
		}
	}
	for name, p := range s.Properties {
		if err := wholeNumbers(&p); err != nil {
			return err
		}
		s.Properties[name] = p
	}
	if s.Items != nil {
		if err := wholeNumbers(s.Items.Schema); err != nil {
			return err
		}
	}
	if s.AdditionalProperties != nil {
		return wholeNumbers(s.AdditionalProperties.Schema)
	}
	return nil
}

// path splits ".spec.replicas"; nil for none.
func path(dotted string) []string {
	if dotted == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(dotted, "."), ".")
}

// dotted is the path as a definition writes it.
func dotted(path []string) string { return "." + strings.Join(path, ".") }

const (
	keepsUnknown = "x-kubernetes-preserve-unknown-fields"
	embedded     = "x-kubernetes-embedded-resource"
)

func marked(s *spec.Schema, extension string) bool {
	yes, ok := s.Extensions.GetBool(extension)
	return ok && yes
}

// definitionSchema is what is known of a definition.
func definitionSchema() *spec.Schema {
	open := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	open.AddExtension(keepsUnknown, true)
	return &spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{"spec": open, "status": open},
	}}
}

// prune takes away what the schema does not know, writes its defaults, and says what was taken.
func (k *kind) prune(m map[string]any) []error {
	if k.schema == nil {
		return nil
	}
	rest := maps.Clone(m)
	var unknown []string
	for _, own := range []string{"apiVersion", "kind", "metadata"} {
		delete(rest, own)
	}
	var known metav1.ObjectMeta
	if meta, ok := m["metadata"].(map[string]any); ok {
		err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(meta, &known, true)
		if of, is := runtime.AsStrictDecodingError(err); is {
			for _, e := range of.Errors() {
				unknown = append(unknown, strings.Replace(e.Error(), `"`, `"metadata.`, 1))
			}
		}
	}
	pruneObject(k.schema, rest, "", func(at string) { unknown = append(unknown, fmt.Sprintf("unknown field %q", at)) })
	for name := range m {
		if _, kept := rest[name]; !kept && name != "apiVersion" && name != "kind" && name != "metadata" {
			delete(m, name)
		}
	}
	maps.Copy(m, rest)
	slices.Sort(unknown)
	out := make([]error, len(unknown))
	for i, text := range unknown {
		out[i] = fmt.Errorf("%s", text) //nolint:perfsprint,err113 // each is an error of its own for the client
	}
	return out
}

func pruneObject(s *spec.Schema, m map[string]any, at string, unknown func(string)) {
	for name, p := range s.Properties {
		v, has := m[name]
		if has && v == nil && !p.Nullable { // counts as absent
			delete(m, name)
			has = false
		}
		if !has && p.Default != nil {
			m[name] = runtime.DeepCopyJSONValue(p.Default)
		}
	}
	for name, v := range m {
		below := strings.TrimPrefix(at+"."+name, ".")
		p, known := s.Properties[name]
		switch {
		case known:
			pruneValue(&p, v, below, unknown)
		case marked(s, embedded) && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name):
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			pruneValue(s.AdditionalProperties.Schema, v, below, unknown)
		case marked(s, keepsUnknown) || s.AdditionalProperties != nil && s.AdditionalProperties.Allows:
		default:
			unknown(below)
			delete(m, name)
		}
	}
}

func pruneValue(s *spec.Schema, v any, at string, unknown func(string)) {
	switch v := v.(type) {
	case map[string]any:
		if s.Type.Contains("object") || len(s.Properties) > 0 || s.AdditionalProperties != nil {
			pruneObject(s, v, at, unknown)
		}
	case []any:
		for i := range v {
			if s.Items != nil && s.Items.Schema != nil {
				pruneValue(s.Items.Schema, v[i], fmt.Sprintf("%s[%d]", at, i), unknown)
			}
		}
	}
}

// customConverter knows the fields of a custom kind, to keep track of who has set which.
func customConverter(k *kind) (managedfields.TypeConverter, error) {
	text := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
	texts := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, AdditionalProperties: &spec.SchemaOrBool{Allows: true, Schema: &text},
	}}
	owner := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}}}
	owner.AddExtension(keepsUnknown, true)
	owners := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"array"}, Items: &spec.SchemaOrArray{Schema: &spec.Schema{SchemaProps: spec.SchemaProps{
			Type: spec.StringOrArray{"object"}, Required: []string{"uid"}, Properties: map[string]spec.Schema{
				"apiVersion": text, "kind": text, "name": text, "uid": text,
				"controller":         {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"boolean"}}},
				"blockOwnerDeletion": {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"boolean"}}},
			},
		}}},
	}}
	owners.AddExtension("x-kubernetes-list-type", "map")
	owners.AddExtension("x-kubernetes-list-map-keys", []any{"uid"})
	finalizers := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"array"}, Items: &spec.SchemaOrArray{Schema: &text},
	}}
	finalizers.AddExtension("x-kubernetes-list-type", "set")
	meta := spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
			"labels": texts, "annotations": texts, "ownerReferences": owners, "finalizers": finalizers,
		},
	}}
	meta.AddExtension(keepsUnknown, true)
	whole := *k.schema
	whole.Properties = maps.Clone(k.schema.Properties)
	if whole.Properties == nil {
		whole.Properties = map[string]spec.Schema{}
	}
	whole.Properties["apiVersion"], whole.Properties["kind"], whole.Properties["metadata"] = text, text, meta
	whole.VendorExtensible = spec.VendorExtensible{Extensions: maps.Clone(k.schema.Extensions)}
	whole.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
		"group": k.Group, "version": k.Version, "kind": k.Kind,
	}})
	return managedfields.NewTypeConverter(map[string]*spec.Schema{k.Kind: &whole}, false)
}
