package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// remindBefore is how long before the end of a request its approvers are reminded: long enough to open a laptop.
const remindBefore = 5 * time.Minute

// approvers reads a section; shared are those that count for kinds of steps which it leaves out.
func (l *loader) approvers(
	path string, f map[string]approversFile, shared map[incident.StepKind]incident.Approvers, cfg Config,
) map[incident.StepKind]incident.Approvers {
	first := firstExpire(f, shared, cfg.Timing)
	out := map[incident.StepKind]incident.Approvers{}
	for name, a := range f {
		kind, below := incident.StepKind(name), path+"."+name
		if name == "default" {
			kind = ""
		} else if _, knob := kind.Knob(); !knob {
			l.at(below, "%s", strictyaml.NotThere("kind of step", name, append(knobNames(), "default")))
		}
		read := l.approversOf(below, a, first, cfg.Timing)
		read.Identities = cfg.Access.identities()
		out[kind] = read
	}
	return out
}

// firstExpire is the shortest time for which a request can be open: one that is about several kinds of steps ends with
// the first of them. Kinds for which nothing is configured wait as long as timing says.
func firstExpire(
	f map[string]approversFile, shared map[incident.StepKind]incident.Approvers, timing incident.Timing,
) time.Duration {
	byKind := map[string]time.Duration{"default": 0}
	for kind, a := range shared {
		byKind[cmp.Or(string(kind), "default")] = a.Expire
	}
	for name, a := range f {
		byKind[name] = time.Duration(a.Expire)
	}
	standard := timing.WithDefaults().Expire
	first := cmp.Or(byKind["default"], standard)
	for _, expire := range byKind {
		first = min(first, cmp.Or(expire, standard))
	}
	return first
}

// approversOf reads those of one kind of step; first is when the first request can end.
func (l *loader) approversOf(
	path string, f approversFile, first time.Duration, timing incident.Timing,
) incident.Approvers {
	a := incident.Approvers{
		Users: f.Users, Groups: f.Groups, Count: f.Count, FourEyes: f.FourEyes,
		Reason: f.RequireReason, Narrow: f.Narrow, Expire: time.Duration(f.Expire),
		Remind: remindBefore,
	}
	if f.Count < 0 || (len(f.Groups) == 0 && f.Count > len(f.Users)) {
		l.at(path+".count", "requires %d approvals, and users lists %d", f.Count, len(f.Users))
	} else if f.FourEyes && len(f.Groups) == 0 && len(f.Users) == 1 {
		l.at(path+".four_eyes", "requires two people, and users lists 1")
	}
	l.slackIDs(path+".users", f.Users, userID)
	l.slackIDs(path+".groups", f.Groups, groupID)
	expire := cmp.Or(a.Expire, timing.WithDefaults().Expire)
	if f.Remind != nil {
		a.Remind = time.Duration(*f.Remind)
		if a.Remind >= expire {
			l.at(path+".remind", "%s before the end of a request that is open for %s is too early",
				incident.FormatDuration(a.Remind), incident.FormatDuration(expire))
		}
	}
	a.Escalate = l.escalations(path+".escalate", f, first)
	return a
}

// nobody refuses approvers that are an empty list in a pool whose changes somebody has to approve: they would be asked
// for and never made. Where approvers are left out, the command line decides, and check warns.
func (l *loader) nobody(f file, pools []incident.Pool) {
	said := map[string]bool{}
	for n, p := range pools {
		if p.Mode != incident.ModeApprove && p.Mode != incident.ModeAuto {
			continue
		}
		own := f.Pools[n].Approvers
		for path, section := range map[string]map[string]approversFile{
			"approvers": f.Approvers, fmt.Sprintf("pools[%d].approvers", n): own,
		} {
			for name, a := range section {
				_, replaced := own[name]
				at := path + "." + name
				if !a.emptied() || path == "approvers" && replaced || said[at] {
					continue
				}
				said[at] = true
				key := ".users"
				if a.Users == nil {
					key = ".groups"
				}
				l.at(at+key, "is empty, so nobody can approve in Slack, and pool %s is in mode %s; list the ids of users or "+
					"groups, leave both out to decide on the command line only, or use mode dry-run", p.Name, p.Mode)
			}
		}
	}
}

// emptied says that a list is there and nobody is in any.
func (a approversFile) emptied() bool {
	return (a.Users != nil || a.Groups != nil) && len(a.Users) == 0 && len(a.Groups) == 0
}

// escalations are refused where they could never take effect, and where they would make approvers of people for whom
// nobody has to wait.
func (l *loader) escalations(path string, f approversFile, expire time.Duration) []incident.Escalation {
	var out []incident.Escalation
	if len(f.Escalate) > 0 && len(f.Users) == 0 && len(f.Groups) == 0 {
		l.at(path, "needs users or groups that are asked first")
	}
	last := time.Duration(0)
	for n, e := range f.Escalate {
		at, after := fmt.Sprintf("%s[%d]", path, n), time.Duration(e.After)
		switch {
		case after <= 0:
			l.at(at+".after", "must be above 0s")
		case after >= expire:
			l.at(at+".after", "%s is not before the request expires, after %s", incident.FormatDuration(after),
				incident.FormatDuration(expire))
		case after <= last:
			l.at(at+".after", "must be later than the one before it")
		}
		if len(e.Users) == 0 && len(e.Groups) == 0 {
			l.at(at, "needs users or groups")
		}
		l.slackIDs(at+".users", e.Users, userID)
		l.slackIDs(at+".groups", e.Groups, groupID)
		last = max(last, after)
		out = append(out, incident.Escalation{After: after, Users: e.Users, Groups: e.Groups})
	}
	return out
}
