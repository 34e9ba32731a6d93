package fakeslack

import "slices"

func (s *Server) userInfo(r request) (answer, *slackError) {
	u, ok := s.users[r.args["user"]]
	if !ok {
		return nil, refuse("user_not_found")
	}
	return answer{"user": answer{
		"id": u.ID, "team_id": u.TeamID, "name": u.Name, "real_name": u.RealName, "deleted": u.Deleted,
		"is_bot": u.IsBot, "is_app_user": false, "is_admin": false, "is_owner": false, "is_primary_owner": false,
		"is_restricted": u.IsRestricted, "is_ultra_restricted": u.IsUltraRestricted, "is_stranger": u.IsStranger,
		"tz": "Etc/UTC", "tz_label": "UTC", "tz_offset": 0, "updated": 1700000000, "locale": "en-US",
		"profile": answer{"real_name": u.RealName, "display_name": u.Name, "team": u.TeamID},
	}}, nil
}

func (s *Server) usergroupUsers(r request) (answer, *slackError) {
	g, ok := s.usergroups[r.args["usergroup"]]
	if !ok {
		return nil, refuse("no_such_subteam")
	}
	users := []string{}
	if !g.Disabled || r.flag("include_disabled") {
		users = append(users, g.Users...)
	}
	return answer{"users": users}, nil
}

func (s *Server) conversationInfo(r request) (answer, *slackError) {
	c, e := s.lookupChannel(r.args["channel"], false)
	if e != nil {
		return nil, e
	}
	if c.Private && !slices.Contains(s.opts.Scopes, "groups:read") {
		return nil, refuse("channel_not_found")
	}
	info := answer{
		"id": c.ID, "name": c.Name, "name_normalized": c.Name, "created": 1700000000, "creator": s.opts.BotUserID,
		"is_channel": !c.Private, "is_group": c.Private, "is_im": false, "is_mpim": false,
		"is_private": c.Private, "is_archived": c.Archived, "is_member": !c.BotAbsent, "is_general": false,
		"is_shared": false, "is_ext_shared": false, "is_org_shared": false,
		"topic":   answer{"value": "", "creator": "", "last_set": 0},
		"purpose": answer{"value": "", "creator": "", "last_set": 0},
	}
	if r.flag("include_num_members") {
		n := len(c.Members)
		if c.Members == nil {
			n = len(s.users)
		}
		info["num_members"] = n
	}
	return answer{"channel": info}, nil
}
