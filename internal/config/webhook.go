package config

import (
	"cmp"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// webhook reads what Alertmanager must present.
func (l *loader) webhook(f file) credential.Credential {
	a, before := f.Alertmanager.Auth, len(l.list)
	const path = "alertmanager.auth"
	out := credential.Credential{
		BearerToken: l.guarded(path+".bearer_token", a.BearerTokenEnv, a.BearerTokenFile),
		User:        a.Username,
		Password:    l.guarded(path+".password", a.PasswordEnv, a.PasswordFile),
		ClientNames: l.clientNames(f),
	}
	if len(l.list) > before {
		return out // a secret that is not there makes the rest look wrong as well
	}
	if err := out.Whole(); err != nil {
		l.at(path, "%v", err)
	}
	if !out.None() || l.opts.AllowUnauthenticated {
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

// guarded reads a secret that keeps others out, and refuses one that can be guessed.
func (l *loader) guarded(path, env, file string) string {
	before := len(l.list)
	v := l.secret(path, env, file, false)
	if v == "" || len(l.list) > before || l.opts.Offline || l.opts.PrometheusOnly {
		return v
	}
	if err := credential.LongEnough(v); err != nil {
		at := path + "_env"
		if file != "" {
			at = path + "_file"
		}
		l.at(at, "%v", err)
	}
	return v
}

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
