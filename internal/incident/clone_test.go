package incident

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// written is what an incident is stored as. The tests that Apply leaves its incident alone compare this: a copy by
// Clone would hide what Clone forgets.
func written(t *testing.T, inc Incident) string {
	t.Helper()
	raw, err := json.MarshalIndent(inc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestACloneSharesNothing(t *testing.T) {
	t.Parallel()
	var inc Incident
	fill(reflect.ValueOf(&inc).Elem(), 0)
	clone := inc.Clone()
	if diff := cmp.Diff(inc, clone); diff != "" {
		t.Errorf("the clone is different:\n%s", diff)
	}
	shared(t, "Incident", reflect.ValueOf(inc), reflect.ValueOf(clone))
}

func TestACloneOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(Incident{}, (Incident{}).Clone()); diff != "" {
		t.Error(diff) // nil stays nil: what is stored must not change by being looked at
	}
}

// deepest bounds how deep the one type is filled that holds itself: its inner ones are of the same code.
const deepest = 12

// fill sets every field that v leads to. Each pointer, list and map holds something, so that none escapes the
// comparison.
func fill(v reflect.Value, depth int) {
	if depth > deepest {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			return
		}
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() {
				fill(v.Field(n), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for n := range 2 {
			fill(v.Index(n), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x" + strconv.Itoa(depth))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		if v.CanInt() {
			v.SetInt(7)
		} else if v.CanUint() {
			v.SetUint(7)
		}
	}
}

// shared reports every pointer, list and map that both hold.
func shared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() {
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
			return
		}
		shared(t, path, a.Elem(), b.Elem())
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for n := range a.NumField() {
			f := a.Type().Field(n)
			if !f.IsExported() {
				t.Errorf("%s.%s is unexported: neither the store nor Clone copies it", path, f.Name)
				continue
			}
			shared(t, path+"."+f.Name, a.Field(n), b.Field(n))
		}
	case reflect.Slice:
		if a.Len() == 0 {
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
			return
		}
		shared(t, path+"[]", a.Index(0), b.Index(0))
	case reflect.Map:
		if a.Len() == 0 {
			return
		}
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
			return
		}
		for _, key := range a.MapKeys() {
			shared(t, path+"{}", a.MapIndex(key), b.MapIndex(key))
		}
	case reflect.Interface:
		t.Errorf("%s is an interface: say in Clone and here how it is copied", path)
	}
}
