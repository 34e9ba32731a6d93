package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

// promFlags say where and how to ask a Prometheus, for commands without a configuration.
type promFlags struct{ access config.PrometheusFlags }

// add adds the flags; what says what the address is for.
func (f *promFlags) add(own *pflag.FlagSet, what string) {
	own.StringVar(&f.access.URL, "prometheus", "", what)
	headed(own, headingPrometheus, func() { f.addAccess(own) })
}

func (f *promFlags) addAccess(own *pflag.FlagSet) {
	own.StringVar(&f.access.TokenFile, "token-file", "", "a `FILE` with a bearer token for Prometheus")
	own.StringVar(&f.access.User, "user", "", "the `NAME` for basic authentication at Prometheus")
	own.StringVar(&f.access.PasswordFile, "password-file", "", "a `FILE` with that user's password")
	own.StringVar(&f.access.CAFile, "ca-file", "", "a `FILE` with the authority that signed Prometheus' certificate, PEM")
	own.StringVar(&f.access.CertFile, "cert-file", "", "a `FILE` with a client certificate, PEM")
	own.StringVar(&f.access.KeyFile, "key-file", "", "a `FILE` with its key, PEM")
	own.StringVar(&f.access.ServerName, "tls-server-name", "",
		"the `NAME` in Prometheus' certificate, if it isn't the URL's")
	own.StringToStringVar(&f.access.Headers, "header", nil,
		"a header for every query, `NAME=VALUE`, such as X-Scope-OrgID=team-a")
	own.StringToStringVar(&f.access.Params, "param", nil, "a parameter for every query, `NAME=VALUE`")
	own.DurationVar(&f.access.Timeout, "timeout", 10*time.Second, "the `DURATION` that one query may take")
}
