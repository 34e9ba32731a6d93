package config

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// withLine is the sound configuration with one of its lines replaced, or with one more.
func withLine(old, with string) string {
	if old == "" {
		return sound + with + "\n"
	}
	return strings.Replace(sound, old, with, 1)
}

const (
	soundStore      = `store: {url: "sqlite:///tmp/medic.db"}`
	soundPrometheus = `prometheus: {url: "http://prometheus:9090"}`
	soundSlack      = "slack: {mode: http, channel: C1, team: T1, app_id: A1, token_env: TOKEN, signing_secret_env: " +
		"TOKEN, api_url: "
)

// A secret in a URL would be in the file, in its history and in whoever's backups. Each URL of the file refuses one,
// wherever in the URL it stands, and no error repeats it.
func TestNoURLOfTheFileHoldsAPassword(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, old, with, want string }{
		{
			"store, as a parameter", soundStore, `store: {url: "postgres://medic@h/db?sslmode=require&password=s3cr3t-value"}`,
			"store.url: must not hold a password",
		},
		{
			"store, the key's password", soundStore, `store: {url: "postgres://medic@h/db?sslpassword=s3cr3t-value"}`,
			"store.url: must not hold a password",
		},
		{
			"store, in capitals", soundStore, `store: {url: "postgresql://h/db?PassWord=s3cr3t-value"}`,
			"store.url: must not hold a password",
		},
		{
			"store, the key encoded", soundStore, `store: {url: "postgres://h/db?p%61ssword=s3cr3t-value"}`,
			"store.url: must not hold a password",
		},
		{
			"store, after a semicolon", soundStore, `store: {url: "postgres://h/db?sslmode=disable;password=s3cr3t-value"}`,
			"store.url: must not hold a password",
		},
		{
			"store, beside a value that cannot be decoded", soundStore,
			`store: {url: "postgres://h/db?application_name=100%&password=s3cr3t-value"}`, "store.url: must not hold a password",
		},
		{
			"store, as the user's", soundStore, `store: {url: "postgres://medic:s3cr3t-value@h/db"}`,
			"store.url: must not hold a password",
		},
		{
			"store, in a URL that cannot be read", soundStore, `store: {url: "postgres://medic:s3cr3t-value%zz@h/db"}`,
			"store.url: is not a valid URL",
		},
		{
			"prometheus", soundPrometheus, `prometheus: {url: "http://prometheus:9090?password=s3cr3t-value"}`,
			"prometheus.url: must not hold a password",
		},
		{
			"prometheus, unreadable", soundPrometheus, `prometheus: {url: "http://u:s3cr3t-value%zz@prometheus:9090"}`,
			"prometheus.url: must be a URL",
		},
		{
			"proxy", soundPrometheus,
			`prometheus: {url: "http://prometheus:9090", http_config: {proxy_url: "http://medic:s3cr3t-value@proxy:3128"}}`,
			"prometheus.http_config.proxy_url: must not hold a password",
		},
		{
			"proxy, as a parameter", soundPrometheus,
			`prometheus: {url: "http://prometheus:9090", http_config: {proxy_url: "http://proxy:3128/?password=s3cr3t-value"}}`,
			"prometheus.http_config.proxy_url: must not hold a password",
		},
		{
			"proxy, unreadable", soundPrometheus,
			`prometheus: {url: "http://prometheus:9090", http_config: {proxy_url: "http://medic:s3cr3t-value%zz@proxy"}}`,
			"prometheus.http_config.proxy_url: must be a URL",
		},
		{
			"alertmanager", "", `alertmanager: {url: "http://u:s3cr3t-value@alertmanager:9093"}`,
			"alertmanager.url: must not hold a password",
		},
		{
			"slack", "", soundSlack + `"https://u:s3cr3t-value@slack.example.com/api/"}`,
			"slack.api_url: must not hold a password",
		},
		// Links go into messages that a whole channel reads.
		{
			"pages", "", `links: {base_url: "https://u:s3cr3t-value@medic.example.com"}`,
			"links.base_url: must not hold a password",
		},
		{
			"runbooks", "", `links: {docs_url: "https://docs.example.com/?password=s3cr3t-value"}`,
			"links.docs_url: must not hold a password",
		},
		{
			"graphs", "", `links: {prometheus_url: "https://u:s3cr3t-value@prometheus.example.com"}`,
			"links.prometheus_url: must not hold a password",
		},
		{
			"dashboards", "", `links: {grafana_url: "https://u:s3cr3t-value@grafana.example.com"}`,
			"links.grafana_url: must not hold a password",
		},
		{
			"silences", "", `links: {alertmanager_url: "https://am.example.com/?password=s3cr3t-value"}`,
			"links.alertmanager_url: must not hold a password",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("medic.yaml", []byte(withLine(tc.old, tc.with)), opts(nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v\nwant %q in it", err, tc.want)
			}
			if strings.Contains(err.Error(), "s3cr3t-value") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

func TestAProxyIsAnAddress(t *testing.T) {
	t.Parallel()
	for raw, good := range map[string]bool{
		"http://proxy:3128": true, "https://proxy": true, "socks5://proxy:1080": true, "socks5h://proxy:1080": true,
		"http://medic@proxy:3128": true,
		"proxy:3128":              false, "proxy": false, "ftp://proxy": false, "http://": false,
	} {
		c, err := Parse("medic.yaml", []byte(withLine(soundPrometheus,
			`prometheus: {url: "http://prometheus:9090", http_config: {proxy_url: "`+raw+`"}}`)), opts(nil))
		switch {
		case good && (err != nil || c.Prometheus.HTTP.ProxyURL.String() != raw):
			t.Errorf("%s: %v, proxy %s", raw, err, c.Prometheus.HTTP.ProxyURL)
		case !good && (err == nil || !strings.Contains(err.Error(), "prometheus.http_config.proxy_url: must be a URL")):
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// What names no secret must stay possible.
func TestURLsWithoutAPasswordAreTaken(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ old, with string }{
		{soundStore, `store: {url: "postgres://medic@h/db?sslmode=verify-full&passfile=/etc/medic/pgpass"}`},
		{soundStore, `store: {url: "sqlite:///tmp/100%/medic.db"}`},
		{soundPrometheus, `prometheus: {url: "http://medic@prometheus:9090/password"}`},
	} {
		if _, err := Parse("medic.yaml", []byte(withLine(tc.old, tc.with)), opts(nil)); err != nil {
			t.Errorf("%s: %v", tc.with, err)
		}
	}
}

// A page is added to these two addresses, so they are those of servers, and as safe to click as any in a message.
func TestDashboardsAndSilencesAreOnServersThatPeopleOpen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ setting, raw, want string }{
		{"grafana_url", "https://grafana.example.com", ""},
		{"grafana_url", "http://tools.example.com:3000/grafana/", ""},
		{"grafana_url", "", ""},
		{"grafana_url", "grafana.example.com", "must be a URL that begins with http:// or https://"},
		{"grafana_url", "javascript:alert(1)//x?y#z", "must be a URL that begins with http:// or https://"},
		{"grafana_url", "https://", "must be a URL that begins with http:// or https://"},
		{"grafana_url", "https://ada@grafana.example.com", "must not hold a user; people sign in there themselves"},
		{
			"grafana_url", "https://tools.example.com/grafana/d/vllm-medic-pools/golden?orgId=1",
			"must be the address of the server alone, to which pages are added; write https://tools.example.com/grafana",
		},
		{
			"grafana_url", "https://grafana.example.com/?auth_token=s3cr3t-value",
			"must be the address of the server alone, to which pages are added; write https://grafana.example.com/",
		},
		{"alertmanager_url", "https://tools.example.com/alertmanager", ""},
		{
			"alertmanager_url", "https://am.example.com/#/alerts",
			"must be the address of the server alone, to which pages are added; write https://am.example.com/",
		},
		{"alertmanager_url", "ftp://am.example.com", "must be a URL that begins with http:// or https://"},
	} {
		c, err := Parse("medic.yaml", []byte(withLine("", `links: {`+tc.setting+`: "`+tc.raw+`"}`)), opts(nil))
		where := "links." + tc.setting + ": "
		switch {
		case tc.want == "" && (err != nil || c.Links.GrafanaURL+c.Links.AlertmanagerURL != tc.raw):
			t.Errorf("%s%s: got %+v, %v", where, tc.raw, c.Links, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), where+tc.want+"\n") &&
			!strings.HasSuffix(err.Error(), where+tc.want)):
			t.Errorf("%s%s: got %v\nwant %q", where, tc.raw, err, tc.want)
		case err != nil && (strings.Count(err.Error(), where) != 1 || !strings.Contains(err.Error(), "medic.yaml:")):
			t.Errorf("%s%s: not one error with its place: %v", where, tc.raw, err)
		}
	}
}

// Neither is guessed: the address that the bot asks is often one of the cluster, which no browser knows.
func TestOnlyWhatIsSetHasLinks(t *testing.T) {
	t.Parallel()
	c, err := Parse("medic.yaml", []byte(withLine("", `alertmanager: {url: "http://alertmanager:9093"}`)), opts(nil))
	if err != nil || c.Links.GrafanaURL != "" || c.Links.AlertmanagerURL != "" {
		t.Errorf("got %+v, %v", c.Links, err)
	}
}

// Somebody at 3 a.m. gets the runbook without having set anything up.
func TestMessagesLinkToTheRunbooksUnlessTheyMustNot(t *testing.T) {
	t.Parallel()
	const public = "https://github.com/vllm-medic/vllm-medic/blob/main"
	for _, tc := range []struct{ name, line, docs, pages string }{
		{"nothing said", "", public, ""},
		{
			"pages that people can reach", `links: {base_url: "https://medic.example.com"}`, "", "https://medic.example.com",
		},
		{"a key without a value", "links: {docs_url: }", public, ""},
		{"a place of one's own", `links: {docs_url: "https://runbooks.example.com"}`, "https://runbooks.example.com", ""},
		{
			"both", `links: {base_url: "https://medic.example.com", docs_url: "https://runbooks.example.com"}`,
			"https://runbooks.example.com", "",
		},
		{"empty", `links: {docs_url: ""}`, "", ""},
		{"none", `links: {base_url: "https://medic.example.com", docs_url: none}`, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse("medic.yaml", []byte(withLine("", tc.line)), opts(nil))
			docs, pages := c.Links.Runbooks()
			if err != nil || docs != tc.docs || pages != tc.pages {
				t.Errorf("got %q and %q, %v; want %q and %q", docs, pages, err, tc.docs, tc.pages)
			}
		})
	}
}

func TestAPoolsRouteAtTheGateway(t *testing.T) {
	t.Parallel()
	const (
		pools   = "pools:\n"
		noplace = "pools:\n  - {name: other, match: {model_name: other}, matchers: {model_name: other}, http_route: " +
			"{name: other}}\n"
	)
	for _, tc := range []struct{ name, old, with, want, fails string }{
		{name: "none", want: ""},
		{
			name: "in full", old: "    knobs:", with: "    http_route: {namespace: edge, name: llama}\n    knobs:",
			want: "edge/llama",
		},
		{
			name: "in the workload's namespace", old: "    knobs:", with: "    http_route: {name: llama}\n    knobs:",
			want: "llm/llama",
		},
		{name: "in the matchers' namespace", old: pools, with: strings.Replace(noplace, "matchers: {model_name: other}",
			"matchers: {namespace: web}", 1), want: "web/other"},
		{name: "nowhere", old: pools, with: noplace, fails: "pools[0].http_route.namespace: is required"},
		{
			name: "without a name", old: "    knobs:", with: "    http_route: {namespace: llm}\n    knobs:",
			fails: "pools[0].http_route.name: is required",
		},
		{
			name: "both in one", old: "    knobs:", with: "    http_route: {name: llm/llama}\n    knobs:",
			fails: `pools[0].http_route.name: "llm/llama" is not the name of an HTTPRoute`,
		},
		{
			name: "a foreign key", old: "    knobs:", with: "    http_route: {name: llama, rule: 0}\n    knobs:",
			fails: `unknown field "rule"; known: namespace, name`,
		},
		{
			name: "one route for both halves of a model", old: pools,
			with: "pools:\n  - {name: other, match: {model_name: other}, matchers: {namespace: llm}, http_route: {name: " +
				"both}}\n  - {name: third, match: {model_name: third}, matchers: {namespace: llm}, http_route: {name: both}}\n",
			fails: "",
			want:  "llm/both",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil))
			switch {
			case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
				t.Errorf("got %v\nwant %q in it", err, tc.fails)
			case tc.fails == "" && err != nil:
				t.Error(err)
			case tc.fails == "" && c.Pools[0].HTTPRoute.String() != tc.want:
				t.Errorf("got %s, want %s", c.Pools[0].HTTPRoute, tc.want)
			case tc.want == "" && tc.fails == "" && c.Pools[0].HTTPRoute != (incident.RouteRef{}):
				t.Errorf("got %+v, want none", c.Pools[0].HTTPRoute)
			}
		})
	}
}
