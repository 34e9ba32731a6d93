package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The kinds of notify.
const (
	SinkCloudEvents = "cloudevents"
	SinkTeams       = "teams"
)

// Sink is a place that is shown every incident and decides nothing. Its secrets never show in text.
type Sink struct {
	Name, Kind string
	// URL is where it is posted to, Key what cloudevents signs with, as bytes.
	URL, Key Secret
}

var sinkName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

func (l *loader) sinks(all []notifyFile) []Sink {
	var out []Sink
	names := map[string]bool{incident.SinkSlack: true}
	for n, f := range all {
		at := fmt.Sprintf("notify[%d]", n)
		switch {
		case f.Name == incident.SinkSlack:
			l.at(at+".name", "slack is the section slack; give another name")
		case !sinkName.MatchString(f.Name):
			l.at(at+".name", "is required: up to 31 lowercase letters, digits and hyphens, beginning with a letter")
		case names[f.Name]:
			l.at(at+".name", "%s is the name of another one, too", f.Name)
		}
		names[f.Name] = true
		s := Sink{Name: f.Name, Kind: f.Kind, URL: l.secret(at+".url", f.URLEnv, f.URLFile, true, sinkURL)}
		switch f.Kind {
		case SinkCloudEvents:
			s.Key = l.secret(at+".secret", f.SecretEnv, f.SecretFile, true, signingKey)
		case SinkTeams:
			if f.SecretEnv != "" || f.SecretFile != "" {
				l.at(at, "kind teams has no secret besides its url")
			}
		default:
			l.at(at+".kind", "must be %s or %s", SinkCloudEvents, SinkTeams)
		}
		out = append(out, s)
	}
	return out
}

// sinkURL refuses what no receiver has. What is posted must not be read on the way: only this machine may be reached
// without TLS.
func sinkURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return "", errors.New("holds no URL that begins with https://")
	case u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")):
		return "", errors.New("holds a URL with http://, which anyone on the way can read; use https://")
	}
	return raw, nil
}

// signingKey reads a secret of Standard Webhooks 1.0, without repeating it.
func signingKey(secret string) (string, error) {
	raw, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(raw)
	switch {
	case !ok:
		return "", errors.New("holds a secret that does not begin with whsec_")
	case err != nil:
		return "", errors.New("holds a secret that is not base64 after whsec_")
	case len(key) < 24 || len(key) > 64:
		return "", fmt.Errorf("holds a secret of %d bytes after whsec_; it takes 24 to 64", len(key))
	}
	return string(key), nil
}
