package config

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestSocketModeIsTheDefaultTransport(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]Slack{
		"{channel: C1, team: T1, app_id: A1, token_env: XOXB, app_token_env: XAPP}": {
			Socket: true, AppToken: Fixed("xapp-s3cr3t-value"),
		},
		"{mode: socket, channel: C1, team: T1, app_id: A1, token_env: XOXB, app_token_env: XAPP}": {
			Socket: true, AppToken: Fixed("xapp-s3cr3t-value"),
		},
		"{mode: http, channel: C1, team: T1, app_id: A1, token_env: XOXB, signing_secret_env: TOKEN}": {
			SigningSecret: Fixed("s3cr3t-value-of-tests"),
		},
		// Both secrets at hand, so that the transport can be changed by one word.
		"{channel: C1, team: T1, app_id: A1, token_env: XOXB, app_token_env: XAPP, signing_secret_env: TOKEN}": {
			Socket: true, AppToken: Fixed("xapp-s3cr3t-value"), SigningSecret: Fixed("s3cr3t-value-of-tests"),
		},
	} {
		cfg, err := Parse("medic.yaml", []byte(strings.Replace(sound, "mode: approve", "mode: approve\nslack: "+section, 1)),
			opts(nil))
		if err != nil {
			t.Errorf("%s: %v", section, err)
			continue
		}
		got := cfg.Slack
		if got.Socket != want.Socket || got.AppToken.Reveal() != want.AppToken.Reveal() ||
			got.SigningSecret.Reveal() != want.SigningSecret.Reveal() || got.Token.Reveal() != "xoxb-s3cr3t-value" {
			t.Errorf("%s: socket %t, tokens %q %q %q", section, got.Socket, got.Token.Reveal(), got.AppToken.Reveal(),
				got.SigningSecret.Reveal())
		}
	}
}

// In Socket Mode nothing listens for Slack, so its default address is free for something else.
func TestSocketModeBindsNoListener(t *testing.T) {
	t.Parallel()
	text := strings.Replace(sound, "mode: approve",
		"mode: approve\nslack: {channel: C1, team: T1, app_id: A1, token_env: XOXB, app_token_env: XAPP}", 1)
	text = regexp.MustCompile(`(?m)^listen:.*$`).ReplaceAllString(text, "listen: {api: '127.0.0.1:8082'}")
	if _, err := Parse("medic.yaml", []byte(text), opts(nil)); err != nil {
		t.Error(err)
	}
	text = strings.Replace(text, "slack: {", "slack: {mode: http, signing_secret_env: TOKEN, ", 1)
	if _, err := Parse("medic.yaml", []byte(text), opts(nil)); err == nil ||
		!strings.Contains(err.Error(), "listen.slack: the default :8082") {
		t.Errorf("over HTTP: %v", err)
	}
}

// What tells people apart across Slack and Kubernetes belongs to everybody who may approve, wherever they are listed.
func TestApproversKnowWhoIsWhoInKubernetes(t *testing.T) {
	t.Parallel()
	const mapped = "access: {slack_users: {U0ALICE: {user: ana@example.com, groups: [on-call]}}}\n"
	const listed = "approvers: {default: {users: [U0ALICE, U0BOB]}, replicas: {users: [U0BOB]}}\n"
	for _, access := range []string{"", mapped} {
		c, err := Parse("medic.yaml", []byte(sound+listed+access), opts(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []incident.StepKind{incident.StepReplicas, incident.StepThrottle} {
			got := c.Pools[0].ApproversFor(kind).Identities
			if access == "" && got != nil || access != "" && (len(got) != 1 || got["U0ALICE"] != "ana@example.com") {
				t.Errorf("%s with %q: %v", kind, access, got)
			}
		}
	}
}

func TestTheRateOfAStorm(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]incident.Storm{
		"":                                    {Incidents: 5, Within: 10 * time.Minute},
		"storm: {},":                          {Incidents: 5, Within: 10 * time.Minute},
		"storm: {incidents: 0},":              {Within: 10 * time.Minute},
		"storm: {incidents: 3, within: 1m},":  {Incidents: 3, Within: time.Minute},
		"storm: {within: 1h},":                {Incidents: 5, Within: time.Hour},
		"storm: {incidents: -1},":             {},
		"storm: {within: 59s},":               {},
		"storm: {incidents: 0, within: 61m},": {},
	} {
		text := strings.Replace(sound, "mode: approve", "mode: approve\nslack: {"+section+
			"channel: C1, team: T1, app_id: A1, token_env: XOXB, app_token_env: XAPP}", 1)
		cfg, err := Parse("medic.yaml", []byte(text), opts(nil))
		switch {
		case want == incident.Storm{}:
			if err == nil || !strings.Contains(err.Error(), "slack.storm.") {
				t.Errorf("%s: %v", section, err)
			}
		case err != nil:
			t.Errorf("%s: %v", section, err)
		case cfg.Slack.Storm != want:
			t.Errorf("%s: %+v", section, cfg.Slack.Storm)
		}
	}
}
