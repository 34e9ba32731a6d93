package slack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	slackgo "github.com/slack-go/slack"
)

// account is what decides whether a person may decide.
type account struct {
	ID, Team   string
	Enterprise string
	Teams      []string // of an organisation's user
	Deleted    bool
	Bot        bool
	Guest      bool
	Stranger   bool
}

// account asks Slack about a user.
func (c *Client) account(ctx context.Context, id string) (account, error) {
	var u *slackgo.User
	err := c.repeat(ctx, "users.info", func(ctx context.Context) error {
		var err error
		u, err = c.api().GetUserInfoContext(ctx, id)
		return err
	})
	if err != nil {
		return account{}, err
	}
	if u.ID != id {
		return account{}, fmt.Errorf("slack users.info: asked for %s and got another user", id)
	}
	return account{
		ID: u.ID, Team: u.TeamID, Enterprise: u.Enterprise.EnterpriseID, Teams: u.Enterprise.Teams, Deleted: u.Deleted,
		Bot:   u.IsBot || u.IsConnectorBot || u.IsWorkflowBot || u.ID == "USLACKBOT",
		Guest: u.IsRestricted || u.IsUltraRestricted, Stranger: u.IsStranger,
	}, nil
}

// accountsFor is how long what Slack said of an account counts, so that a burst of clicks doesn't use up Slack's
// limit of questions. Slack itself takes no click from an account that it has deactivated; the question is for the
// clicks before that, and for guests and strangers. So somebody who was just made one of these may decide for this
// long at most, about a step whose limits, guardrails and digest hold as ever, and is in the journal by name.
const accountsFor = time.Minute

// maxAccounts bounds how many are remembered: anybody in a channel can click.
const maxAccounts = 1000

// accounts remembers what Slack said of people for a while.
type accounts struct {
	client *Client
	queue  queue
	now    func() time.Time
	mu     sync.Mutex
	known  map[string]knownAccount
}

type knownAccount struct {
	account
	at time.Time
}

// of is a person's account, as Slack had it at most accountsFor ago. A failure is never remembered, and never an
// account.
func (a *accounts) of(ctx context.Context, id string) (account, error) {
	if u, ok := a.remembered(id); ok {
		return u, nil
	}
	leave, err := a.queue.take(ctx)
	if err != nil {
		return account{}, err
	}
	defer leave()
	if u, ok := a.remembered(id); ok { // somebody before in the queue has asked
		return u, nil
	}
	asked := a.now() // before the question: what is true until then must not count longer
	u, err := a.client.account(ctx, id)
	if err != nil {
		return account{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.known, func(_ string, k knownAccount) bool { return asked.Sub(k.at) >= accountsFor })
	if a.known == nil || len(a.known) >= maxAccounts {
		a.known = map[string]knownAccount{}
	}
	a.known[id] = knownAccount{u, asked}
	return u, nil
}

func (a *accounts) remembered(id string) (account, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[id]
	return k.account, ok && a.now().Sub(k.at) < accountsFor
}

// groups remembers who is in a usergroup for a while: Slack allows about twenty such questions a minute.
type groups struct {
	client *Client
	ttl    time.Duration
	queue  queue
	mu     sync.Mutex
	known  map[string]groupMembers
}

type groupMembers struct {
	users []string
	at    time.Time
}

// members returns the users of a group. A failure is never remembered, and never taken for an empty group.
func (g *groups) members(ctx context.Context, id string) ([]string, error) {
	g.mu.Lock()
	m, ok := g.known[id]
	g.mu.Unlock()
	if ok && time.Since(m.at) < g.ttl {
		return m.users, nil
	}
	leave, err := g.queue.take(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var users []string
	err = g.client.repeat(ctx, "usergroups.users.list", func(ctx context.Context) error {
		var err error
		users, err = g.client.api().GetUserGroupMembersContext(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[string]groupMembers{}
	}
	g.known[id] = groupMembers{users: slices.Clone(users), at: time.Now()}
	return users, nil
}
