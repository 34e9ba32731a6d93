package fakeslack

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
