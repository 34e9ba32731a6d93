package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Right is a right that check --live asks for, and that vllm-medic rbac and the Helm chart grant.
type Right struct {
	authorizationv1.ResourceAttributes

	// Without is what does not work when it is missing.
	Without string
	// Optional says that the bot works without it and says what it could not read.
	Optional bool
}

// kinds knows what a pool's knobs need, and where the objects of a kind are: *actions.Registry asks the cluster,
// actions.KnownKinds does without.
type kinds interface {
	Needs(ctx context.Context, pool incident.Pool) ([]kube.Need, error)
	Resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error)
}

// Rights are all rights that the bot needs for a pool and its knobs, in the pool's mode: to read evidence, then for its
// knobs. What both need is required. check --live asks for them, and vllm-medic rbac and the Helm chart grant them.
func Rights(ctx context.Context, known kinds, p incident.Pool) ([]Right, error) {
	out, err := evidenceRights(ctx, known, p.Workload)
	if err != nil {
		return nil, err
	}
	for _, kind := range p.Knobs.Kinds() {
		only := p
		only.Knobs = p.Knobs.Only(kind)
		needs, err := known.Needs(ctx, only)
		if err != nil {
			return nil, err
		}
		for _, n := range needs {
			without := cmp.Or(n.Without, fmt.Sprintf("%s can't be adjusted", kind))
			out = append(out, Right{ResourceAttributes: n.Attributes(), Without: without, Optional: n.Optional})
		}
	}
	return merge(out), nil
}

// merge keeps one of each right.
func merge(rights []Right) []Right {
	var out []Right
	for _, r := range rights {
		n := slices.IndexFunc(out, func(o Right) bool { return o.ResourceAttributes == r.ResourceAttributes })
		if n < 0 {
			out = append(out, r)
			continue
		}
		if !strings.Contains(out[n].Without, r.Without) {
			out[n].Without += "; " + r.Without
		}
		out[n].Optional = out[n].Optional && r.Optional
	}
	return out
}

// evidenceRights are those to read a workload and what is around it.
func evidenceRights(ctx context.Context, known kinds, w incident.WorkloadRef) ([]Right, error) {
	if w.IsZero() {
		return nil, nil
	}
	at, err := known.Resource(ctx, w.APIVersion, w.Kind)
	if err != nil {
		return nil, err
	}
	may := func(verb, group, resource, sub, namespace, name, without string, optional bool) Right {
		return Right{Without: without, Optional: optional, ResourceAttributes: authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name,
		}}
	}
	const (
		required, optional = false, true
		noPods             = "pods, their crashes and the pool of an alert that names a pod aren't known"
		noOwner            = "who scales the workload isn't known"
		noPool             = "the pool of an alert that names a pod isn't found"
	)
	out := []Right{
		may("get", at.Group, at.Resource, "", w.Namespace, w.Name, "the workload isn't read", required),
		may("get", "", "pods", "", w.Namespace, "", noPods, required),
		may("list", "", "pods", "", w.Namespace, "", noPods, required),
		may("get", "", "pods", "log", w.Namespace, "", "the last lines of a crashed container aren't shown", optional),
		may("list", "", "events", "", w.Namespace, "", "recent warnings aren't shown", required),
		may("list", "autoscaling.aibrix.ai", "podautoscalers", "", "", "",
			"whether one of another namespace scales the workload isn't known", optional),
		may("list", "", "events", "", "default", "", "events of the nodes aren't shown", optional),
	}
	for _, kind := range append(cluster.InstalledAutoscalers(), cluster.HPA) {
		if kind.Scales(at.Group) {
			out = append(out, may("list", kind.Resource.Group, kind.Resource.Resource, "", w.Namespace, "", noOwner, required))
		}
	}
	switch {
	case at.Group == "apps" && at.Resource == "deployments":
		out = append(out,
			may("get", "apps", "replicasets", "", w.Namespace, "", noPool, required),
			may("list", "apps", "replicasets", "", w.Namespace, "", "what the last rollout changed isn't shown", optional))
	case at.Group == "apps" && at.Resource == "statefulsets", at.Group == "apps" && at.Resource == "daemonsets",
		at.Group == "leaderworkerset.x-k8s.io":
		out = append(out,
			may("list", "apps", "controllerrevisions", "", w.Namespace, "", "what the last rollout changed isn't shown",
				optional))
	}
	if at.Group != "apps" { // its pods may belong to objects of Kubernetes that its operator made
		out = append(out,
			may("get", "apps", "replicasets", "", w.Namespace, "", noPool, optional),
			may("get", "apps", "deployments", "", w.Namespace, "", noPool, optional),
			may("get", "apps", "statefulsets", "", w.Namespace, "", noPool, optional),
			may("get", at.Group, at.Resource, "scale", w.Namespace, w.Name, "how many replicas are ready isn't known", optional),
			may("get", "apiextensions.k8s.io", "customresourcedefinitions", "", "", "",
				"where the kind keeps its replicas isn't known, nor who sets them", optional))
	}
	return out, nil
}

// PeopleRights are those to ask who a person is and what that person may do.
func PeopleRights() []Right {
	const nobody = "nobody can approve, pause or read with a Kubernetes token; Slack still works"
	return []Right{
		{ResourceAttributes: authorizationv1.ResourceAttributes{
			Verb: "create", Group: "authentication.k8s.io",
			Resource: "tokenreviews",
		}, Without: nobody},
		{ResourceAttributes: authorizationv1.ResourceAttributes{
			Verb: "create", Group: "authorization.k8s.io",
			Resource: "subjectaccessreviews",
		}, Without: nobody},
	}
}

// poolRights asks for the rights that a pool needs. usable is the pool without the knobs that can't be adjusted anyway:
// nobody should grant anything for those. file is the configuration.
func poolRights(ctx context.Context, registry *actions.Registry, file string, p, usable incident.Pool) Finding {
	where := "permissions, pool " + p.Name
	rights, err := Rights(ctx, registry, usable)
	if err != nil {
		return Finding{Where: where, Text: err.Error()}
	}
	complete := fmt.Sprintf("all that mode %s needs", p.Mode)
	switch left := usable.Knobs.Kinds(); {
	case len(p.Knobs.Kinds()) == 0:
		complete = "all that reading needs"
	case len(left) == len(p.Knobs.Kinds()):
	case len(left) == 0:
		complete = "all that reading needs; nothing was asked for the knobs that can't be adjusted"
	default:
		complete += fmt.Sprintf(" for %s; nothing was asked for the knobs that can't be adjusted", kindList(left))
	}
	return askRights(ctx, registry, file, where, complete, rights)
}

func kindList(of []incident.StepKind) string {
	out := make([]string, len(of))
	for n, k := range of {
		out[n] = string(k)
	}
	return strings.Join(out, ", ")
}

// peopleRights asks for the rights to ask who a person is.
func peopleRights(ctx context.Context, registry *actions.Registry, file string) Finding {
	return askRights(ctx, registry, file, "permissions, users",
		"approvals, pauses and reads with a Kubernetes token work", PeopleRights())
}

// askRights asks the API server for rights and names each one that is missing, with what does not work without it.
func askRights(
	ctx context.Context, registry *actions.Registry, file, where, complete string, rights []Right,
) Finding {
	f := Finding{Where: where, Good: true, Text: complete}
	missing, optional := 0, 0
	for _, r := range rights {
		lacks, err := registry.Lacks(ctx, r.ResourceAttributes)
		if err != nil {
			return Finding{Where: where, Text: err.Error()}
		}
		if !lacks {
			continue
		}
		kind := "missing"
		if r.Optional {
			optional++
			kind = "optional"
		} else {
			missing++
		}
		f.More = append(f.More,
			fmt.Sprintf("%s: %s. Without it, %s.", kind, actions.RightText(r.ResourceAttributes), r.Without))
	}
	switch {
	case missing > 0:
		f.Good, f.Text = false,
			fmt.Sprintf("the bot lacks %s; apply what vllm-medic rbac --config %s prints", rightsCount(missing), file)
	case optional > 0:
		f.Caution, f.Text = true, fmt.Sprintf("%s; %s left out", complete, rightsCount(optional))
	}
	return f
}

func rightsCount(n int) string {
	if n == 1 {
		return "1 permission"
	}
	return fmt.Sprintf("%d permissions", n)
}
