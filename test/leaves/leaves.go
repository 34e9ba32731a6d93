// Package leaves changes each leaf of an object in turn, for tests of who may change what.
package leaves

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Within says that a change of Changes is at or below a path.
func Within(change, path string) bool {
	change = pathOf(change)
	return change == path || strings.HasPrefix(change, path+".")
}

func pathOf(change string) string {
	for _, verb := range []string{"add to ", "take "} {
		change = strings.TrimPrefix(change, verb)
	}
	return change
}

// Copy is a deep copy of what JSON is made of.
func Copy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k := range x {
			out[k] = Copy(x[k])
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = Copy(x[i])
		}
		return out
	}
	return v
}

// Changes are an object with one change each, by its path: every value is another one, every member is taken away, and
// one is added to every map and list.
func Changes(o map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	note := func(path string, change func(any) any) {
		out[path] = edited(o, path, change).(map[string]any) //nolint:forcetypeassert // it was one
	}
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		at := strings.Join(path, "\x00")
		switch x := v.(type) {
		case map[string]any:
			note("add to "+at, func(m any) any {
				m.(map[string]any)["another"] = "text" //nolint:forcetypeassert // it is one
				return m
			})
			for _, k := range slices.Sorted(maps.Keys(x)) {
				below := append(slices.Clone(path), k)
				note("take "+strings.Join(below, "\x00"), nil)
				walk(below, x[k])
			}
		case []any:
			note("add to "+at, func(l any) any {
				list := l.([]any)                            //nolint:forcetypeassert // it is one
				return append(list, Copy(list[len(list)-1])) // another of the same
			})
			for i := range x {
				below := append(slices.Clone(path), fmt.Sprint(i))
				note("take "+strings.Join(below, "\x00"), nil)
				walk(below, x[i])
			}
		default:
			note(at, func(any) any { return other(v) })
		}
	}
	walk(nil, o)
	shown := map[string]map[string]any{}
	for path, is := range out {
		shown[strings.ReplaceAll(path, "\x00", ".")] = is
	}
	return shown
}

// other is another value of the same kind. A flag's is another within the limits, and so is a number.
func other(v any) any {
	switch x := v.(type) {
	case string:
		if key, value, is := strings.Cut(x, "="); is {
			if n, err := strconv.Atoi(value); err == nil {
				return fmt.Sprintf("%s=%d", key, n+1)
			}
		}
		return x + "x"
	case int64:
		return x + 1
	case bool:
		return !x
	}
	return "text"
}

// edited is a copy of an object in which the value at a path is changed; nil takes it away.
func edited(o any, path string, change func(any) any) any {
	path = pathOf(path)
	if path == "" {
		return change(Copy(o))
	}
	name, rest, deeper := strings.Cut(path, "\x00")
	switch x := o.(type) {
	case map[string]any:
		out := maps.Clone(x)
		switch {
		case deeper:
			out[name] = edited(x[name], rest, change)
		case change == nil:
			delete(out, name)
		default:
			out[name] = change(Copy(x[name]))
		}
		return out
	case []any:
		var i int
		if _, err := fmt.Sscan(name, &i); err != nil {
			return nil
		}
		out := slices.Clone(x)
		switch {
		case deeper:
			out[i] = edited(x[i], rest, change)
		case change == nil:
			return slices.Delete(out, i, i+1)
		default:
			out[i] = change(Copy(x[i]))
		}
		return out
	}
	return nil
}
