package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

// PublicDocs is where the pages of this project can be read, as the alert rules in deploy/prometheus name them too.
const PublicDocs = "https://github.com/vllm-medic/vllm-medic/blob/main"

// links are the addresses for people. Without a place of their own the runbooks are among the bot's own pages.
func (l *loader) links(f file) Links {
	out := Links{BaseURL: l.link("links.base_url", f.Links.BaseURL)}
	switch raw := f.Links.DocsURL; {
	case raw == nil:
	case *raw == "none", *raw == "":
		out.NoRunbooks = true
	default:
		out.DocsURL = l.link("links.docs_url", *raw)
	}
	out.GrafanaURL = l.frontPage("links.grafana_url", f.Links.GrafanaURL)
	out.AlertmanagerURL = l.frontPage("links.alertmanager_url", f.Links.AlertmanagerURL)
	out.PrometheusURL = cmp.Or(l.link("links.prometheus_url", f.Links.PrometheusURL), f.Prometheus.URL)
	return out
}

// link is an address that people or the bot open without a password.
func (l *loader) link(path, raw string) string {
	return l.address(path, raw, "this address takes no credentials")
}

// frontPage is an address that people open, to which the path of one of its pages is added: it has neither a user nor
// anything behind its path.
func (l *loader) frontPage(path, raw string) string {
	u, err := url.Parse(l.link(path, raw))
	if err != nil || wrongAddress(raw, "") != "" {
		return raw // it has been said, or there is none
	}
	before, _, dashboard := strings.Cut(u.Path, "/d/")
	if u.User != nil {
		l.at(path, "must not hold a user; people sign in there themselves")
	} else if dashboard || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		alone := url.URL{Scheme: u.Scheme, Host: u.Host, Path: before}
		l.at(path, "must be the address of the server alone, to which pages are added; write %s", alone.String())
	}
	return raw
}

// address takes http and https.
func (l *loader) address(path, raw, instead string) string {
	if raw == "" {
		return ""
	}
	if text := wrongAddress(raw, instead); text != "" {
		l.at(path, "%s", text)
	}
	return raw
}

// wrongAddress says what is wrong with an address of http or https; empty when nothing is. It does not repeat the
// address, which may hold a secret. instead says where a password belongs.
func wrongAddress(raw, instead string) string {
	u, err := url.Parse(raw)
	switch {
	case hasPassword(raw):
		return "must not hold a password; " + instead
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return "must be a URL that begins with http:// or https://"
	}
	return ""
}

// base refuses the address of a page or of an API call where that of the server is meant.
func (l *loader) base(path, raw string) {
	if text := wrongBase(raw); text != "" {
		l.at(path, "%s", text)
	}
}

// wrongBase says that an address is that of a page or of an API call where that of the server is meant; empty when it
// is not. /api/v1 is added to it. A server may well be below a path that looks like one of these, such as behind the
// proxy of a Kubernetes API server (/api/v1/namespaces/...), so only how the path ends counts.
func wrongBase(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "" // it has been said
	}
	before, end := endpoint(u)
	switch {
	case end == "":
		return ""
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return "ends in " + end + ", which is added automatically; give only the address of the server"
	}
	u.Path = before
	return "ends in " + end + ", which is added automatically; write " + u.String()
}

// endpoint parts an address into the path of the server and what belongs to one of its pages or API calls; end is empty
// where it is the server's own. /query alone is a page of Prometheus 3 and a usual prefix of Thanos: only with the
// parameters of the page it is the page.
func endpoint(u *url.URL) (before, end string) {
	whole := strings.TrimRight(u.Path, "/")
	if i := strings.LastIndex(whole+"/", "/api/v1/"); i >= 0 {
		call, _, _ := strings.Cut(strings.TrimPrefix(whole[i+len("/api/v1"):], "/"), "/")
		if call == "" || slices.Contains(apiCalls(), call) {
			return whole[:i], "/api/v1"
		}
	}
	for _, page := range []string{"/graph", "/query", "/alerts", "/targets"} {
		if before, found := strings.CutSuffix(whole, page); found && (page != "/query" || strings.Contains(u.RawQuery,
			"g0.")) {
			return before, page
		}
	}
	return whole, ""
}

// apiCalls are the first words of what Prometheus has below /api/v1.
func apiCalls() []string {
	return []string{
		"alertmanagers", "alerts", "format_query", "label", "labels", "metadata", "query", "query_exemplars", "query_range",
		"read", "rules", "series", "status",
		"targets", "write",
	}
}

// proxy is the address of a proxy; nil when it is none.
func (l *loader) proxy(path, raw string) *url.URL {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		l.at(path, "must be a URL that begins with http://, https://, socks5:// or socks5h://")
		return nil
	case hasPassword(raw):
		l.at(path, "must not hold a password; only a proxy without authentication is supported")
		return nil
	}
	return u
}

func unreadable(raw string) bool {
	_, err := url.Parse(raw)
	return err != nil
}

// hasPassword says whether a URL holds a password: the user's, or one of the parameters by which PostgreSQL's clients
// take one. A parameter is looked at by itself, because url.Query leaves out what it cannot decode.
func hasPassword(raw string) bool {
	if u, err := url.Parse(raw); err == nil && u.User != nil {
		if _, ok := u.User.Password(); ok {
			return true
		}
	}
	_, query, _ := strings.Cut(raw, "?")
	for _, pair := range strings.FieldsFunc(query,
		func(r rune) bool { return r == '&' || r == ';' || r == '?' || r == '#' }) {
		key, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err == nil {
			key = plain
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "password", "sslpassword":
			return true
		}
	}
	return false
}
