package fakeslack

import (
	"cmp"
	"net/http"
	"time"
)

// Options say which workspace and which app the double plays. The zero value is
// complete: every empty field gets the default named beside it.
type Options struct {
	// Token is the bot token that calls must carry ("xoxb-fake-token").
	Token string
	// SigningSecret signs clicks and submissions ("fake-signing-secret").
	SigningSecret string
	// AppID is the app's id ("A0FAKE").
	AppID string
	// TeamID is the workspace's id ("T0FAKE").
	TeamID string
	// TeamDomain is the workspace's name in URLs ("fake").
	TeamDomain string
	// EnterpriseID makes the workspace part of an organisation (none).
	EnterpriseID string
	// BotUserID is the user the bot writes as ("U0MEDIC").
	BotUserID string
	// BotID is the bot's id, which is not its user id ("B0MEDIC").
	BotID string
	// BotName is the name shown beside the bot's messages ("vllm-medic").
	BotName string

	// InteractivityURL gets the clicks; SetInteractivityURL can set it later.
	InteractivityURL string
	// BaseURL is the address of this double as the bot reaches it; Start sets it.
	BaseURL string

	// Channels, Users and Usergroups fill the workspace (DefaultChannels,
	// DefaultUsers, DefaultUsergroups).
	Channels   []Channel
	Users      []User
	Usergroups []Usergroup

	// Scopes are those of the token (DefaultScopes). A method outside them
	// answers missing_scope.
	Scopes []string
	// AllowedLinks are prefixes of URLs that may be live links in messages.
	AllowedLinks []string
	// DropMetadata makes history and replies return no metadata, as if it had
	// not survived.
	DropMetadata bool

	// ClickTimeout is how long a click waits for its answer (3 s, Slack's limit).
	ClickTimeout time.Duration
	// HTTPClient sends clicks (a client that follows no redirects).
	HTTPClient *http.Client
	// AllowUnexpected makes Start not fail the test on Unexpected().
	AllowUnexpected bool
}

// DefaultScopes returns the scopes that the method table asks for.
func DefaultScopes() []string {
	return []string{
		"chat:write", "users:read", "usergroups:read", "channels:read", "groups:read", "channels:history", "groups:history",
	}
}

func (o Options) withDefaults() Options {
	o.Token = cmp.Or(o.Token, "xoxb-fake-token")
	o.SigningSecret = cmp.Or(o.SigningSecret, "fake-signing-secret")
	o.AppID = cmp.Or(o.AppID, "A0FAKE")
	o.TeamID = cmp.Or(o.TeamID, "T0FAKE")
	o.TeamDomain = cmp.Or(o.TeamDomain, "fake")
	o.BotUserID = cmp.Or(o.BotUserID, "U0MEDIC")
	o.BotID = cmp.Or(o.BotID, "B0MEDIC")
	o.BotName = cmp.Or(o.BotName, "vllm-medic")
	o.ClickTimeout = cmp.Or(o.ClickTimeout, 3*time.Second)
	if o.Channels == nil {
		o.Channels = DefaultChannels()
	}
	if o.Users == nil {
		o.Users = DefaultUsers()
	}
	if o.Usergroups == nil {
		o.Usergroups = DefaultUsergroups()
	}
	if o.Scopes == nil {
		o.Scopes = DefaultScopes()
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{
			// One of its own: a test server that closes ends what is idle, or just begins, on the default one.
			Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		}
	}
	return o
}
