package config

import (
	"cmp"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// webhook reads what Alertmanager must present.
func (l *loader) webhook(f file) Webhook {
	a, before := f.Alertmanager.Auth, len(l.list)
	const path = "alertmanager.auth"
	out := Webhook{
		user:        a.Username,
		token:       l.secret(path+".bearer_token", a.BearerTokenEnv, a.BearerTokenFile, false, guarding),
		password:    l.secret(path+".password", a.PasswordEnv, a.PasswordFile, false, guarding),
		clientNames: l.clientNames(f),
	}
	if len(l.list) > before {
		return out // a secret that is not there makes the rest look wrong as well
	}
	demanded := out.Current()
	if err := demanded.Whole(); err != nil {
		l.at(path, "%v", err)
	}
	if !demanded.None() || l.opts.AllowUnauthenticated {
		return out
	}
	switch {
	case f.Listen.TLS["api"].ClientCAFile != "":
		l.at(path, "is required: anyone with a certificate of listen.tls.api.client_ca_file could post alerts; name the "+
			"certificate of Alertmanager by its common name, or a DNS name, URI or email address in it: "+
			"client_names: [alertmanager.example.com]")
	case !loopback(cmp.Or(f.Listen.API, ":8080")):
		l.at(path, "is required: listen.api is reachable from other machines, and anyone who can post alerts can trigger "+
			"proposals; set bearer_token_file, or listen.tls.api.client_ca_file and client_names, or start with "+
			"--allow-unauthenticated-webhook")
	}
	return out
}

// guarding refuses a secret that keeps others out and can be guessed.
func guarding(secret string) (string, error) { return secret, credential.LongEnough(secret) }

// clientNames reads which client certificates may post; nil: any. An empty list would be nobody.
func (l *loader) clientNames(f file) []string {
	names := f.Alertmanager.Auth.ClientNames
	const path = "alertmanager.auth.client_names"
	switch {
	case names == nil:
		return nil
	case len(names) == 0:
		l.at(path, "is empty, so no certificate could post alerts; name Alertmanager's, or remove the line")
	case f.Listen.TLS["api"].ClientCAFile == "":
		l.at(path, "needs listen.tls.api.client_ca_file: without it clients present no certificate")
	}
	for n, name := range names {
		if name == "" {
			l.at(fmt.Sprintf("%s[%d]", path, n), "is empty")
		}
	}
	return names
}
