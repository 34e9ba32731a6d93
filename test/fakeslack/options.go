package fakeslack

import (
	"cmp"
	"net/http"
	"time"
)

// Who the workspace and the app in it are.
const (
	TeamID     = "T0FAKE"
	teamDomain = "fake"
	AppID      = "A0FAKE"
	BotUserID  = "U0MEDIC"
	botID      = "B0MEDIC" // which is not its user id
	botName    = "vllm-medic"
)

// clickTimeout is how long Slack waits for the answer to a click.
const clickTimeout = 3 * time.Second

// Options say what is special about the workspace. The zero value is complete: every empty field gets the default
// named beside it.
type Options struct {
	// Token is the bot token that calls must carry ("xoxb-fake-token").
	Token string
	// AppToken is the app-level token that opens connections in Socket Mode ("xapp-fake-token"), AppScopes its scopes
	// (connections:write).
	AppToken  string
	AppScopes []string
	// SocketMode sends what people do through connections of the app, and nothing over HTTP; SetSocketMode can change it.
	SocketMode bool
	// PingEvery is how often a connection is pinged (5 s).
	PingEvery time.Duration
	// SigningSecret signs clicks and submissions ("fake-signing-secret").
	SigningSecret string
	// EnterpriseID makes the workspace part of an organization (none).
	EnterpriseID string
	// InteractivityURL gets the clicks; SetInteractivityURL can set it later.
	InteractivityURL string
	// Channels are what the bot can post in (C0INCIDENTS).
	Channels []Channel
	// Scopes are those of the token (all that the methods need). A method outside of them answers missing_scope.
	Scopes []string
	// LocalLinks lets the address of the workspace be the one of SetBaseURL, so that links to messages lead nowhere else.
	LocalLinks bool
	// AllowedLinks are prefixes of URLs that may be live links in messages.
	AllowedLinks []string
	// DropMetadata makes history and replies return no metadata, as if it had not survived.
	DropMetadata bool
	// ClickWithin is how long a click waits for its answer (3 s, as in Slack). A test of what comes after the click waits
	// longer: how quick a busy machine is, is not its business.
	ClickWithin time.Duration
	// HTTPClient sends clicks (a client that follows no redirects).
	HTTPClient *http.Client
	// AllowUnexpected makes Start not fail the test on Unexpected().
	AllowUnexpected bool
	// Retold says that what is posted was said at other times than it is posted: how long ago somebody was called can't
	// be told from it.
	Retold bool
}

func (o Options) withDefaults() Options {
	o.Token = cmp.Or(o.Token, "xoxb-fake-token")
	o.AppToken = cmp.Or(o.AppToken, "xapp-fake-token")
	if o.AppScopes == nil {
		o.AppScopes = []string{"connections:write"}
	}
	o.PingEvery = cmp.Or(o.PingEvery, 5*time.Second)
	o.ClickWithin = cmp.Or(o.ClickWithin, clickTimeout)
	o.SigningSecret = cmp.Or(o.SigningSecret, "fake-signing-secret")
	if o.Channels == nil {
		o.Channels = []Channel{{ID: "C0INCIDENTS", Name: "incidents"}}
	}
	if o.Scopes == nil {
		o.Scopes = []string{"chat:write", "commands", "users:read", "usergroups:read", "channels:history", "groups:history"}
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
