package live

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// MarshalJSON leaves the value out where the operation has none.
func (o Operation) MarshalJSON() ([]byte, error) {
	m := map[string]any{"op": o.Op, "path": o.Path}
	if o.Op != "remove" {
		m["value"] = o.Value
	}
	return json.Marshal(m)
}

// Patch is the whole JSON Patch of a write: it is the object with the value that was read, the new value, and the id of
// the write.
func Patch(s Setting, to incident.Value, id string) ([]byte, error) {
	ops, err := operations(s, to, id)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, Refused("the patch cannot be written down: %s", err)
	}
	return body, nil
}

func operations(s Setting, to incident.Value, id string) ([]Operation, error) {
	f := s.Live()
	change, err := s.Change(to)
	if err != nil {
		return nil, err
	}
	notes := f.Object.GetAnnotations()
	out := []Operation{Test("/metadata/uid", f.Target.UID)}
	if !f.Value.Present || f.Subresource == "" && notes == nil {
		// A JSON Patch cannot test that something is absent, so the version stands for it. Elsewhere it would be too
		// strict: the status of a workload in trouble changes all the time, and an undo must not fail for that.
		out = append(out, Test("/metadata/resourceVersion", f.Version))
	}
	out = append(out, change...)
	added := f.notes(id)
	switch {
	case f.Subresource != "": // the scale subresource has no annotations of its own
	case notes == nil:
		out = append(out, Add("/metadata/annotations", added))
	default:
		for _, key := range slices.Sorted(maps.Keys(added)) {
			out = append(out, Add("/metadata/annotations/"+escapePointer(key), added[key]))
		}
	}
	return out, nil
}

// escapePointer writes a key as a part of a JSON Pointer (RFC 6901).
func escapePointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// Test is the operation that fails the whole patch unless the object has this value there.
func Test(path string, value any) Operation { return Operation{Op: "test", Path: path, Value: value} }

// Add is the operation that sets a value, whether there was one or not.
func Add(path string, value any) Operation { return Operation{Op: "add", Path: path, Value: value} }

// Replace is the operation that sets another value.
func Replace(path string, value any) Operation {
	return Operation{Op: "replace", Path: path, Value: value}
}

// Remove is the operation that takes a value away.
func Remove(path string) Operation { return Operation{Op: "remove", Path: path} }
