package fakeslack

import (
	"cmp"
	"slices"
)

// Channel is one conversation of the workspace.
type Channel struct {
	ID       string
	Name     string
	Private  bool
	Archived bool
	// BotAbsent means that the bot was not invited: posting answers not_in_channel.
	BotAbsent bool
	// Members are user ids; nil means everybody.
	Members []string
}

func (c Channel) hasMember(user string) bool {
	return c.Members == nil || slices.Contains(c.Members, user)
}

// User is one account, with the flags that decide whether it may approve.
type User struct {
	ID                string
	Name              string
	RealName          string
	TeamID            string
	Deleted           bool
	IsBot             bool
	IsRestricted      bool
	IsUltraRestricted bool
	IsStranger        bool
}

// Usergroup is a named set of users.
type Usergroup struct {
	ID       string
	Handle   string
	Users    []string
	Disabled bool
}

// defaultUsers returns people who may approve (U0ALICE, U0BOB, U0CAROL) and one account of each kind that may not.
func defaultUsers() []User {
	return []User{
		{ID: "U0ALICE", Name: "alice", RealName: "Alice Abara"},
		{ID: "U0BOB", Name: "bob", RealName: "Bob Brandt"},
		{ID: "U0CAROL", Name: "carol", RealName: "Carol Chen"},
		{ID: "U0GUEST", Name: "guest", RealName: "Gus Guest", IsUltraRestricted: true},
		{ID: "U0LEFT", Name: "left", RealName: "Lea Left", Deleted: true},
		{ID: "U0ROBOT", Name: "robot", RealName: "Another Bot", IsBot: true},
		{ID: "U0STRANGER", Name: "stranger", RealName: "Sam Stranger", TeamID: "T0ELSEWHERE", IsStranger: true},
	}
}

// PutChannel adds a channel or replaces the one with the same id.
func (s *Server) PutChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putChannel(c)
	s.changed()
}

func (s *Server) putChannel(c Channel) {
	if _, known := s.channels[c.ID]; !known {
		s.channelOrder = append(s.channelOrder, c.ID)
	}
	c.Name = cmp.Or(c.Name, c.ID)
	s.channels[c.ID] = c
}

// PutUser adds a user or replaces the one with the same id.
func (s *Server) PutUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putUser(u)
	s.changed()
}

func (s *Server) putUser(u User) {
	if _, known := s.users[u.ID]; !known {
		s.userOrder = append(s.userOrder, u.ID)
	}
	u.Name = cmp.Or(u.Name, u.ID)
	u.RealName = cmp.Or(u.RealName, u.Name)
	u.TeamID = cmp.Or(u.TeamID, TeamID)
	s.users[u.ID] = u
}

// PutUsergroup adds a usergroup or replaces the one with the same id.
func (s *Server) PutUsergroup(g Usergroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usergroups[g.ID] = g
	s.changed()
}

// lookupChannel finds a channel by id, or by name with or without "#" where the method allows that.
func (s *Server) lookupChannel(ref string, byName bool) (Channel, *slackError) {
	if c, ok := s.channels[ref]; ok {
		return c, nil
	}
	if byName {
		for _, id := range s.channelOrder {
			if c := s.channels[id]; c.Name == ref || "#"+c.Name == ref {
				return c, nil
			}
		}
	}
	return Channel{}, refuse("channel_not_found")
}
