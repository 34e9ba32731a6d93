package remediation

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	FindOwners(ctx context.Context, labels map[string]string) ([]incident.WorkloadRef, string, error)
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

// poolOf finds the pool that labels lead to: the match labels first, the most specific one, then instance -> pod ->
// owner. The empty name means that they lead nowhere. An error says that nobody answered; a name that comes with it is
// that of a pool below what was not answered.
func (r router) poolOf(ctx context.Context, labels map[string]string, asked *owners) (string, string, error) {
	if p, ok := incident.MatchPool(r.pools, labels); ok {
		return p.Name, "", nil
	}
	found := asked.find(ctx, r.owners, labels)
	pool := r.poolAmong(found.refs)
	if errors.Is(found.err, incident.ErrUnanswered) {
		return pool, "", found.err
	}
	note := found.how
	switch {
	case pool != "":
	case len(found.refs) > 0:
		note = fmt.Sprintf("The alert leads to %s, which no pool names.", found.refs[len(found.refs)-1])
	case found.err == nil || errors.Is(found.err, incident.ErrNoWorkload):
		return "", "", nil
	default:
		return "", fmt.Sprintf("The pool of %s could not be found: %s.", labels["alertname"], found.err), nil
	}
	if found.err != nil {
		note = strings.TrimSpace(fmt.Sprintf("%s However, %s.", note, found.err))
	}
	return pool, note, nil
}

// unansweredNote says what is not known of an alert after an unanswered question: its pool, or, when the owners that
// were read name one, whether an owner above them belongs to another.
func unansweredNote(a incident.Alert, pool string, err error) string {
	if pool != "" {
		return fmt.Sprintf("Whether %s belongs to another pool could not be found out: %v.", a.Name(), err)
	}
	return fmt.Sprintf("The pool of %s could not be found: %v.", a.Name(), err)
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

// owners remembers, for one delivery, whose owner was asked for: alerts that differ in their rule only share an answer,
// and somebody who does not answer is waited for once. What may not be read, or is not there, is an answer about that
// one object and stops nothing.
type owners struct {
	known map[string]owner
	down  error
}

// owner is where labels lead. refs are the owners that could be read, also with an error.
type owner struct {
	refs []incident.WorkloadRef
	how  string
	err  error
}

func (o *owners) find(ctx context.Context, c ownerFinder, labels map[string]string) owner {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != "alertname" && name != "severity" {
			fmt.Fprintf(&key, "%q=%q ", name, labels[name])
		}
	}
	answer, ok := o.known[key.String()]
	switch {
	case ok:
		return answer
	case o.down != nil:
		return owner{err: o.down}
	}
	answer.refs, answer.how, answer.err = c.FindOwners(ctx, labels)
	if o.known == nil {
		o.known = map[string]owner{}
	}
	o.known[key.String()] = answer
	if errors.Is(answer.err, incident.ErrUnanswered) {
		o.down = answer.err
	}
	return answer
}

// notesSaid bounds the different notes that go into the journal with one delivery: a thousand alerts may lead to a
// thousand objects that may not be read.
const notesSaid = 3

// notes gathers what there is to say about the alerts of each pool, each sentence once.
type notes map[string][]string

func (n notes) add(pool, note string) {
	if note != "" && !slices.Contains(n[pool], note) {
		n[pool] = append(n[pool], note)
	}
}

// of is what is said about the alerts of a pool.
func (n notes) of(pool string) string {
	said := n[pool]
	if more := len(said) - notesSaid; more > 0 {
		said = append(said[:notesSaid:notesSaid], fmt.Sprintf("%d more of the alerts have a reason of their own.", more))
	}
	return strings.Join(said, " ")
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
