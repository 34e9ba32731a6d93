package slack

import (
	"context"
	"fmt"
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

// account asks Slack about a user. It is always asked anew: a person who left must not be able to decide.
func (c *Client) account(ctx context.Context, id string) (account, error) {
	var u *slackgo.User
	err := c.repeat(ctx, "users.info", func(ctx context.Context) error {
		var err error
		u, err = c.api.GetUserInfoContext(ctx, id)
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
		users, err = g.client.api.GetUserGroupMembersContext(ctx, id)
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
