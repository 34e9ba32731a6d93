package actions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// right is one verb on one resource in one namespace; of one object, unless name is empty.
type right struct {
	verb, group, resource, subresource, namespace, name string
}

// String is `patch deployments.apps/scale "llama-70b" in namespace llm`.
func (r right) String() string {
	s := r.verb + " " + r.resource
	if r.group != "" {
		s += "." + r.group
	}
	if r.subresource != "" {
		s += "/" + r.subresource
	}
	if r.name != "" {
		s += fmt.Sprintf(" %q", r.name)
	}
	if r.namespace == "" { // the object is in none
		return s
	}
	return s + " in namespace " + r.namespace
}

func lacks(r right) string { return fmt.Sprintf("the bot lacks the right to %s", r) }

// may asks the API server whether the bot has a right. Only a clear yes is yes.
func (c *kube) may(ctx context.Context, r right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: new(r.attributes()),
	}}
	got, err := c.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether the bot may %s: %w", r, err)
	}
	return got.Status.Allowed && !got.Status.Denied, nil
}

// NamespaceRules are what the bot needs in one namespace: the rules of a Role.
type NamespaceRules struct {
	Namespace string              `json:"namespace"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

// Rules are the exact rights that the knobs of these pools need, by namespace. An empty mode is each pool's own. In the modes observe and dry-run they
// are rights to read: Kubernetes cannot grant dry-runs alone, so a dry run with these rights works its diffs out itself and says that they are not
// checked. Every authenticated user may ask for its own rights and for the list of kinds (the cluster role system:basic-user and
// system:discovery); that is not listed. Kinds other than Kubernetes' own are looked up in the cluster.
func (r *Registry) Rules(ctx context.Context, pools []incident.Pool, mode incident.Mode) ([]NamespaceRules, error) {
	var all []right
	for _, p := range pools {
		rights, err := r.rights(ctx, p, cmp.Or(mode, p.Mode))
		if err != nil {
			return nil, err
		}
		all = append(all, rights...)
	}
	return byNamespace(all), nil
}

func (r *Registry) rights(ctx context.Context, p incident.Pool, m incident.Mode) ([]right, error) {
	all, err := r.cluster.needs(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("rights for pool %s: %w", p.Name, err)
	}
	return slices.DeleteFunc(all, func(one right) bool {
		return one.verb == "patch" && m != incident.ModeApprove && m != incident.ModeAuto
	}), nil
}

// needs are all rights that the knobs of a pool need, those to write included.
func (c *kube) needs(ctx context.Context, pool incident.Pool) ([]right, error) {
	var out []right
	w := pool.Workload
	if pool.Knobs.Replicas != nil || pool.Knobs.MaxNumBatchedTokens != nil {
		gvr, known := ownKinds()[w.APIVersion+" "+w.Kind]
		if !known {
			var err error
			if gvr, err = c.resource(ctx, w.APIVersion, w.Kind); err != nil {
				return nil, err
			}
		}
		here := right{verb: "get", group: gvr.Group, resource: gvr.Resource, namespace: w.Namespace, name: w.Name}
		out = append(out, here)
		if pool.Knobs.MaxNumBatchedTokens != nil && hasArguments(w) {
			out = append(out, here.to("patch"))
		}
		if pool.Knobs.Replicas != nil {
			scale := here
			scale.subresource = "scale"
			out = append(out, scale, scale.to("patch"))
			for _, r := range []schema.GroupVersionResource{cluster.HPAs, cluster.ScaledObjects, cluster.PodAutoscalers} {
				owner := right{group: r.Group, resource: r.Resource, namespace: w.Namespace}
				out = append(out, owner.to("list"), owner.to("patch"))
			}
			if gvr.Group == cluster.Models.Group && w.Kind == cluster.ModelKind { // its own autoscaler
				out = append(out, here.to("patch"))
			}
		}
	}
	if k := pool.Knobs.Throttle; k != nil {
		policy := right{verb: "get", group: policyResource.Group, resource: policyResource.Resource, namespace: k.Namespace, name: k.Name}
		out = append(out, policy, policy.to("patch"))
	}
	return out, nil
}

// lacksScaler says whether a right is for an autoscaler that this cluster does not have: where KEDA or AIBrix is not installed there is nothing to look for.
func (c *kube) lacksScaler(ctx context.Context, r right) (bool, error) {
	for _, s := range []struct {
		resource schema.GroupVersionResource
		kind     string
	}{{cluster.ScaledObjects, cluster.ScaledObjectKind}, {cluster.PodAutoscalers, cluster.PodAutoscalerKind}} {
		if r.group == s.resource.Group && r.resource == s.resource.Resource {
			_, found, err := c.kind(ctx, s.resource.GroupVersion().String(), s.kind)
			return err == nil && !found, err
		}
	}
	return false, nil
}

func (r right) to(verb string) right {
	r.verb = verb
	return r
}

// byNamespace writes rights as rules: one for each resource and set of objects, in a fixed order.
func byNamespace(rights []right) []NamespaceRules {
	slices.SortFunc(rights, func(a, b right) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.group, b.group), strings.Compare(a.resource, b.resource),
			strings.Compare(a.subresource, b.subresource), strings.Compare(a.name, b.name), strings.Compare(a.verb, b.verb))
	})
	var out []NamespaceRules
	for _, r := range slices.Compact(rights) {
		if len(out) == 0 || out[len(out)-1].Namespace != r.namespace {
			out = append(out, NamespaceRules{Namespace: r.namespace})
		}
		in := &out[len(out)-1]
		in.Rules = with(in.Rules, r)
	}
	return out
}

// with adds a right to the last rule when it is about the same objects, else as a new rule.
func with(rules []rbacv1.PolicyRule, r right) []rbacv1.PolicyRule {
	resource := r.resource
	if r.subresource != "" {
		resource += "/" + r.subresource
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{resource}, Verbs: []string{r.verb}}
	if r.name != "" {
		rule.ResourceNames = []string{r.name}
	}
	if n := len(rules) - 1; n >= 0 && slices.Equal(rules[n].Resources, rule.Resources) && slices.Equal(rules[n].APIGroups, rule.APIGroups) &&
		slices.Equal(rules[n].ResourceNames, rule.ResourceNames) {
		rules[n].Verbs = append(rules[n].Verbs, r.verb)
		return rules
	}
	return append(rules, rule)
}

// ownKinds are the kinds of Kubernetes itself that have a scale; where others are has to be asked.
func ownKinds() map[string]schema.GroupVersionResource {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	return map[string]schema.GroupVersionResource{
		"apps/v1 Deployment": apps.WithResource("deployments"), "apps/v1 StatefulSet": apps.WithResource("statefulsets"),
		"apps/v1 ReplicaSet": apps.WithResource("replicasets"),
	}
}
