package remediation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// router finds the pools that alerts lead to.
type router struct {
	pools  []incident.Pool
	owners ownerFinder
}

type ownerFinder interface {
	FindOwners(ctx context.Context, labels map[string]string) ([]incident.WorkloadRef, incident.Trail, error)
}

// pool finds a configured pool by name.
func (r router) pool(name string) (incident.Pool, bool) {
	for _, p := range r.pools {
		if p.Name == name {
			return p, true
		}
	}
	return incident.Pool{}, false
}

// known lists the pools, for whoever misspelled one.
func (r router) known() string { return "; the pools are " + strings.Join(r.names(), ", ") }

func (r router) names() []string {
	var names []string
	for _, p := range r.pools {
		names = append(names, p.Name)
	}
	return names
}

// poolOf finds the pool that labels lead to: the match labels first, the most specific one, then the only pool of a
// namespace, where the labels say no more than that, then instance -> pod -> owner. The empty name means that they lead
// nowhere. The route is what there is to say about it: nothing when it has no kind. An error says that nobody answered;
// a name that comes with it is that of a pool below what was not answered.
func (r router) poolOf(ctx context.Context, labels map[string]string, asked *owners) (string, incident.Route, error) {
	if pool, route := r.byLabels(labels); pool != "" {
		return pool, route, nil
	}
	found := asked.find(ctx, r.owners, labels)
	pool := r.poolAmong(found.refs)
	if errors.Is(found.err, incident.ErrUnanswered) {
		return pool, incident.Route{}, found.err
	}
	var route incident.Route
	switch {
	case pool != "":
		route = incident.Route{Kind: incident.RouteOwners, Trail: found.trail, Owners: found.refs}
	case len(found.refs) > 0: // the same for every pod below
		route = incident.Route{Kind: incident.RouteNoPool, Owners: found.refs[len(found.refs)-1:]}
	case found.err == nil || errors.Is(found.err, incident.ErrNoWorkload):
		return "", incident.Route{}, nil
	default:
		route = incident.Route{Kind: incident.RouteUnknown, Alert: labels["alertname"]}
	}
	if found.err != nil {
		route.Why = found.err.Error()
	}
	return pool, route, nil
}

// byLabels is poolOf as far as nobody has to be asked.
func (r router) byLabels(labels map[string]string) (string, incident.Route) {
	if p, ok := incident.MatchPool(r.pools, labels); ok {
		return p.Name, incident.Route{}
	}
	if pool := r.onlyPoolOf(labels); pool != "" {
		return pool, incident.Route{Kind: incident.RouteNamespace, Alert: labels["alertname"]}
	}
	return "", incident.Route{}
}

// aboutAnything are labels that don't narrow what an alert is about: its name, how urgent it is, and what its
// Prometheus adds to all alerts.
func aboutAnything() []string {
	return []string{"alertname", "severity", "cluster", "prometheus", "prometheus_replica"}
}

// onlyPoolOf is the only pool of the namespace in the labels, or "". Any other label may be of something else in that
// namespace (another model, a volume, a quota), and a pool whose namespace isn't known may be in it: both end the
// search.
func (r router) onlyPoolOf(labels map[string]string) string {
	namespace, only := labels["namespace"], ""
	if namespace == "" {
		return ""
	}
	for name := range labels {
		if name != "namespace" && !slices.Contains(aboutAnything(), name) {
			return ""
		}
	}
	for _, p := range r.pools {
		known := []string{p.Match["namespace"], p.Matchers["namespace"], p.Workload.Namespace}
		switch {
		case !slices.ContainsFunc(known, func(s string) bool { return s != "" }):
			return ""
		case !slices.Contains(known, namespace):
			continue
		case only != "" || contradicts(p.Match, labels):
			return ""
		}
		only = p.Name
	}
	return only
}

// contradicts says whether a label has another value than a pool asks for.
func contradicts(match, labels map[string]string) bool {
	for name, want := range match {
		if got, ok := labels[name]; ok && got != want {
			return true
		}
	}
	return false
}

// unansweredRoute says what is not known of an alert after an unanswered question: its pool, or, when the owners that
// were read name one, whether an owner above them belongs to another.
func unansweredRoute(a incident.Alert, pool string, err error) incident.Route {
	route := incident.Route{Kind: incident.RouteUnknown, Alert: a.Name(), Why: err.Error()}
	if pool != "" {
		route.Kind = incident.RouteUnsure
	}
	return route
}

// poolAmong is the pool that names one of the owners, the highest first.
func (r router) poolAmong(owners []incident.WorkloadRef) string {
	for _, ref := range slices.Backward(owners) {
		for _, p := range r.pools {
			if sameWorkload(p.Workload, ref) {
				return p.Name
			}
		}
	}
	return ""
}

// owners remembers, for one turn, whose owner was asked for: alerts of one place share an answer, and somebody who does
// not answer is waited for once. What may not be read, or is not there, is an answer about that one object and stops
// nothing.
type owners struct {
	known map[string]owner
	down  error
}

// owner is where labels lead. refs are the owners that could be read, also with an error.
type owner struct {
	refs  []incident.WorkloadRef
	trail incident.Trail
	err   error
}

// many is how many questions were asked.
func (o *owners) many() int { return len(o.known) }

func (o *owners) find(ctx context.Context, c ownerFinder, labels map[string]string) owner {
	key := placeOf(labels)
	answer, ok := o.known[key]
	switch {
	case ok:
		return answer
	case o.down != nil:
		return owner{err: o.down}
	}
	answer.refs, answer.trail, answer.err = c.FindOwners(ctx, labels)
	if o.known == nil {
		o.known = map[string]owner{}
	}
	o.known[key] = answer
	if errors.Is(answer.err, incident.ErrUnanswered) {
		o.down = answer.err
	}
	return answer
}

// placeOf names what is asked to find the owners of an alert: the same text stands for the same questions.
func placeOf(labels map[string]string) string {
	var key strings.Builder
	for _, name := range incident.PlaceLabels() {
		if v := labels[name]; v != "" {
			fmt.Fprintf(&key, "%s=%q ", name, v)
		}
	}
	return key.String()
}

// factsSaid bounds the different facts that go into the journal with one delivery: a thousand alerts may lead to a
// thousand objects that may not be read.
const factsSaid = 3

// routes gathers what there is to say about the alerts of each pool, each fact once.
type routes map[string][]incident.Route

func (r routes) add(pool string, route incident.Route) {
	if route.Kind != "" && !slices.ContainsFunc(r[pool], route.Same) {
		r[pool] = append(r[pool], route)
	}
}

// of is what is said about the alerts of a pool that came with a delivery, of which some may be missing; the zero Note
// when there is nothing to say.
func (r routes) of(pool string, d incident.Delivery) incident.Note {
	said, room := r[pool], factsSaid
	if d.Truncated > 0 || d.Cut {
		room--
	}
	if d.Truncated == 0 && !d.Cut && len(said) == 0 {
		return incident.Note{}
	}
	room = min(room, len(said))
	return incident.Note{Kind: incident.NoteRouting, Routing: &incident.Routing{
		LeftOut: d.Truncated, Cut: d.Cut, Routes: said[:room], Unsaid: len(said) - room,
	}}
}

func sameWorkload(a, b incident.WorkloadRef) bool {
	group := func(v string) string {
		if g, _, ok := strings.Cut(v, "/"); ok {
			return g
		}
		return ""
	}
	return a.Name != "" && a.Name == b.Name && a.Namespace == b.Namespace && a.Kind == b.Kind &&
		group(a.APIVersion) == group(b.APIVersion)
}
