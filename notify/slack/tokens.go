package slack

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	slackgo "github.com/slack-go/slack"
)

// tokens are those of a client, which may be replaced while it works. They remember each that was used: an answer to a
// call with an old one may come late, and must not show it either.
type tokens struct {
	bot, app func() string
	options  []slackgo.Option

	mu   sync.Mutex
	used []string
	now  *slackgo.Client
	// of are the tokens that now was made with.
	of [2]string
}

// mostUsed bounds how many tokens are remembered, the latest ones: a call is over within a minute.
const mostUsed = 64

func newTokens(cfg Config, hc *http.Client) tokens {
	app := cfg.AppToken
	if app == nil {
		app = func() string { return "" }
	}
	return tokens{bot: cfg.Token, app: app, options: []slackgo.Option{
		slackgo.OptionAPIURL(strings.TrimRight(cfg.APIURL, "/") + "/"), slackgo.OptionHTTPClient(hc),
	}}
}

// api calls Slack with the tokens of now; the text is the bot token among them.
func (t *tokens) api() (*slackgo.Client, string) {
	is := [2]string{t.bot(), t.app()}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil && t.of == is {
		return t.now, is[0]
	}
	for _, token := range is {
		if token != "" && !slices.Contains(t.used, token) {
			t.used = append(t.used, token)
		}
	}
	t.used = t.used[max(len(t.used)-mostUsed, 0):]
	t.now, t.of = slackgo.New(is[0], append(slices.Clone(t.options), slackgo.OptionAppLevelToken(is[1]))...), is
	return t.now, is[0]
}

// known are the tokens of now and those that were used before.
func (t *tokens) known() []string {
	is := []string{t.bot(), t.app()}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(is, t.used...)
}
