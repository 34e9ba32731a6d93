package prometheus

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/answer"
)

// The defaults of Config. Concurrency is the default of Prometheus' own --query.max-concurrency.
const (
	DefaultQueryTimeout  = 10 * time.Second
	DefaultConcurrency   = 20
	DefaultResponseLimit = answer.Limit
	DefaultAttempts      = 3
	DefaultRetryBase     = 200 * time.Millisecond
)

// Config says how Prometheus is asked. A zero field takes the default above.
type Config struct {
	// URL is the address of Prometheus or of anything that speaks its HTTP API, with its path prefix. A user name and
	// password in it are used for basic authentication and appear nowhere else.
	URL string
	// HTTPConfig is Prometheus' own http_config: credentials, TLS, proxy. With FollowRedirects only redirects that stay
	// on the host and keep the method are followed.
	HTTPConfig promconfig.HTTPClientConfig
	// Secrets has what HTTPConfig names by references, as it is now; nil when it names nothing so.
	Secrets promconfig.SecretManager
	// Headers are added to every request, for example X-Scope-OrgID. Their values are treated as secrets.
	Headers map[string]string
	// ExtraParams are added to every query. partial_response=false (Thanos) and deny_partial_response=1
	// (VictoriaMetrics) are sent without being named here; name one with another value to change it, with an empty list
	// to leave it out.
	ExtraParams url.Values
	// QueryTimeout bounds one attempt of one query; Prometheus is told it too.
	QueryTimeout time.Duration
	// Concurrency bounds the queries that run at one time, over all callers.
	Concurrency int
	// ResponseLimit bounds one answer, in bytes.
	ResponseLimit int64
	// Attempts is how often a query is tried when the error is transient, the first time included.
	Attempts int
	// RetryBase is the wait before the second attempt; it doubles from there.
	RetryBase time.Duration
	// Settings is what errors call the settings of this Config.
	Settings Settings
	// Clock is the bot's clock, which Prometheus' is compared with; nil is the machine's own. Rehearsals leave it
	// alone.
	Clock func() time.Time
	// Transport, when set, wraps the HTTP transport, outermost: for traces, and for tests.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Settings are the names under which a person set the address and the credentials. The zero value stands for those of
// the configuration file.
type Settings struct{ URL, Credentials string }

// String names the address and nothing that could be secret.
func (c Config) String() string { return "prometheus " + safeURL(c.URL) }

// LogValue is String, so that a Config can be logged.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// GoString is String, so that %#v shows no secret either.
func (c Config) GoString() string { return c.String() }

func (c Config) withDefaults() Config {
	c.QueryTimeout = cmp.Or(c.QueryTimeout, DefaultQueryTimeout)
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	c.ResponseLimit = cmp.Or(c.ResponseLimit, DefaultResponseLimit)
	c.Attempts = cmp.Or(c.Attempts, DefaultAttempts)
	c.RetryBase = cmp.Or(c.RetryBase, DefaultRetryBase)
	c.Settings.URL = cmp.Or(c.Settings.URL, "prometheus.url")
	c.Settings.Credentials = cmp.Or(c.Settings.Credentials, "prometheus.http_config")
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// Validate returns every error at once, without secrets in them.
func (c Config) Validate() error {
	c = c.withDefaults()
	errs := []error{c.validateURL(), c.validateParams(), c.validateHeaders()}
	httpConfig := c.HTTPConfig
	if err := httpConfig.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("prometheus http_config: %w", err))
	}
	for _, f := range []struct {
		name string
		ok   bool
		want string
	}{
		{"query timeout", c.QueryTimeout > 0, "above zero"},
		{"concurrency", c.Concurrency > 0, "at least 1"},
		{"response limit", c.ResponseLimit > 0, "above zero"},
		{"attempts", c.Attempts > 0, "at least 1"},
		{"retry base", c.RetryBase > 0, "above zero"},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("prometheus %s must be %s", f.name, f.want))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateURL() error {
	if c.URL == "" {
		return errors.New("prometheus url is missing: give the address of Prometheus, for example http://prometheus:9090")
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		// The parse error quotes the whole URL, password included.
		return errors.New("prometheus url cannot be parsed: give an address such as http://prometheus:9090")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("prometheus url %s needs http:// or https:// and a host", safeURL(c.URL))
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("prometheus url %s must not carry parameters: put them into extra_params", safeURL(c.URL))
	case u.User != nil &&
		(c.HTTPConfig.BasicAuth != nil || c.HTTPConfig.Authorization != nil || c.HTTPConfig.OAuth2 != nil):
		return fmt.Errorf(
			"prometheus url %s carries a user name and http_config has credentials too: keep one of them",
			safeURL(c.URL),
		)
	}
	return nil
}

func (c Config) validateParams() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.ExtraParams)) {
		switch name {
		case "query", "time", "start", "end", "step", "timeout", "limit":
			errs = append(errs, fmt.Errorf("prometheus extra_params must not set %q: it is set for every query", name))
		case "":
			errs = append(errs, errors.New("prometheus extra_params has a parameter without a name"))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateHeaders() error {
	h := promconfig.Headers{Headers: map[string]promconfig.Header{}}
	for name := range c.Headers {
		if c.HTTPConfig.HTTPHeaders != nil {
			if _, twice := c.HTTPConfig.HTTPHeaders.Headers[name]; twice {
				return fmt.Errorf("prometheus header %q is in headers and in http_config: keep one of them", name)
			}
		}
		h.Headers[name] = promconfig.Header{}
	}
	if err := h.Validate(); err != nil {
		return fmt.Errorf("prometheus headers: %w", err)
	}
	return nil
}

// safeURL is the URL without user name, password, parameters and fragment.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(address that cannot be parsed)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
