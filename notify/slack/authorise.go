package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// refusal is an answer that changes nothing: the sentence for the person, and the reason for the log.
type refusal struct {
	text, reason string
	err          error
}

func (r *refusal) Error() string { return r.reason }

func (r *refusal) Unwrap() error { return r.err }

func refuse(reason, text string, args ...any) *refusal {
	return &refusal{reason: reason, text: fmt.Sprintf(text, args...)}
}

// Rights asks whether the Kubernetes user of a Slack account may decide, or, with pause, stop and start changes. The
// errors are ErrUnmapped, ErrNoRight, or what kept the question from being answered, which is a no as well.
type Rights func(ctx context.Context, user string, pause bool) error

// ErrUnmapped says that no Kubernetes user is configured for the Slack account, ErrNoRight that Kubernetes gives theirs
// no right to this.
var (
	ErrUnmapped = errors.New("no Kubernetes user is configured for this Slack account")
	ErrNoRight  = errors.New("the Kubernetes user does not have the right")
)

// allowed says whether the person is an approver and, where Slack accounts are mapped to Kubernetes users, has the
// right there, too; nil means yes.
func (i *Interactions) allowed(ctx context.Context, user string, a incident.Approvers) *refusal {
	if no := i.listed(ctx, user, a); no != nil {
		return no
	}
	return i.entitled(ctx, user, false)
}

// entitled asks Kubernetes about the person, where Slack accounts are mapped to its users. Without a clear yes it is a
// no.
func (i *Interactions) entitled(ctx context.Context, user string, pause bool) *refusal {
	if i.rights == nil {
		return nil
	}
	err := i.ofKubernetes(ctx, user, pause)
	var r *refusal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrUnmapped):
		r = refuse("the user is not mapped to a Kubernetes user",
			"Your Slack account isn't mapped to a Kubernetes user, so nothing was changed. Ask for an entry in "+
				"`access.slack_users`, or decide with `vllm-medic incidents`.")
	case errors.Is(err, ErrNoRight):
		right := map[bool]string{true: "incidents/pause", false: "incidents/decision"}[pause]
		r = refuse("Kubernetes does not give the user the right",
			"Your Kubernetes user doesn't have the permission `update %s`, so nothing was changed.", right)
	default:
		r = refuse("the rights in Kubernetes could not be checked",
			"Could not check your permissions in Kubernetes, so nothing was changed. Try again in a minute.")
	}
	r.err = err
	return r
}

func (i *Interactions) ofKubernetes(ctx context.Context, user string, pause bool) error {
	leave, err := i.questions.take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return i.rights(ctx, user, pause)
}

// listed looks for the person in the list and in the groups; nil means that they are in one. Whatever cannot be found
// out is a no.
func (i *Interactions) listed(ctx context.Context, user string, a incident.Approvers) *refusal {
	if slices.Contains(a.Users, user) {
		return nil
	}
	var unread string
	var cause error
	for _, g := range a.Groups {
		users, err := i.groups.members(ctx, g)
		switch {
		case err != nil:
			unread, cause = g, err
		case slices.Contains(users, user):
			return nil
		}
	}
	switch {
	case cause != nil:
		r := refuse("a usergroup could not be read",
			"Could not read the usergroup %s from Slack, so approvals are refused for now. Nothing was changed. "+
				"Click again in a minute, or decide with `vllm-medic incidents`.", escape(unread, 40))
		r.err = cause
		return r
	case len(a.Users) == 0 && len(a.Groups) == 0:
		return refuse("nobody may approve",
			"No one can decide on this: `approvers` is empty in the configuration. Nothing was changed.")
	default:
		return refuse("the user is not an approver", "You can't decide on this, so nothing was changed. Approvers:%s.",
			addressed(slices.Concat(a.Groups, a.Users)))
	}
}

// member says whether the account is a full, living, human member of this workspace.
func (i *Interactions) member(ctx context.Context, c click) *refusal {
	u, err := i.accounts.of(ctx, c.User)
	if err != nil {
		r := refuse("the user could not be looked up",
			"Could not read your account from Slack, so nothing was changed. Try again in a minute, or decide with "+
				"`vllm-medic incidents`.")
		r.err = err
		return r
	}
	switch {
	case u.Deleted:
		return refuse("the account is deactivated", "This account is deactivated. Nothing was changed.")
	case u.Bot:
		return refuse("the user is a bot", "Bots can't use vllm-medic. Nothing was changed.")
	case u.Guest:
		return refuse("the user is a guest", "Guests can't use vllm-medic. Nothing was changed.")
	case u.Stranger || !i.sameWorkspace(c, u):
		return refuse("the user is of another workspace",
			"People from other workspaces can't use vllm-medic here. Nothing was changed.")
	}
	return nil
}

// sameWorkspace compares the account's workspace with the one that the click came from, which was checked before. In an
// organisation the account names the organisation, and the workspaces that it belongs to.
func (i *Interactions) sameWorkspace(c click, u account) bool {
	if c.Team != "" && u.Team == c.Team && (c.UserTeam == "" || c.UserTeam == c.Team || c.UserTeam == c.Enterprise) {
		return true
	}
	if c.Enterprise == "" || u.Enterprise != c.Enterprise {
		return false
	}
	return c.Team == "" || slices.Contains(u.Teams, c.Team)
}
