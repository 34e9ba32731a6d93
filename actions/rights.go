package actions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/replicas"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// NamespaceRules are what the bot needs in one namespace: the rules of a Role.
type NamespaceRules struct {
	Namespace string              `json:"namespace"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
}

// Rules are the exact rights that the knobs of these pools need, by namespace. An empty mode is each pool's own. In
// the modes observe and dry-run they are rights to read: Kubernetes cannot grant dry-runs alone, so a dry run with
// these rights works its diffs out itself and says that they are not checked. Every authenticated user may ask for
// its own rights and for the list of kinds (the cluster role system:basic-user and system:discovery); that is not
// listed. Kinds other than Kubernetes' own are looked up in the cluster.
func (r *Registry) Rules(ctx context.Context, pools []incident.Pool, mode incident.Mode) ([]NamespaceRules, error) {
	var all []kube.Right
	for _, p := range pools {
		rights, err := r.rights(ctx, p, cmp.Or(mode, p.Mode))
		if err != nil {
			return nil, err
		}
		all = append(all, rights...)
	}
	return byNamespace(all), nil
}

// rights are those without which the knobs of a pool do not work in a mode.
func (r *Registry) rights(ctx context.Context, p incident.Pool, m incident.Mode) ([]kube.Right, error) {
	p.Mode = m
	needs, err := r.Needs(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []kube.Right
	for _, need := range needs {
		if !need.Optional {
			out = append(out, need.Right)
		}
	}
	return out, nil
}

// Needs are the rights that the knobs of a pool use in its mode, in the order of their use. A knob whose kind of
// workload it never changes needs none.
func (r *Registry) Needs(ctx context.Context, pool incident.Pool) ([]kube.Need, error) {
	return needs(ctx, r.cluster, pool)
}

// Resource finds where the objects of a kind are. *incident.RefusedError says that this cluster has no such kind.
func (r *Registry) Resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
	return r.cluster.Resource(ctx, apiVersion, kind)
}

// KnownKinds has the Needs and the Resource of a Registry without a cluster.
type KnownKinds struct{ kube.KnownKinds }

// Needs is Registry.Needs.
func (k KnownKinds) Needs(ctx context.Context, pool incident.Pool) ([]kube.Need, error) {
	return needs(ctx, k, pool)
}

func needs(ctx context.Context, kinds kube.Kinds, pool incident.Pool) ([]kube.Need, error) {
	var out []kube.Need
	all := knobs()
	for _, kind := range pool.Knobs.Kinds() {
		needs, err := all[kind].Needs(ctx, kinds, pool)
		if err != nil {
			return nil, fmt.Errorf("rights for pool %s: %w", pool.Name, err)
		}
		for _, need := range needs {
			used := need.Verb != "patch" || pool.Mode.Writes()
			if used && !slices.Contains(out, need) {
				out = append(out, need)
			}
		}
	}
	return out, nil
}

// Leaves are the fields that the knobs of a pool write in its mode, each with its limits.
func (r *Registry) Leaves(ctx context.Context, pool incident.Pool) ([]admission.Leaf, error) {
	return leaves(ctx, r.cluster, pool)
}

// Leaves is Registry.Leaves.
func (k KnownKinds) Leaves(ctx context.Context, pool incident.Pool) ([]admission.Leaf, error) {
	return leaves(ctx, k, pool)
}

func leaves(ctx context.Context, kinds kube.Kinds, pool incident.Pool) ([]admission.Leaf, error) {
	if !pool.Mode.Writes() {
		return nil, nil
	}
	var out []admission.Leaf
	all := knobs()
	for _, kind := range pool.Knobs.Kinds() {
		of, err := all[kind].Leaves(ctx, kinds, pool)
		if err != nil {
			return nil, fmt.Errorf("fields of pool %s: %w", pool.Name, err)
		}
		out = append(out, of...)
	}
	return out, nil
}

// Shapes are those of all fields that a knob writes, by their ID.
func Shapes() map[string]admission.Shape {
	out := map[string]admission.Shape{}
	for _, knob := range knobs() {
		for _, s := range knob.Shapes() {
			out[s.ID] = s
		}
	}
	return out
}

// Lacks asks the API server whether the bot lacks a right. One for an autoscaler that this cluster does not have is not
// lacking: where KEDA is not installed, there is nothing to list.
func (r *Registry) Lacks(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	right := kube.RightOf(what)
	may, err := r.cluster.May(ctx, right)
	if err == nil && !may {
		may, err = replicas.OwnerMissing(ctx, r.cluster, right)
	}
	return !may, err
}

// RightText is a right as the refusals name it: `patch deployments.apps/scale "llama-70b" in namespace llm`.
func RightText(what authorizationv1.ResourceAttributes) string { return kube.RightOf(what).String() }

// byNamespace writes rights as rules: one for each resource and set of objects, in a fixed order.
func byNamespace(rights []kube.Right) []NamespaceRules {
	slices.SortFunc(rights, func(a, b kube.Right) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Group, b.Group),
			strings.Compare(a.Resource, b.Resource),
			strings.Compare(a.Subresource, b.Subresource), strings.Compare(a.Name, b.Name), strings.Compare(a.Verb, b.Verb))
	})
	var out []NamespaceRules
	for _, r := range slices.Compact(rights) {
		if len(out) == 0 || out[len(out)-1].Namespace != r.Namespace {
			out = append(out, NamespaceRules{Namespace: r.Namespace})
		}
		in := &out[len(out)-1]
		in.Rules = withRight(in.Rules, r)
	}
	return out
}

// withRight adds a right to the last rule when it is about the same objects, else as a new rule.
func withRight(rules []rbacv1.PolicyRule, r kube.Right) []rbacv1.PolicyRule {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{resource}, Verbs: []string{r.Verb}}
	if r.Name != "" {
		rule.ResourceNames = []string{r.Name}
	}
	if n := len(rules) - 1; n >= 0 && slices.Equal(rules[n].Resources, rule.Resources) &&
		slices.Equal(rules[n].APIGroups, rule.APIGroups) &&
		slices.Equal(rules[n].ResourceNames, rule.ResourceNames) {
		rules[n].Verbs = append(rules[n].Verbs, r.Verb)
		return rules
	}
	return append(rules, rule)
}
