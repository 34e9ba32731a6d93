package prometheus

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestValidateNamesEveryError(t *testing.T) {
	t.Parallel()
	cfg := Config{
		URL: "prometheus:9090", QueryTimeout: -1, Concurrency: -1, ResponseLimit: -1, Attempts: -1, RetryBase: -1,
		ExtraParams: url.Values{"query": {"x"}, "time": {"x"}},
		Headers:     map[string]string{"Authorization": "x"},
		HTTPConfig: promconfig.HTTPClientConfig{
			BasicAuth:     &promconfig.BasicAuth{},
			Authorization: &promconfig.Authorization{},
		},
	}
	err := cfg.Validate()
	for _, want := range []string{
		"prometheus url", "query timeout", "concurrency", "response limit", "attempts", "retry base",
		`"query"`, `"time"`, `"Authorization"`, "http_config",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word about %s in: %v", want, err)
		}
	}
	if _, err := New(cfg, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("New takes a bad configuration")
	}
	if _, err := New(Config{URL: "http://prometheus:9090"}, nil); err == nil {
		t.Error("New takes no logger")
	}
	if err := (Config{URL: "http://prometheus:9090/prefix"}).Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestValidateRefusesAddressesWithoutShowingSecrets(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "prometheus", "ftp://u:hunter2@prometheus", "http://u:hunter2@", "http://u:hunter2@prometheus/?token=hunter2",
		"http://u:hunter2@prometheus:port", "http://u:hunter2@prometheus/#x",
	} {
		err := Config{URL: raw}.Validate()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	both := Config{
		URL:        "http://u:hunter2@prometheus",
		HTTPConfig: promconfig.HTTPClientConfig{BasicAuth: &promconfig.BasicAuth{Username: "x"}},
	}
	if err := both.Validate(); err == nil || !strings.Contains(err.Error(), "keep one of them") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("two credentials: %v", err)
	}
}

func TestAConfigPrintsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := Config{
		URL:         "http://u:hunter2@prometheus:9090/x",
		Headers:     map[string]string{"X-Key": "hunter2"},
		ExtraParams: url.Values{"k": {"hunter2"}},
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("config", "config", cfg)
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v %#v %s", cfg, cfg, cfg), log.String()} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "http://prometheus:9090/x") {
			t.Errorf("printed %q", text)
		}
	}
}

const secret = "hunter2secret"

// credentials are the ways to give a secret, and how it must arrive.
func credentials(t *testing.T) map[string]struct {
	edit   func(*Config)
	header string
	want   string
} {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("bot:"+secret))
	return map[string]struct {
		edit   func(*Config)
		header string
		want   string
	}{
		"bearer": {func(c *Config) {
			c.HTTPConfig.Authorization = &promconfig.Authorization{Type: "Bearer", Credentials: secret}
		}, "Authorization", "Bearer " + secret},
		"bearer file": {func(c *Config) {
			c.HTTPConfig.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: file}
		}, "Authorization", "Bearer " + secret},
		"basic": {func(c *Config) {
			c.HTTPConfig.BasicAuth = &promconfig.BasicAuth{Username: "bot", Password: secret}
		}, "Authorization", basic},
		"in the address": {func(c *Config) {
			c.URL = strings.Replace(c.URL, "http://", "http://bot:"+secret+"@", 1)
		}, "Authorization", basic},
		"header": {func(c *Config) { c.Headers = map[string]string{"X-Api-Key": secret} }, "X-Api-Key", secret},
	}
}

func TestCredentialsAreSentAndNeverShown(t *testing.T) {
	t.Parallel()
	for name, tt := range credentials(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A server that repeats what it was sent, in every way that could end in an error.
			echo := func(status int) promtest.Reply {
				return promtest.Reply{Before: func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Location", "http://bot:"+secret+"@elsewhere/?key="+secret)
					w.WriteHeader(status)
					promtest.Write(w, "you sent "+r.Header.Get(tt.header)+" "+secret)
				}}
			}
			answers := []promtest.Reply{promtest.Value("5")}
			statuses := []int{200, 302, 400, 401, 403, 403, 404, 422, 500, 503}
			for _, s := range statuses {
				answers = append(answers, echo(s))
			}
			f := promtest.NewFake(t, answers...)
			cfg := Config{URL: f.Serve(), Attempts: 1}
			tt.edit(&cfg)
			var log bytes.Buffer
			c, err := New(cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			if err != nil {
				t.Fatal(err)
			}
			for range statuses { // one of the 403s is the GET after the POST
				if text := ask(t, c).err + log.String(); strings.Contains(text, secret) {
					t.Errorf("the secret is shown: %s", text)
				}
			}
			for _, r := range f.Requests() {
				if got := r.Header.Get(tt.header); got != tt.want {
					t.Errorf("sent %q; want %q", got, tt.want)
				}
			}
		})
	}
}

func TestUnreachableAddressShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"http://bot:" + secret + "@127.0.0.1:1",
		"http://bot:" + secret + "@no-such-host.invalid",
	} {
		c := newClient(t, Config{URL: address, Attempts: 1, ExtraParams: url.Values{"key": {secret}}})
		if got := ask(t, c); got.err == "" || strings.Contains(got.err, secret) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestABrokenGetAfterAForbiddenPostShowsNoSecret(t *testing.T) {
	t.Parallel()
	broken := promtest.Reply{Before: reset, Optional: true} // net/http itself repeats a GET once
	got, f := askOnce(
		t,
		Config{Attempts: 1, ExtraParams: url.Values{"key": {secret}}},
		promtest.Reply{Status: http.StatusForbidden},
		broken,
	)
	if strings.Contains(got.err, secret) || !strings.HasPrefix(got.err, "can't reach Prometheus: ") {
		t.Errorf("got %+v", got)
	}
	if asked := f.Requests(); len(asked) < 2 || asked[1].Method != http.MethodGet || asked[1].Form.Get("key") != secret {
		t.Errorf("asked %+v", asked)
	}
}

func TestExtraParametersAreSentOnce(t *testing.T) {
	t.Parallel()
	f := promtest.NewFake(t, promtest.Value("1"))
	extra := url.Values{"max_source_resolution": {"0"}, "deny_partial_response": {}}
	if got := ask(t, newClient(t, Config{URL: f.Serve() + "/", ExtraParams: extra})); got.err != "" {
		t.Fatal(got.err)
	}
	form := f.Requests()[0].Form
	for name, want := range map[string]string{
		"max_source_resolution": "[0]", "partial_response": "[false]", "deny_partial_response": "[]", "timeout": "[10s]",
	} {
		if got := fmt.Sprint(form[name]); got != want {
			t.Errorf("%s = %s; want %s", name, got, want)
		}
	}
}
