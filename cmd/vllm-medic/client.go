package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// apiClient talks to a running bot.
type apiClient struct {
	server, tokenFile, caFile, serverName *string
	// named says whether somebody has said which server it is.
	named func() bool
	// plain permits a token over plain HTTP; never a person's own credentials.
	plain *bool

	kube kubeFlags
}

const defaultServer = "http://127.0.0.1:8080"

func clientFlags(fs *pflag.FlagSet, t terminal) (c apiClient) {
	headed(fs, headingBot, func() { c = newAPIClient(fs, t) })
	return c
}

func newAPIClient(fs *pflag.FlagSet, t terminal) apiClient {
	return apiClient{
		server: fs.String("server", cmp.Or(t.env("VLLM_MEDIC_SERVER"), defaultServer),
			"the `URL` of the bot's API listener; VLLM_MEDIC_SERVER sets the default"),
		tokenFile: fs.String("token-file", "",
			"a `FILE` with the token, instead of the environment variable VLLM_MEDIC_TOKEN; kubectl create token NAME "+
				"--audience vllm-medic makes one"),
		caFile: fs.String("ca-file", "", "a `FILE` with the authority that signed the bot's certificate, PEM"),
		serverName: fs.String("tls-server-name", "",
			"the `NAME` in the bot's certificate, if it isn't the one in --server, as with a port-forward"),
		named: func() bool { return fs.Changed("server") || t.env("VLLM_MEDIC_SERVER") != "" },
		plain: plainHTTPFlag(fs, t),
		kube:  newKubeFlags(fs),
	}
}

// names says whether a flag of these was given.
func (apiClient) names(fs *pflag.FlagSet) bool {
	flags := []string{
		"server", "token-file", "ca-file", "tls-server-name", "allow-plain-http", "kube", "context",
		"kubeconfig",
	}
	return slices.ContainsFunc(flags, fs.Changed)
}

// callTimeout is above the time for which a pause waits.
const callTimeout = 35 * time.Second

// call sends one request and reads the answer. What the bot refuses comes in its own words.
func (c apiClient) call(ctx context.Context, t terminal, method, path string, body, into any) error {
	server, err := url.Parse(*c.server)
	if err != nil || server.Host == "" {
		return usageError{fmt.Sprintf("the server %s is not a URL such as %s; set --server or VLLM_MEDIC_SERVER", *c.server,
			defaultServer)}
	}
	with, err := c.credentials(t, server)
	if err != nil {
		return err
	}
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	client, err := c.client(with)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout) // a login of the person is over by now
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(*c.server, "/")+path, payload)
	if err != nil {
		return err
	}
	if with.Token != "" {
		req.Header.Set("Authorization", "Bearer "+with.Token)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the bot at %s does not respond: %w\n--server names its API listener; incidents list and show "+
			"--config FILE read the store without the bot", *c.server, cause(err))
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", *c.server, err)
	}
	if resp.StatusCode != http.StatusOK {
		return c.refused(resp, raw, with)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s responds, but not like vllm-medic; is it the address of the bot's API listener?", *c.server)
	}
	return nil
}

// cause is the error without the request's method and address, which the message names already.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refused is the bot's own sentence, and for a token the way to a better one.
func (c apiClient) refused(resp *http.Response, raw []byte, with app.Credentials) error {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Error == "" {
		return fmt.Errorf("%s responds %s, but not like vllm-medic; is it the address of the bot's API listener?", *c.server,
			resp.Status)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized && *c.kube.use:
		setting := "access.cluster_tokens"
		if with.Token == "" {
			setting = "access.client_certificates"
		}
		return fmt.Errorf("%s; kubectl auth whoami shows whether the cluster accepts your credentials, and the bot needs %s",
			e.Error, setting)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s; for a bot with Kubernetes, kubectl create token NAME --audience vllm-medic makes one", e.Error)
	}
	return errors.New(e.Error)
}

func (c apiClient) client(with app.Credentials) (*http.Client, error) {
	if *c.caFile == "" && *c.serverName == "" && !*c.kube.use {
		return http.DefaultClient, nil
	}
	tc, err := trusting(*c.caFile, *c.serverName)
	if err != nil {
		return nil, err
	}
	if with.Certificate != nil {
		tc.Certificates = []tls.Certificate{*with.Certificate}
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: tc}}
	if *c.kube.use { // what may decide about a cluster goes nowhere else
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client, nil
}

// trusting accepts certificates of the authorities in a file, or of those that this machine trusts where it is empty.
// They are for a name, or for the host of the URL where it is empty.
func trusting(caFile, name string) (*tls.Config, error) {
	tc := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if caFile == "" {
		return tc, nil
	}
	pem, err := os.ReadFile(caFile) //nolint:gosec // the operator's own
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	tc.RootCAs = x509.NewCertPool()
	if !tc.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--ca-file: %s holds no certificate", caFile)
	}
	return tc, nil
}

// credentials are those of the person with --kube, else the token that was made for the bot.
func (c apiClient) credentials(t terminal, server *url.URL) (app.Credentials, error) {
	if err := c.kube.check(*c.tokenFile); err != nil {
		return app.Credentials{}, err
	}
	switch {
	case *c.kube.use && !c.named():
		return app.Credentials{}, usageError{"--kube sends your Kubernetes credentials only to a bot that you name: set " +
			"--server or VLLM_MEDIC_SERVER; at " + defaultServer + " anyone on this machine could be listening"}
	case *c.kube.use:
		return c.kube.credentials(t, server)
	}
	token, err := c.token(t)
	if err == nil {
		err = keepsToken(server, "--server", *c.plain)
	}
	return app.Credentials{Token: token}, err
}

func (c apiClient) token(t terminal) (string, error) {
	if *c.tokenFile != "" {
		b, err := os.ReadFile(*c.tokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	if v, ok := t.getenv("VLLM_MEDIC_TOKEN"); ok && v != "" {
		return v, nil
	}
	return "", usageError{"a token is required: set VLLM_MEDIC_TOKEN or --token-file (kubectl create token NAME " +
		"--audience vllm-medic), or use your own with --kube"}
}

func (c apiClient) incident(ctx context.Context, t terminal, id string) (incident.Incident, error) {
	var inc incident.Incident
	err := c.call(ctx, t, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id), nil, &inc)
	return inc, err
}

// isTerminal says whether a person reads or answers; /dev/null, which is a device too, cannot.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
