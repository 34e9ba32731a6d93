package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/actions/kube"
)

// Account is the service account that the bot runs as.
type Account struct{ Namespace, Name string }

// Validate says what can't be the name of a namespace or of a service account.
func (a Account) Validate() error {
	if bad := validation.IsDNS1123Label(a.Namespace); bad != nil {
		return fmt.Errorf("%q can't be the name of a namespace: %s", a.Namespace, bad[0])
	}
	if bad := validation.IsDNS1123Subdomain(a.Name); bad != nil {
		return fmt.Errorf("%q can't be the name of a service account: %s", a.Name, bad[0])
	}
	return nil
}

// prefix begins the names of its roles. Two bots of one cluster are in two namespaces.
func (a Account) prefix() string {
	if a.Namespace == a.Name {
		return a.Name
	}
	return a.Namespace + "-" + a.Name
}

// Grant is a role of the bot with its binding, which has the same name.
type Grant struct {
	Name string
	// Namespace is empty for a ClusterRole.
	Namespace string
	// Rules are empty where Existing names a role that every cluster has.
	Rules    []GrantedRule
	Existing string
}

// GrantedRule is a rule with what doesn't work without it.
type GrantedRule struct {
	rbacv1.PolicyRule

	Without  []string
	Optional bool
}

// Grants are the exact permissions that a configuration needs, as roles and bindings: the rights that check --live asks
// for. Only required leaves out what the bot can do without. Without the section kubernetes there are none. The cluster
// is asked only about kinds that have no fixed place, as whoever runs the command.
func Grants(ctx context.Context, opts Options, to Account, onlyRequired bool) ([]Grant, error) {
	if opts.Config.Kubernetes == nil {
		return nil, nil
	}
	known := actions.KnownKinds{KnownKinds: kube.KnownKinds{Other: askCluster(opts)}}
	all := PeopleRights()
	for n := range all {
		all[n].Namespace = reviews
	}
	for _, p := range opts.Config.Pools {
		rights, err := Rights(ctx, known, p)
		if err != nil {
			return nil, fmt.Errorf("permissions of pool %s: %w", p.Name, err)
		}
		all = append(all, rights...)
	}
	if onlyRequired {
		all = slices.DeleteFunc(all, func(r Right) bool { return r.Optional })
	}
	out := byRole(all, to)
	if a := opts.Config.Access; a.ClientCertificates && a.ClientCAFile == "" {
		out = append(out, Grant{
			Name: to.prefix() + "-client-certificates", Namespace: "kube-system",
			Existing: "extension-apiserver-authentication-reader",
		})
	}
	return out, nil
}

// reviews stands for the role of PeopleRights: no namespace has a name with a colon.
const reviews = ":reviews"

// askCluster finds the kinds that only the cluster knows.
func askCluster(opts Options) func(context.Context, string, string) (schema.GroupVersionResource, error) {
	return func(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
		rc, err := forReading(opts)
		if err != nil {
			return schema.GroupVersionResource{}, fmt.Errorf(
				"the resource of %s in %s has to be asked of the cluster: %w", kind, apiVersion, err)
		}
		registry, err := actions.New(actions.Config{}, rc, opts.Logger)
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		return registry.Resource(ctx, apiVersion, kind)
	}
}

// byRole sorts rights into one role to read and one to write for each namespace, and writes them as rules.
func byRole(all []Right, to Account) []Grant {
	roles := map[string]*Grant{}
	var names []string
	in := map[string][]Right{}
	for _, r := range all {
		g := Grant{Name: to.prefix() + "-read", Namespace: r.Namespace}
		switch {
		case r.Namespace == reviews:
			g = Grant{Name: to.prefix() + "-reviews"}
		case r.Verb == "patch":
			g.Name = to.prefix() + "-write"
		}
		key := g.Namespace + "/" + g.Name
		if roles[key] == nil {
			roles[key] = &g
			names = append(names, key)
		}
		in[key] = append(in[key], r)
	}
	slices.Sort(names)
	out := make([]Grant, 0, len(names))
	for _, key := range names {
		roles[key].Rules = rules(in[key])
		out = append(out, *roles[key])
	}
	return out
}

// rules writes rights of one role as rules: one for each resource and set of objects, in a fixed order. A right to all
// objects of a kind has those to named ones in it.
func rules(rights []Right) []GrantedRule {
	verbs := map[authorizationv1.ResourceAttributes]*verbRule{}
	var inOrder []*verbRule
	for _, r := range rights {
		of := r.ResourceAttributes
		of.Name, of.Namespace = "", ""
		v := verbs[of]
		if v == nil {
			v = &verbRule{of: of, optional: true}
			verbs[of], inOrder = v, append(inOrder, v)
		}
		v.add(r)
	}
	byObjects := map[string]*GrantedRule{}
	var keys []string
	for _, v := range inOrder {
		key := v.objects()
		if byObjects[key] == nil {
			byObjects[key] = &GrantedRule{PolicyRule: v.rule(), Optional: true}
			keys = append(keys, key)
		}
		r := byObjects[key]
		r.Verbs = append(r.Verbs, v.of.Verb)
		r.Without = withNew(r.Without, v.without...)
		r.Optional = r.Optional && v.optional
	}
	slices.Sort(keys)
	out := make([]GrantedRule, 0, len(keys))
	for _, key := range keys {
		r := *byObjects[key]
		slices.Sort(r.Verbs)
		out = append(out, r)
	}
	return out
}

// verbRule is one verb on one resource, of all objects or of those that have these names.
type verbRule struct {
	of       authorizationv1.ResourceAttributes
	all      bool
	names    []string
	without  []string
	optional bool
}

func (v *verbRule) add(r Right) {
	v.all = v.all || r.Name == ""
	v.names = append(v.names, r.Name)
	v.without = withNew(v.without, r.Without)
	v.optional = v.optional && r.Optional
	slices.Sort(v.names)
	v.names = slices.Compact(v.names)
}

// withNew appends what is not there yet.
func withNew(to []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(to, s) {
			to = append(to, s)
		}
	}
	return to
}

func (v *verbRule) objects() string {
	return strings.Join(append([]string{v.of.Group, v.resource()}, v.rule().ResourceNames...), "|")
}

func (v *verbRule) resource() string {
	return strings.TrimSuffix(v.of.Resource+"/"+v.of.Subresource, "/")
}

func (v *verbRule) rule() rbacv1.PolicyRule {
	r := rbacv1.PolicyRule{APIGroups: []string{v.of.Group}, Resources: []string{v.resource()}}
	if !v.all {
		r.ResourceNames = v.names
	}
	return r
}
