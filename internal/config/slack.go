package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

func (l *loader) slack(f *slackFile) *Slack {
	if f == nil {
		return nil
	}
	if f.Channel == "" {
		l.at("slack.channel", "is required: the id of the channel, such as C0123456789")
	}
	if f.Team == "" && f.Enterprise == "" {
		l.at("slack.team", "is required: the id of the workspace whose clicks are accepted, such as T0123")
	}
	if f.AppID == "" {
		l.at("slack.app_id", "is required: the id of the app whose clicks are accepted, such as A0123")
	}
	l.slackID("slack.channel", f.Channel, channelID)
	l.slackID("slack.team", f.Team, teamID)
	l.slackID("slack.enterprise", f.Enterprise, enterpriseID)
	l.slackID("slack.app_id", f.AppID, appID)
	socket := l.socketMode(f)
	return &Slack{
		Storm: l.storm(f.Storm), Socket: socket,
		Broadcast: f.Broadcast, Channel: f.Channel, Team: f.Team, Enterprise: f.Enterprise, AppID: f.AppID,
		APIURL:   cmp.Or(l.link("slack.api_url", f.APIURL), "https://slack.com/api/"),
		Token:    l.slackToken("slack.token", f.TokenEnv, f.TokenFile, true, "xoxb-"),
		AppToken: l.slackToken("slack.app_token", f.AppTokenEnv, f.AppTokenFile, socket && !l.oldTransport(f), "xapp-"),
		SigningSecret: l.secret("slack.signing_secret", f.SigningSecretEnv, f.SigningSecretFile, f.Mode == "http",
			nil),
	}
}

// shortestStorm and longestStorm keep a rate from meaning nothing: what has one cause comes within minutes, and not
// within a shift.
const shortestStorm, longestStorm = time.Minute, time.Hour

// storm reads the rate above which incidents are gathered.
func (l *loader) storm(f *stormFile) incident.Storm {
	out := incident.DefaultStorm
	if f == nil {
		return out
	}
	if f.Incidents != nil {
		out.Incidents = *f.Incidents
	}
	if f.Within != nil {
		out.Within = time.Duration(*f.Within)
	}
	if out.Incidents < 0 {
		l.at("slack.storm.incidents", "is %d; set how many new incidents get a message each, or 0 for all of them",
			out.Incidents)
	}
	if out.Within < shortestStorm || out.Within > longestStorm {
		l.at("slack.storm.within", "is %s; set 1m to 1h, and incidents: 0 to give every incident a message",
			strictyaml.Duration(out.Within))
	}
	return out
}

// socketMode says how clicks come. Whoever has a signing secret and no app token meant HTTP, which was the only way
// once; that is said rather than guessed, because the listener for it faces the internet.
func (l *loader) socketMode(f *slackFile) bool {
	switch f.Mode {
	case "http":
		return false
	case "", "socket":
		if l.oldTransport(f) {
			l.at("slack.mode", "is socket unless set, which needs app_token_env; signing_secret is for mode: http, "+
				"so set mode: http to receive clicks over HTTP")
		}
	default:
		l.at("slack.mode", "%q is not http or socket", f.Mode)
	}
	return true
}

// oldTransport says that the section has what HTTP needs, and not what Socket Mode needs.
func (l *loader) oldTransport(f *slackFile) bool {
	return f.Mode != "http" && f.AppTokenEnv == "" && f.AppTokenFile == "" &&
		(f.SigningSecretEnv != "" || f.SigningSecretFile != "")
}

// slackToken reads a token and refuses one of the other kind, which Slack shows side by side.
func (l *loader) slackToken(path, env, file string, needed bool, prefix string) Secret {
	return l.secret(path, env, file, needed, func(token string) (string, error) {
		for other, belongs := range map[string]string{"xoxb-": "token", "xapp-": "app_token"} {
			if other != prefix && strings.HasPrefix(token, other) {
				return "", fmt.Errorf("holds a token of another kind (%s...), which belongs in slack.%s_env or %s_file", other,
					belongs, belongs)
			}
		}
		return token, nil
	})
}

// slackUsers are the Kubernetes users of people in Slack. Without a cluster nobody's rights could be asked for, and
// everybody would be refused.
func (l *loader) slackUsers(f file) map[string]KubernetesUser {
	out := map[string]KubernetesUser{}
	for id, u := range f.Access.SlackUsers {
		at := "access.slack_users." + id
		l.slackID(at, id, userID)
		if u.User == "" {
			l.at(at+".user", "is required: the name of the user in Kubernetes")
		}
		out[id] = KubernetesUser{Name: u.User, Groups: u.Groups}
	}
	if len(out) > 0 && f.Kubernetes == nil {
		l.at("access.slack_users", "needs the section kubernetes: permissions are checked there")
	}
	return out
}
