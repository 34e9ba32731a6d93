package config

import (
	"fmt"
	"strings"
)

// slackKind is one kind of id that Slack gives: its first letters, an example, and where people find theirs.
type slackKind struct {
	what, letters, example, where string
}

var (
	channelID = slackKind{
		"a channel", "CGD", "C0123456789",
		"in Slack open the channel, click its name: the id is at the end of About",
	}
	userID = slackKind{
		"a user", "UW", "U0123456789",
		"in Slack open the person's profile, then the menu with the three dots, Copy member ID",
	}
	groupID = slackKind{
		"a user group", "S", "S0123456789",
		"in Slack open People & user groups, the group's menu with the three dots, Copy group ID",
	}
	teamID = slackKind{
		"a workspace", "T", "T0123456789",
		"open the workspace in a browser: the id is in the address after /client/",
	}
	enterpriseID = slackKind{
		"an organization", "E", "E0123456789",
		"open the organization in a browser: the id is in the address after /client/",
	}
	appID = slackKind{"an app", "A", "A0123456789", "api.slack.com/apps shows it under Basic Information"}
)

// oldLength is how long an id of Slack is at least that was given when not each had a digit.
const oldLength = 9

// is says whether a text can be such an id: one of the letters, then capital letters and digits. Short ones without a
// digit are words.
func (k slackKind) is(id string) bool {
	if id == "" || !strings.ContainsRune(k.letters, rune(id[0])) || (len(id) < oldLength && !strings.ContainsAny(id,
		"0123456789")) {
		return false
	}
	return strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// slackID refuses names where Slack's API wants ids: a channel by its name is not found, and an approver by a name is
// nobody.
func (l *loader) slackID(path, id string, k slackKind) {
	if id == "" || k.is(id) {
		return
	}
	for other, hint := range map[*slackKind]string{&userID: "; put it in users", &groupID: "; put it in groups"} {
		if other.is(id) && (k == userID || k == groupID) {
			l.at(path, "%q is the id of %s, not of %s%s", id, other.what, k.what, hint)
			return
		}
	}
	if strings.HasPrefix(id, "xox") || strings.HasPrefix(id, "xapp") {
		l.at(path, "is a token, which must not be in this file; it is the id of %s, such as %s", k.what, k.example)
		return
	}
	l.at(path, "%q is not the id of %s, such as %s; %s", id, k.what, k.example, k.where)
}

// slackIDs checks a list.
func (l *loader) slackIDs(path string, ids []string, k slackKind) {
	for n, id := range ids {
		at := fmt.Sprintf("%s[%d]", path, n)
		if id == "" {
			l.at(at, "is empty; an approver is the id of %s, such as %s", k.what, k.example)
		}
		l.slackID(at, id, k)
	}
}
