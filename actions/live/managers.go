package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// managedFields says which fields of an object one client has set last.
type managedFields = metav1.ManagedFieldsEntry

func hasManager(o *unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m managedFields) bool { return m.Manager == name })
}

// sets says whether a client has set a field, and nobody has changed it since.
func sets(o *unstructured.Unstructured, manager string, path []string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m managedFields) bool {
		return m.Manager == manager && m.FieldsV1 != nil && hasPath(m.FieldsV1.GetRawBytes(), path)
	})
}

// lastWriter is the client that has set a field last, with the time; the zero value when the API server does not say.
func lastWriter(o *unstructured.Unstructured, path []string) managedFields {
	var last managedFields
	for _, m := range o.GetManagedFields() {
		if m.FieldsV1 == nil || !hasPath(m.FieldsV1.GetRawBytes(), path) {
			continue
		}
		if last.Time == nil || m.Time != nil && !m.Time.Before(last.Time) {
			last = m
		}
	}
	return last
}

// hasPath says whether a set of fields (structured-merge-diff's JSON) has a path of it.
func hasPath(set []byte, path []string) bool {
	for _, part := range path {
		var level map[string]json.RawMessage
		if err := json.Unmarshal(set, &level); err != nil {
			return false
		}
		next, ok := level[part]
		if !ok {
			return false
		}
		set = next
	}
	return len(path) > 0
}

// LastChange is a sentence about who has set the field last.
func (f Field) LastChange() string {
	who := lastWriter(f.Object, f.Path).Manager
	if who == "" {
		return ""
	}
	return fmt.Sprintf("It was set by %s.", who)
}

// fresh is how long a person's write of a field counts as a sign that somebody else adjusts it.
const fresh = 10 * time.Minute

// OtherWriter warns of a client that has set this field, and nothing else of the specification: an autoscaler that the
// bot does not know, or a person. Whoever made the object is none: a specification may consist of this field. A program
// counts whenever it was, because its next turn may come at any time; it no longer has the field once somebody else has
// set another value. A person, and a tool that applies manifests, counts for a moment. Of what was written through the
// scale the API server keeps no time.
func (f Field) OtherWriter(now time.Time) []incident.Guardrail {
	if f.Object.GetGeneration() == 1 { // the specification is as it was made
		return nil
	}
	for _, m := range f.Object.GetManagedFields() {
		if m.Manager == incident.FieldManager || m.FieldsV1 == nil || !hasOnlyPath(m.FieldsV1.GetRawBytes(), f.Path) {
			continue
		}
		switch {
		case m.Time != nil && now.Sub(m.Time.Time) <= fresh:
			return []incident.Guardrail{Caution(writersGuard, "%s set %s at %s and may set it again", m.Manager,
				f.Target.Field, m.Time.UTC().Format("15:04:05 UTC"))}
		case !isProgram(m.Manager):
		case m.Time != nil:
			return []incident.Guardrail{Caution(writersGuard, "%s, a program, set %s on %s and may set it again", m.Manager,
				f.Target.Field, m.Time.UTC().Format("2006-01-02 at 15:04 UTC"))}
		case m.Subresource == "scale":
			return []incident.Guardrail{Caution(writersGuard, "%s set %s last (when is not known) and may set it again",
				m.Manager, f.Target.Field)}
		}
	}
	return nil
}

// isProgram says whether a client adjusts fields by itself. A person's kubectl does not, a tool that applies manifests
// has a guardrail of its own, and the HorizontalPodAutoscalers of kube-controller-manager are looked for by themselves.
func isProgram(manager string) bool {
	if manager == hpaManager || manager == fluxManager || manager == fluxHelmManager {
		return false
	}
	return !slices.ContainsFunc([]string{"kubectl", "argocd", "helm"}, func(tool string) bool {
		return strings.HasPrefix(strings.ToLower(manager), tool)
	})
}

// hasOnlyPath says whether a set of fields has a path of it, and nothing else beside it below the path's first part.
func hasOnlyPath(set []byte, path []string) bool {
	for i, part := range path {
		var level map[string]json.RawMessage
		if err := json.Unmarshal(set, &level); err != nil {
			return false
		}
		delete(level, ".")
		next, ok := level[part]
		if !ok || i > 0 && len(level) > 1 {
			return false
		}
		set = next
	}
	return len(path) > 0
}

// inManifest says whether a manifest that kubectl applied has a field. What cannot be read has none that is known.
func inManifest(manifest string, path []string) bool {
	var at any
	if err := json.Unmarshal([]byte(manifest), &at); err != nil {
		return false
	}
	for _, part := range path {
		kind, name, _ := strings.Cut(part, ":")
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[name]
			if kind != "f" || !ok {
				return false
			}
			at = next
		case []any:
			i := slices.IndexFunc(v, func(one any) bool { return kind == "k" && hasKeys(one, name) })
			if i < 0 {
				return false
			}
			at = v[i]
		default:
			return false
		}
	}
	return len(path) > 0
}

// hasKeys says whether an element of a list is the one with these keys, such as {"name":"vllm"}.
func hasKeys(element any, keys string) bool {
	m, ok := element.(map[string]any)
	var want map[string]any
	if err := json.Unmarshal([]byte(keys), &want); err != nil || !ok {
		return false
	}
	for k, v := range want {
		if m[k] != v {
			return false
		}
	}
	return true
}
