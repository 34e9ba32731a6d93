package slack

import (
	"context"
	"slices"
)

// RequiredScopes are those that the bot token must have.
func RequiredScopes() []string { return []string{"chat:write", "users:read"} }

// usefulScopes are those without which something else is done: a user group then has no approvers, and a message whose
// answer was lost is posted once more.
func usefulScopes() []string {
	return []string{"commands", "usergroups:read", "channels:history", "groups:history"}
}

// MissingScopes says which scopes a token lacks: those that are needed, and those that the bot does without, in a
// poorer way. groups says that user groups are to approve.
func MissingScopes(have []string, groups bool) (needed, useful []string) {
	lacks := func(scope string) bool { return !slices.Contains(have, scope) }
	for _, s := range RequiredScopes() {
		if lacks(s) {
			needed = append(needed, s)
		}
	}
	for _, s := range usefulScopes() {
		switch {
		case !lacks(s):
		case s == "usergroups:read" && groups:
			needed = append(needed, s)
		case s != "usergroups:read":
			useful = append(useful, s)
		}
	}
	return needed, useful
}

// CheckAppToken says whether the app token can open connections. It opens none.
func (c *Client) CheckAppToken(ctx context.Context) error {
	_, err := c.openSocket(ctx)
	return err
}

// CheckGroup returns how many members a user group has.
func (c *Client) CheckGroup(ctx context.Context, id string) (int, error) {
	g := groups{client: c}
	users, err := g.members(ctx, id)
	return len(users), err
}

// CheckUser says why somebody can't approve; empty when they can, as far as their account is concerned.
func (c *Client) CheckUser(ctx context.Context, id string) (string, error) {
	u, err := c.account(ctx, id)
	switch {
	case err != nil:
		return "", err
	case u.Deleted:
		return "a deactivated account", nil
	case u.Bot:
		return "a bot", nil
	case u.Guest:
		return "a guest", nil
	case u.Stranger:
		return "somebody of another workspace", nil
	}
	return "", nil
}

// NextStep is what somebody has to do about an error of a Client; empty when it passes without help.
func NextStep(err error) string { return nextStepOf(err) }
