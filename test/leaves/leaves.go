// Package leaves changes each leaf of an object in turn, for tests of who may change what.
package leaves

import (
	"fmt"
	"maps"
	"regexp"
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

// other is another value of the same kind, and a valid one where that can be told: a flag's number and a quantity are
// one more, and what is one of a few words is another one of them.
func other(v any) any {
	switch x := v.(type) {
	case string:
		if word, is := words()[x]; is {
			return word
		}
		if part := numbered.FindStringSubmatch(x); part != nil {
			if n, err := strconv.Atoi(part[2]); err == nil {
				return fmt.Sprintf("%s%d%s", part[1], n+1, part[3])
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

// numbered is a flag with a number, a quantity or an address.
var numbered = regexp.MustCompile(`^([-a-z_]+=|10[.]0[.]0[.])?([0-9]{1,9})([KMG]i|m)?$`)

// words are those of the API's fields that take one of a few, and another one of them.
func words() map[string]string {
	return map[string]string{
		"Always": "Never", "Never": "PreemptLowerPriority", "IfNotPresent": "Always", "ClusterFirst": "Default",
		"TCP": "UDP", "HTTP": "HTTPS", "File": "FallbackToLogsOnError", "NotRequired": "RestartContainer",
		"In": "NotIn", "Exists": "DoesNotExist", "Equal": "Exists", "NoExecute": "NoSchedule",
		"DoNotSchedule": "ScheduleAnyway", "Honor": "Ignore", "Strict": "Merge", "OnRootMismatch": "Always",
		"Recursive": "MountOption", "Default": "Unmasked", "None": "HostToContainer", "Disabled": "IfPossible",
		"Memory": "", "Directory": "File", "ReadWriteOnce": "ReadOnlyMany", "Filesystem": "Block", "Delete": "Retain",
		"Max": "Min", "Min": "Max", "Pods": "Percent", "Percent": "Pods", "ED25519": "ECDSAP256",
		"metadata.name": "metadata.namespace", "limits.cpu": "limits.memory", "cpu": "memory",
	}
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
