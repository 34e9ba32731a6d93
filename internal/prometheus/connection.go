package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// maxRedirects is enough for a proxy that moves a path; more is a loop.
const maxRedirects = 3

// connection is an api.Client of client_golang that adds what that library leaves out: a limit on the answer's size,
// the parameters of Thanos and VictoriaMetrics that forbid partial answers, a check of the envelope before it is
// decoded, and errors without addresses and bodies.
type connection struct {
	endpoint *url.URL
	http     *http.Client
	params   string
	limit    int64
	// clock is the bot's; skew is Prometheus' minus the bot's at the last answer, in nanoseconds.
	clock    func() time.Time
	skew     atomic.Int64
	settings Settings
}

func newConnection(cfg Config) (*connection, error) {
	endpoint, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, errors.New("prometheus url cannot be parsed")
	}
	hc := cfg.HTTPConfig
	if u := endpoint.User; u != nil {
		password, _ := u.Password()
		hc.BasicAuth = &promconfig.BasicAuth{Username: u.Username(), Password: promconfig.Secret(password)}
		endpoint.User = nil
	}
	hc.HTTPHeaders = mergeHeaders(hc.HTTPHeaders, cfg.Headers)
	httpClient, err := promconfig.NewClientFromConfig(hc, "vllm_medic_prometheus",
		promconfig.WithUserAgent("vllm-medic"), promconfig.WithSecretManager(cfg.Secrets))
	if err != nil {
		return nil, fmt.Errorf("prometheus http_config: %w", err)
	}
	if hc.FollowRedirects {
		httpClient.CheckRedirect = checkRedirect
	}
	if cfg.Transport != nil {
		httpClient.Transport = cfg.Transport(httpClient.Transport)
	}
	endpoint.Path = strings.TrimRight(endpoint.Path, "/")
	return &connection{
		endpoint: endpoint, http: httpClient, params: encodeParams(cfg.ExtraParams), limit: cfg.ResponseLimit,
		clock: cfg.Clock, settings: cfg.Settings,
	}, nil
}

func mergeHeaders(have *promconfig.Headers, more map[string]string) *promconfig.Headers {
	if len(more) == 0 {
		return have
	}
	merged := &promconfig.Headers{Headers: map[string]promconfig.Header{}}
	if have != nil {
		maps.Copy(merged.Headers, have.Headers)
	}
	for name, value := range more {
		merged.Headers[name] = promconfig.Header{Secrets: []promconfig.Secret{promconfig.Secret(value)}}
	}
	return merged
}

// encodeParams adds the parameters that make Thanos and VictoriaMetrics refuse instead of answering in part. Prometheus
// ignores them.
func encodeParams(extra url.Values) string {
	all := url.Values{"partial_response": {"false"}, "deny_partial_response": {"1"}}
	maps.Copy(all, extra)
	return all.Encode()
}

// checkRedirect lets a redirect pass that cannot lose the query or carry credentials elsewhere. Any other answer is
// handed back as it is, and becomes an error that names the new address.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	if req.URL.Host != from.URL.Host || req.Method != from.Method || len(via) > maxRedirects ||
		from.URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// URL implements api.Client.
func (c *connection) URL(ep string, args map[string]string) *url.URL {
	u := *c.endpoint
	p := path.Join("/", u.Path, ep)
	for name, value := range args {
		p = strings.ReplaceAll(p, ":"+name, value)
	}
	u.Path = p
	return &u
}

// Do implements api.Client. It returns the response with its error, so that client_golang can fall back from POST to
// GET.
func (c *connection) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	return c.exchange(ctx, req, checkEnvelope)
}

// exchange sends a request and returns its answer when it is one of Prometheus' own and check finds nothing in it.
func (c *connection) exchange(
	ctx context.Context, req *http.Request, check func(*http.Response, []byte) error,
) (*http.Response, []byte, error) {
	req, err := c.withParams(req.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.http.Do(req) //nolint:gosec // the address is the operator's configuration
	if err != nil {
		return nil, nil, networkError(ctx, err)
	}
	body, err := answer.Read(resp, c.limit, "the query returns too much")
	if err != nil {
		return resp, nil, networkError(ctx, err)
	}
	c.noteClock(resp, c.clock())
	if resp.StatusCode/100 != 2 {
		return resp, nil, newStatusError(resp, body, c.settings)
	}
	if err := check(resp, body); err != nil {
		return resp, nil, err
	}
	return resp, body, nil
}

func (c *connection) withParams(req *http.Request) (*http.Request, error) {
	if c.params == "" {
		return req, nil
	}
	if req.Method != http.MethodPost || req.GetBody == nil {
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+c.params, "&")
		return req, nil
	}
	r, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("prepare the query: %w", err)
	}
	form, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("prepare the query: %w", err)
	}
	full := strings.TrimPrefix(string(form)+"&"+c.params, "&")
	req.ContentLength = int64(len(full))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(full)), nil }
	req.Body = io.NopCloser(strings.NewReader(full))
	return req, nil
}

func (c *connection) noteClock(resp *http.Response, now time.Time) {
	if theirs, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.skew.Store(int64(theirs.Sub(now)))
	}
}

// clockWarning says that the bot's clock and Prometheus' differ so much that "now" means two things. The Date header
// counts whole seconds, and a proxy may have written it: it is a warning and refuses nothing.
func (c *connection) clockWarning() string {
	skew := time.Duration(c.skew.Load()).Round(time.Second)
	side := "ahead of"
	switch {
	case skew.Abs() < time.Minute:
		return ""
	case skew > 0:
		side = "behind"
	}
	return fmt.Sprintf(
		"the bot's clock is %s %s Prometheus': the reading may not be of now",
		incident.FormatDuration(skew.Abs()),
		side,
	)
}

// retryAfter reads the header in its form of seconds; the form of a date is not used by proxies that limit rates.
func retryAfter(resp *http.Response) time.Duration {
	s, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(s) * time.Second
}
