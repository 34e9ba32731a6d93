package store_test

import (
	"reflect"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// filled is an incident in which no field is zero, made by reflection so that a new field cannot be forgotten.
func filled() incident.Incident {
	var inc incident.Incident
	fill(reflect.ValueOf(&inc).Elem(), 0)
	inc.State = incident.StateDeciding
	inc.Journal = []incident.Entry{}
	return inc
}

func fill(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(now.Add(time.Duration(depth+1) * time.Minute)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"k":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("text <&> ü")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(depth + 7))
	case reflect.Uint64:
		v.SetUint(uint64(depth + 7))
	default:
		panic("a kind that the test cannot fill: " + v.Kind().String())
	}
}
