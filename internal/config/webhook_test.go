package config

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

const (
	loopbackOnly = `listen: {api: "127.0.0.1:8080"}`
	clientCA     = "tls: {api: {cert_file: a, key_file: b, client_ca_file: c}}"
)

// Whoever may post alerts has shown something that can't be guessed, or that names them.
func TestWhatLetsAnybodyPostIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, with, want string }{
		{
			"a webhook token that can be guessed", "alertmanager: {auth: {bearer_token_env: SHORT}}",
			"medic.yaml:1:23: alertmanager.auth.bearer_token_env: has fewer than 16 characters, so it can be guessed; " +
				"make one: " +
				"openssl rand -hex 32",
		},
		{
			"a webhook password that can be guessed",
			"alertmanager: {auth: {username: am, password_env: SHORT}}",
			"alertmanager.auth.password_env: has fewer than 16 characters",
		},
		{
			"a client certificate of anybody", "listen: {api: \"127.0.0.1:8080\", " + clientCA + "}",
			"alertmanager.auth: is required: anyone with a certificate of listen.tls.api.client_ca_file could post alerts; " +
				"name the certificate of Alertmanager by its common name, or a DNS name, URI or email address in it: " +
				"client_names: [alertmanager.example.com]",
		},
		{
			"a client certificate of nobody",
			"listen: {" + clientCA + "}\nalertmanager: {auth: {bearer_token_env: TOKEN, client_names: []}}",
			"alertmanager.auth.client_names: is empty, so no certificate could post alerts",
		},
		{
			"a client certificate without a name",
			"listen: {" + clientCA + "}\nalertmanager: {auth: {client_names: [\"\"]}}",
			"alertmanager.auth.client_names[0]: is empty",
		},
		{
			"names without certificates", "alertmanager: {auth: {client_names: [am]}}",
			"alertmanager.auth.client_names: needs listen.tls.api.client_ca_file",
		},
		{
			"a proxy by its name", "listen: {trusted_proxies: [ingress]}",
			`listen.trusted_proxies[0]: "ingress" is not an address or a network such as 10.0.0.0/8`,
		},
		{
			"everybody as a proxy", "listen: {trusted_proxies: [10.0.0.1, 0.0.0.0/0]}",
			"listen.trusted_proxies[1]: 0.0.0.0/0 is every address",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("medic.yaml", []byte(strings.Replace(sound, loopbackOnly, tc.with, 1)), opts(nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestWhoMayPost(t *testing.T) {
	t.Parallel()
	for with, want := range map[string]struct {
		names      []string
		anonymous  bool
		token, any bool
	}{
		"listen: {" + clientCA + "}\nalertmanager: {auth: {client_names: [am, am.example.com]}}": {
			names: []string{"am", "am.example.com"},
		},
		"listen: {" + clientCA + "}\nalertmanager: {auth: {bearer_token_env: TOKEN}}": {token: true},
		"listen: {" + clientCA + "}\nalertmanager: {auth: {bearer_token_env: TOKEN, client_names: [am]}}": {
			names: []string{"am"}, token: true,
		},
		"listen: {" + clientCA + "}": {anonymous: true, any: true},
		loopbackOnly:                 {any: true},
	} {
		cfg, err := Parse("medic.yaml", []byte(strings.Replace(sound, loopbackOnly, with, 1)),
			opts(func(o *Options) { o.AllowUnauthenticated = want.anonymous }))
		if err != nil {
			t.Errorf("%s: %v", with, err)
		}
		got := cfg.Webhook.Current()
		if !slices.Equal(got.ClientNames, want.names) || (got.BearerToken != "") != want.token || got.None() != want.any {
			t.Errorf("%s: %v, %v", with, got, got.ClientNames)
		}
	}
}

// Without the secrets at hand their length says nothing.
func TestAPlaceholderMayBeShort(t *testing.T) {
	t.Parallel()
	text := strings.Replace(sound, loopbackOnly, "alertmanager: {auth: {bearer_token_env: SHORT}}", 1)
	for _, change := range []func(*Options){
		func(o *Options) { o.Offline = true }, func(o *Options) { o.PrometheusOnly = true },
	} {
		if _, err := Parse("medic.yaml", []byte(text), opts(change)); err != nil {
			t.Error(err)
		}
	}
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	with := `listen: {api: "127.0.0.1:8080", trusted_proxies: [10.1.2.3/8, 192.0.2.7, "2001:db8::/32"]}`
	cfg, err := Parse("medic.yaml", []byte(strings.Replace(sound, loopbackOnly, with, 1)), opts(nil))
	want := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32"),
	}
	if err != nil || !slices.Equal(cfg.Listen.TrustedProxies, want) {
		t.Errorf("%v, %v", cfg.Listen.TrustedProxies, err)
	}
	if cfg, err = Parse("medic.yaml", []byte(sound), opts(nil)); err != nil || len(cfg.Listen.TrustedProxies) != 0 {
		t.Errorf("by default %v, %v", cfg.Listen.TrustedProxies, err)
	}
}
