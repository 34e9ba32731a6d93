package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A secret from a file is that of now. What may not be a secret of this kind leaves the last one in force, and a
// store's URL may change who connects and not where to.
func TestSecretsOfFilesAreThoseOfNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const key = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	put("token", "first-token-of-alertmanager\n")
	put("bot", "xoxb-first")
	put("app", "xapp-first")
	put("viewer", "viewer-first")
	put("prom", "prom-first")
	put("otlp", "otlp-first")
	put("hook", "https://hook.example.com/first")
	put("key", key)
	put("store", "postgres://medic:first@db.example.com/medic?sslmode=require")
	text := strings.Replace(sound, `{url: "sqlite:///tmp/medic.db"}`, "{url_file: store}", 1)
	text = strings.Replace(text, "mode: approve", `mode: approve
access: {viewer_token_file: viewer}
alertmanager: {auth: {bearer_token_file: token}}
slack: {channel: C1, team: T1, app_id: A1, token_file: bot, app_token_file: app}
notify: [{name: siem, kind: cloudevents, url_file: hook, secret_file: key}]
tracing: {endpoint: "http://otel:4318", authorization: {credentials_file: otlp}}`, 1)
	text = regexp.MustCompile(`(?m)^prometheus:.*$`).ReplaceAllString(text,
		`prometheus: {url: "http://prometheus:9090", http_config: {authorization: {credentials_file: prom}}}`)
	c, err := Parse(filepath.Join(dir, "medic.yaml"), []byte(text), opts(nil))
	if err != nil {
		t.Fatal(err)
	}
	is := func() []string {
		prom, err := c.Prometheus.Refs.Fetch(t.Context(), c.Prometheus.HTTP.Authorization.CredentialsRef)
		if err != nil {
			t.Fatal(err)
		}
		return []string{
			c.Webhook.Current().BearerToken, c.Slack.Token.Reveal(), c.Slack.AppToken.Reveal(),
			c.Access.ViewerToken.Reveal(), prom, c.Tracing.Credentials.Reveal(), c.Sinks[0].URL.Reveal(), c.StoreFile.Value(),
		}
	}
	first := is()
	c.Files.Reload(t.Context(), slog.New(slog.DiscardHandler))
	if diff := cmp.Diff(first, is()); diff != "" || len(c.Files.Members()) != 9 {
		t.Errorf("%d files; nothing was replaced, and\n%s", len(c.Files.Members()), diff)
	}
	put("token", "second-token-of-alertmanager")
	put("bot", "xoxb-second")
	put("app", "xapp-second")
	put("viewer", "viewer-second")
	put("prom", "prom-second")
	put("otlp", "otlp-second")
	put("hook", "https://hook.example.com/second")
	put("store", "postgres://medic2:second@db.example.com/medic?sslmode=require")
	c.Files.Reload(t.Context(), slog.New(slog.DiscardHandler))
	second := is()
	for n := range first {
		if second[n] == first[n] || !strings.Contains(second[n], "second") {
			t.Errorf("%s is still %s", first[n], second[n])
		}
	}
	put("bot", "xapp-of-another-kind")
	put("app", "xoxb-of-another-kind")
	put("hook", "http://hook.example.com/anyone-reads")
	put("key", "whsec_short")
	put("store", "postgres://medic:third@other.example.com/medic?sslmode=require")
	put("token", "")
	var log strings.Builder
	c.Files.Reload(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
	if diff := cmp.Diff(second, is()); diff != "" {
		t.Errorf("what is invalid counts:\n%s", diff)
	}
	for _, want := range []string{
		"setting=slack.token_file err=\"holds a token of another kind", "setting=slack.app_token_file",
		"setting=notify[0].url_file err=\"holds a URL with http://", "setting=notify[0].secret_file",
		"setting=store.url_file err=\"names another database", "setting=alertmanager.auth.bearer_token_file",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	for _, secret := range []string{"first", "second", "of-another", "whsec_short", "third", "anyone-reads"} {
		if strings.Contains(log.String(), secret) || strings.Contains(fmt.Sprintf("%+v %#v", c, c), secret) {
			t.Errorf("%s shows:\n%s", secret, log.String())
		}
	}
}
