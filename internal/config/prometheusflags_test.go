package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

func TestPrometheusFlagsBecomeTheSection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, password := file("token", "s3cret\n"), file("password", "s3cret")
	with := func(change func(*config.PrometheusFlags)) config.PrometheusFlags {
		f := config.PrometheusFlags{URL: "https://prometheus:9090/prefix", Timeout: time.Second}
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		flags config.PrometheusFlags
		want  string // of the error; empty: none
		usage bool
	}{
		"an address alone": {with(func(*config.PrometheusFlags) {}), "", false},
		"a token":          {with(func(f *config.PrometheusFlags) { f.TokenFile = token }), "", false},
		"a user":           {with(func(f *config.PrometheusFlags) { f.User, f.PasswordFile = "u", password }), "", false},
		"no address":       {with(func(f *config.PrometheusFlags) { f.URL = "" }), "--prometheus must be a URL", true},
		"a password in the address": {
			with(func(f *config.PrometheusFlags) { f.URL = "http://u:s3cret@prometheus" }),
			"--prometheus must not hold a password", true,
		},
		"a page": {
			with(func(f *config.PrometheusFlags) { f.URL += "/graph" }), "--prometheus ends in /graph", true,
		},
		"a user without password": {with(func(f *config.PrometheusFlags) { f.User = "u" }), "--user", true},
		"a password without user": {with(func(f *config.PrometheusFlags) { f.PasswordFile = password }), "--user", true},
		"two credentials": {with(func(f *config.PrometheusFlags) {
			f.TokenFile, f.User, f.PasswordFile = token, "u", password
		}), "--token-file", true},
		"half a certificate": {with(func(f *config.PrometheusFlags) { f.KeyFile = token }), "--cert-file", true},
		"no time":            {with(func(f *config.PrometheusFlags) { f.Timeout = 0 }), "--timeout", true},
		"a file that is not there": {
			with(func(f *config.PrometheusFlags) { f.CAFile = filepath.Join(dir, "ca") }), "--ca-file", false,
		},
		"an empty token": {with(func(f *config.PrometheusFlags) { f.TokenFile = file("empty", " \n") }), "is empty", false},
	} {
		got, err := tc.flags.Prometheus()
		if tc.want == "" {
			if err != nil || got.URL != tc.flags.URL || got.HTTP.Validate() != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if wrong := new(config.FlagError); errors.As(err, &wrong) != tc.usage {
			t.Errorf("%s: usage %v, want %v", name, !tc.usage, tc.usage)
		}
	}
}
