package present

import (
	"net/url"
	"strings"
)

// IncidentURL is the page of an incident below the base address of the bot's pages.
func IncidentURL(base, id string) string {
	return strings.TrimRight(base, "/") + "/incidents/" + url.PathEscape(id)
}
