package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
)

// PrometheusFlags say where and how to ask Prometheus, for a command that runs without a file. Secrets come from files,
// so that they stand in no shell's history.
type PrometheusFlags struct {
	URL, TokenFile, User, PasswordFile    string
	CAFile, CertFile, KeyFile, ServerName string
	Headers, Params                       map[string]string
	Timeout                               time.Duration
}

// FlagError is a flag that cannot be meant.
type FlagError struct{ Flag, Text string }

// Error is "--prometheus must be a URL ...".
func (e *FlagError) Error() string { return e.Flag + " " + e.Text }

// Prometheus is the section of a configuration that has the same settings. A *FlagError is in the error when the flags
// are wrong, as opposed to a file that cannot be read. Files with secrets are read again for each query, so that a
// rotated token counts.
func (f PrometheusFlags) Prometheus() (Prometheus, error) {
	out := Prometheus{
		URL: f.URL, Headers: f.Headers, ExtraParams: f.Params, Timeout: f.Timeout, HTTP: promconfig.DefaultHTTPClientConfig,
	}
	if err := f.check(); err != nil {
		return out, err
	}
	if f.TokenFile != "" {
		out.HTTP.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: f.TokenFile}
	}
	if f.User != "" {
		out.HTTP.BasicAuth = &promconfig.BasicAuth{Username: f.User, PasswordFile: f.PasswordFile}
	}
	out.HTTP.TLSConfig = promconfig.TLSConfig{
		CAFile: f.CAFile, CertFile: f.CertFile, KeyFile: f.KeyFile, ServerName: f.ServerName,
	}
	return out, f.readable()
}

func (f PrometheusFlags) check() error {
	var errs []error
	wrong := func(flag, text string) {
		if text != "" {
			errs = append(errs, &FlagError{flag, text})
		}
	}
	wrong("--prometheus", wrongAddress(f.URL, "use --user and --password-file"))
	if len(errs) == 0 {
		wrong("--prometheus", wrongBase(f.URL))
	}
	if (f.User == "") != (f.PasswordFile == "") {
		wrong("--user", "and --password-file are given together")
	}
	if f.User != "" && f.TokenFile != "" {
		wrong("--token-file", "and --user exclude each other: give one of the two")
	}
	if (f.CertFile == "") != (f.KeyFile == "") {
		wrong("--cert-file", "and --key-file are given together")
	}
	if f.Timeout <= 0 {
		wrong("--timeout", "must be above 0s")
	}
	return errors.Join(errs...)
}

// readable names the first file that cannot be read.
func (f PrometheusFlags) readable() error {
	for _, x := range []struct {
		flag, path string
		secret     bool
	}{
		{"--token-file", f.TokenFile, true},
		{"--password-file", f.PasswordFile, true},
		{"--ca-file", f.CAFile, false},
		{"--cert-file", f.CertFile, false},
		{"--key-file", f.KeyFile, false},
	} {
		if x.path == "" {
			continue
		}
		b, err := boundedfile.Read(x.path, boundedfile.MaxSecret)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", x.flag, err)
		case x.secret && strings.TrimSpace(string(b)) == "":
			return fmt.Errorf("%s: %s is empty", x.flag, x.path)
		}
	}
	return nil
}
