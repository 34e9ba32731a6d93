package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policies are what the API server is to hold a user to: a policy for each kind of object that the leaves are in, and
// one that refuses every other write. Their names begin with the prefix; a binding has the name of its policy.
func Policies(leaves []Leaf, user, prefix string) []admissionv1.ValidatingAdmissionPolicy {
	tables := tablesOf(leaves)
	out := []admissionv1.ValidatingAdmissionPolicy{nothingElse(tables, user, prefix)}
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		out = append(out, tables[key].policy(user, prefix))
	}
	return out
}

// Bound is the binding that puts a policy in force everywhere.
func Bound(p admissionv1.ValidatingAdmissionPolicy) admissionv1.ValidatingAdmissionPolicyBinding {
	return admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: p.Kind + "Binding"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: p.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// table is what may be changed in the objects of one resource.
type table struct {
	group, resource, subresource string
	shapes                       map[string]Shape
	limits                       map[string]map[string][2]int64
	containers                   map[string]map[string]string
}

// tablesOf sorts leaves by their resource.
func tablesOf(leaves []Leaf) map[string]*table {
	out := map[string]*table{}
	for _, l := range leaves {
		at := l.Place
		key := at.Resource.Group + "/" + at.Resource.Resource + "/" + at.Subresource
		t := out[key]
		if t == nil {
			t = &table{
				group: at.Resource.Group, resource: at.Resource.Resource, subresource: at.Subresource,
				shapes: map[string]Shape{}, limits: map[string]map[string][2]int64{}, containers: map[string]map[string]string{},
			}
			out[key] = t
		}
		id, object := l.Shape.ID, at.Namespace+"/"+at.Name
		if t.limits[id] == nil {
			t.shapes[id] = l.Shape
			t.limits[id], t.containers[id] = map[string][2]int64{}, map[string]string{}
		}
		t.limits[id][object], t.containers[id][object] = [2]int64{l.Min, l.Max}, l.Container
	}
	return out
}

// path is the resource as rules name it: "deployments/scale".
func (t *table) path() string { return strings.TrimSuffix(t.resource+"/"+t.subresource, "/") }

func (t *table) policy(user, prefix string) admissionv1.ValidatingAdmissionPolicy {
	vars := Frame()
	var fields, right []string
	for _, id := range slices.Sorted(maps.Keys(t.shapes)) {
		s := t.shapes[id]
		vars = append(vars, Variable{limitsOf(id), literal(t.limits[id])})
		if s.InContainer {
			vars = append(vars, Variable{containersOf(id), literal(t.containers[id])})
		}
		vars = append(vars, s.Variables...)
		fields, right = append(fields, s.Field), append(right, "variables."+id)
	}
	name := strings.Join([]string{prefix, strings.ReplaceAll(t.path(), "/", "-"), t.group}, "-")
	p := policyFor(strings.TrimSuffix(name, "-"), user)
	p.Spec.MatchConstraints = matching(admissionv1.Update, t.group, t.path())
	for _, v := range vars {
		p.Spec.Variables = append(p.Spec.Variables, admissionv1.Variable{Name: v.Name, Expression: v.Expression})
	}
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: anyOf(right...), Message: Message(fields...), Reason: new(metav1.StatusReasonForbidden),
	}}
	return p
}

// Message is what the API server answers to a change that is not one of these fields of a pool within its limits.
func Message(fields ...string) string {
	return fmt.Sprintf("vllm-medic may change nothing but %s, of the pools in its configuration and within their limits",
		strings.Join(fields, " or "))
}

// nothingElse refuses every request to change something that no other policy looks at.
func nothingElse(tables map[string]*table, user, prefix string) admissionv1.ValidatingAdmissionPolicy {
	p := policyFor(prefix+"-writes", user)
	p.Spec.MatchConstraints = matching(admissionv1.OperationAll, "*", "*/*")
	p.Spec.Variables = []admissionv1.Variable{
		{Name: "resource", Expression: WrittenResource},
		{Name: "writes", Expression: literalList(slices.Sorted(maps.Keys(tables)))},
	}
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: `request.operation == "UPDATE" && variables.resource in variables.writes`,
		Message:    "vllm-medic may change nothing but the fields that its knobs are for",
		Reason:     new(metav1.StatusReasonForbidden),
	}}
	return p
}

// WrittenResource is a request's resource in CEL: "apps/deployments/scale", or "apps/deployments/".
const WrittenResource = `(has(request.resource.group) ? request.resource.group : "") + "/" + ` +
	`request.resource.resource + "/" + (has(request.subResource) ? request.subResource : "")`

func policyFor(name, user string) admissionv1.ValidatingAdmissionPolicy {
	return admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy",
		},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Fail),
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "the-bot",
				Expression: fmt.Sprintf("has(request.userInfo.username) && request.userInfo.username == %s", literal(user)),
			}},
		},
	}
}

// matching are requests for a resource in whichever version: another one is no way around.
func matching(op admissionv1.OperationType, group, resource string) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{op},
			Rule: admissionv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource},
			},
		},
	}}}
}

// literal is a value in CEL, which reads JSON. Keys are in order.
func literal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and numbers are JSON
	}
	return string(b)
}

func literalList(all []string) string {
	if all == nil {
		all = []string{}
	}
	return literal(all)
}

// Manifest is a policy or a binding without what only the API server writes, for a file.
func Manifest(object any) (map[string]any, error) {
	b, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, err
	}
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return out, nil
}
