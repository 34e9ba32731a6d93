package incident

import (
	"slices"
	"time"
)

// Approvers says who may approve. An empty one allows nobody.
type Approvers struct {
	Users  []string `json:"users,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Count is how many different people must approve; 0 means 1.
	Count int `json:"count,omitempty"`
	// FourEyes asks for two different people behind a step: its approvers, and whoever chose its value.
	FourEyes bool `json:"fourEyes,omitempty"`
	// Reason says that nothing is approved without a reason.
	Reason bool `json:"reason,omitempty"`
	// Narrow has Slack offer a smaller change than the proposed one before an approval.
	Narrow bool `json:"narrow,omitempty"`
	// Expire is how long a proposal waits; its end means no.
	Expire time.Duration `json:"expire,omitempty"`
	// Remind is how long before that end people are reminded; 0: never.
	Remind time.Duration `json:"remind,omitempty"`
	// Identities are the Kubernetes users of people in Slack, by their ids there, as far as they are known: an account and
	// its user are one person. It is the same for all approvers.
	Identities map[string]string `json:"-"`
	// Escalate are further people, each called, and allowed to decide, some time after the request.
	Escalate []Escalation `json:"escalate,omitempty"`
}

// Escalation are people who may decide, too, when nobody has done so for a time.
type Escalation struct {
	// After is how long after the request.
	After  time.Duration `json:"after"`
	Users  []string      `json:"users,omitempty"`
	Groups []string      `json:"groups,omitempty"`
}

// InForce are the approvers when people have been asked for so long; 0: they are not being asked. Whoever is to be
// called later is not among them yet.
func (a Approvers) InForce(asked time.Duration) Approvers {
	a.Users, a.Groups = slices.Clone(a.Users), slices.Clone(a.Groups)
	for _, e := range a.Escalate {
		if asked > 0 && asked >= e.After {
			a.Users, a.Groups = append(a.Users, e.Users...), append(a.Groups, e.Groups...)
		}
	}
	return a
}

// Needed is how many people must approve a step whose value this person chose; nil: the bot did.
func (a Approvers) Needed(chosenBy *Actor) int {
	if a.FourEyes && chosenBy == nil {
		return max(2, a.Count)
	}
	return max(1, a.Count)
}

// Enough says whether these approvals suffice for a step whose value this person chose; nil: the bot did.
func (a Approvers) Enough(approvals []Actor, chosenBy *Actor) bool {
	if a.people(approvals) < a.Needed(chosenBy) {
		return false
	}
	behind := slices.Clone(approvals)
	if chosenBy != nil {
		behind = append(behind, *chosenBy)
	}
	return !a.FourEyes || a.people(behind) >= 2
}

// person is the same for what is known to be the same person: their Kubernetes user, where there is one.
func (a Approvers) person(who Actor) Actor {
	if user := a.Identities[who.ID]; who.Kind == ActorSlack && user != "" {
		return Actor{Kind: ActorKubernetes, ID: user}
	}
	return who
}

// Where people are told apart: Kubernetes has one name for each, and so has whoever maps accounts to those names.
const (
	toldByKubernetes = "kubernetes"
	toldByMapping    = "mapping"
)

// toldBy says where a person is told apart from the others there. A Kubernetes user that no account maps to may be
// anybody's second name, so such users are told apart from each other, and from nobody in Slack.
func (a Approvers) toldBy(who Actor) []string {
	name := a.person(who)
	if name.Kind != ActorKubernetes {
		return []string{string(name.Kind)}
	}
	var out []string
	if who.Kind == ActorKubernetes {
		out = append(out, toldByKubernetes)
	}
	for _, user := range a.Identities {
		if user == name.ID {
			return append(out, toldByMapping)
		}
	}
	return out
}

// tellsApart says whether these two names can be held against each other: then they are one person, or two.
func (a Approvers) tellsApart(one, other Actor) bool {
	of := a.toldBy(other)
	return slices.ContainsFunc(a.toldBy(one), func(by string) bool { return slices.Contains(of, by) })
}

// people is how many different people these are at least.
func (a Approvers) people(all []Actor) int {
	most, ids := 0, map[string]map[string]bool{}
	for _, who := range all {
		for _, by := range a.toldBy(who) {
			if ids[by] == nil {
				ids[by] = map[string]bool{}
			}
			ids[by][a.person(who).ID] = true
			most = max(most, len(ids[by]))
		}
	}
	return most
}

// Rule identifies who may approve. It is the same for the same people and groups, in whatever order; how many are
// needed is not in it. Further people are in it from the start, so that an approval outlives their call.
func (a Approvers) Rule() string {
	lists := [][]string{slices.Sorted(slices.Values(a.Users)), slices.Sorted(slices.Values(a.Groups))}
	for _, e := range a.Escalate {
		lists = append(lists, []string{e.After.String()}, slices.Sorted(slices.Values(e.Users)),
			slices.Sorted(slices.Values(e.Groups)))
	}
	return digest(lists)
}
