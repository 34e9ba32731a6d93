package incident

import (
	"maps"
	"reflect"
	"sync"
)

// Clone returns a copy that shares nothing mutable with i, however deep it is. What is nil stays nil.
func (i Incident) Clone() Incident { return cloned(i) }

func cloned[T any](v T) T {
	own(reflect.ValueOf(&v).Elem())
	return v
}

// own puts copies in place of all that v shares with the value that it was copied from. It goes by the types and not by
// the names of fields, so that a new field can't be forgotten.
func own(v reflect.Value) {
	if !holdsReferences(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		own(to.Elem())
		v.Set(to)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // of the domain's types that is every field
				own(field)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		if holdsReferences(v.Type().Elem()) {
			for n := range to.Len() {
				own(to.Index(n))
			}
		}
		v.Set(to)
	case reflect.Map:
		ownMap(v)
	}
}

func ownMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	if labels, ok := reflect.TypeAssert[map[string]string](v); ok { // by far the most of an incident with many alerts
		v.Set(reflect.ValueOf(maps.Clone(labels)))
		return
	}
	to := reflect.MakeMapWithSize(v.Type(), v.Len())
	for all := v.MapRange(); all.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(all.Value())
		own(value)
		to.SetMapIndex(all.Key(), value)
	}
	v.Set(to)
}

// references says of each type that was seen whether its values hold pointers, lists or maps.
var references sync.Map

func holdsReferences(t reflect.Type) bool {
	if known, ok := references.Load(t); ok {
		return known == true
	}
	found := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		found = true
	case reflect.Struct:
		for f := range t.Fields() {
			// A time.Time's zone is the one unexported pointer: nobody can change it.
			if f.IsExported() {
				found = found || holdsReferences(f.Type)
			}
		}
	}
	references.Store(t, found)
	return found
}
