package leaves

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Filled is an object of a Go type of the API with all of its fields, each list and map with one element. Few API
// servers would take it.
func Filled(of any) map[string]any {
	v := reflect.New(reflect.TypeOf(of)).Elem()
	fill(v)
	b, err := json.Marshal(v.Interface())
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // a type of the API is JSON
	}
	return Whole(out).(map[string]any) //nolint:forcetypeassert // a map stays one
}

func fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.Unix(1_700_000_000, 0)
		return
	case *metav1.MicroTime:
		return
	case *resource.Quantity:
		*x = resource.MustParse("1")
		return
	case *intstr.IntOrString:
		*x = intstr.FromInt32(5)
		return
	case *metav1.FieldsV1:
		*x = *metav1.NewFieldsV1(`{"f:spec":{}}`)
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":"b"}`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString("key")
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(5)
	case reflect.Uint8:
		v.SetUint(5)
	}
}

// Whole makes whole numbers of JSON's, as an API server has them.
func Whole(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = Whole(x[k])
		}
	case []any:
		for i := range x {
			x[i] = Whole(x[i])
		}
	case float64:
		return int64(x)
	}
	return v
}

// Paths are the leaves of a Go type of the API: "spec.containers[].name". [] stands for any element of a list, {} for
// any key of a map.
func Paths(of any) []string { return paths("", reflect.TypeOf(of)) }

func paths(at string, of reflect.Type) []string {
	switch of {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString](),
		reflect.TypeFor[metav1.FieldsV1]():
		return []string{at}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return paths(at, of.Elem())
	case reflect.Slice:
		return paths(at+"[]", of.Elem())
	case reflect.Map:
		return paths(at+".{}", of.Elem())
	case reflect.Struct:
		var out []string
		for f := range of.Fields() {
			below := at
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				below = strings.TrimPrefix(at+"."+name, ".")
			}
			out = append(out, paths(below, f.Type)...)
		}
		return out
	}
	return []string{at}
}

// Unset are the paths of a type that an object has no value at.
func Unset(o map[string]any, of any) []string {
	var out []string
	for _, path := range Paths(of) {
		if !at(o, strings.Split(path, ".")) {
			out = append(out, path)
		}
	}
	return out
}

// Takes says that a type has room for one more element at a path of an object: a list or a map is there, and not a
// struct, in which an API server drops a field that it doesn't know.
func Takes(of any, path string) bool {
	at := reflect.TypeOf(of)
	for name := range strings.SplitSeq(path, ".") {
		for at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		switch at.Kind() {
		case reflect.Slice, reflect.Map:
			at = at.Elem()
		case reflect.Struct:
			if at = member(at, name); at == nil {
				return true // where the type says nothing
			}
		default:
			return true
		}
	}
	for at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	return at.Kind() != reflect.Struct
}

func member(of reflect.Type, name string) reflect.Type {
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return f.Type
		}
		if tag == "" && f.Type.Kind() == reflect.Struct {
			if in := member(f.Type, name); in != nil {
				return in
			}
		}
	}
	return nil
}

func at(v any, path []string) bool {
	if len(path) == 0 {
		return v != nil
	}
	m, is := v.(map[string]any)
	name, elements := strings.CutSuffix(path[0], "[]")
	switch {
	case !is:
		return false
	case name == "{}":
		return slices.ContainsFunc(slices.Collect(maps.Values(m)), func(e any) bool { return at(e, path[1:]) })
	case elements:
		list, _ := m[name].([]any)
		return slices.ContainsFunc(list, func(e any) bool { return at(e, path[1:]) })
	}
	return at(m[name], path[1:])
}

// Put sets the value at a path of an object, and says whether something was there; nil takes it away. "[]" behind a
// name is every element of that list.
func Put(o any, path string, value any) bool {
	name, rest, deeper := strings.Cut(path, ".")
	m, is := o.(map[string]any)
	name, each := strings.CutSuffix(name, "[]")
	if !is || m[name] == nil {
		return false
	}
	switch {
	case each:
		list, is := m[name].([]any)
		done := is && deeper
		for i := range list {
			done = Put(list[i], rest, value) && done
		}
		return done
	case deeper:
		return Put(m[name], rest, value)
	case value == nil:
		delete(m, name)
	default:
		m[name] = Copy(value)
	}
	return true
}

// Apart makes an element of its own for each member of an object that no other may be beside, with those that all have.
func Apart(o map[string]any, all ...string) []any {
	var out []any
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if slices.Contains(all, k) {
			continue
		}
		one := map[string]any{k: Copy(o[k])}
		for _, name := range all {
			one[name] = Copy(o[name])
		}
		out = append(out, one)
	}
	return out
}
