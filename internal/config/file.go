package config

import "github.com/vllm-medic/vllm-medic/internal/strictyaml"

// file is the configuration as people write it. docs/config.schema.json, for editors, is made from these types and
// their comments.
type file struct {
	// The addresses of the three listeners.
	Listen listenFile `yaml:"listen,omitempty"`
	// Where incidents are kept.
	Store storeFile `yaml:"store,omitempty"`
	// The Prometheus that scrapes vLLM.
	Prometheus prometheusFile `yaml:"prometheus"`
	// The Alertmanager that posts alerts.
	Alertmanager alertmanagerFile `yaml:"alertmanager,omitempty"`
	// The Kubernetes cluster of the pools. Required in modes approve and auto: without it nothing can be changed.
	Kubernetes *kubernetesFile `yaml:"kubernetes,omitempty"`
	// The Slack app that posts incidents and asks for approval. Without it messages go to the log and to the
	// incident's JSON.
	Slack *slackFile `yaml:"slack,omitempty"`
	// Where else incidents are shown. Nothing can be decided there.
	Notify []notifyFile `yaml:"notify,omitempty"`
	// Who can read and decide over HTTP, in addition to Slack.
	Access accessFile `yaml:"access,omitempty"`
	// How far the bot may go: observe proposes nothing, dry-run asks and changes nothing, approve makes changes after
	// approval, auto also runs the kinds of steps in policy.automatic without it. Default dry-run.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=dry-run,enum=approve,enum=auto,default=dry-run"`
	// Limits for the steps of every pool.
	Policy policyFile `yaml:"policy,omitempty"`
	// Intervals and timeouts. The defaults suit five-minute rates and models that take minutes to load.
	Timing timingFile `yaml:"timing,omitempty"`
	// Who can approve, per kind of step (the name of a knob) or default. An empty list means no one.
	Approvers map[string]approversFile `yaml:"approvers,omitempty"`
	// Base URLs of the links in messages.
	Links linksFile `yaml:"links,omitempty"`
	// Playbooks in addition to the built-in ones.
	Playbooks playbooksFile `yaml:"playbooks,omitempty"`
	// The pools, one per served model.
	Pools []poolFile `yaml:"pools"`
	// Where traces of incidents are sent. Without it none are made.
	Tracing *tracingFile `yaml:"tracing,omitempty"`
	// Exercises of the people on call that start by the clock. Nothing is changed in them.
	Drills []drillFile `yaml:"drills,omitempty"`
}

type listenFile struct {
	// Alertmanager's webhook, the API and the web pages. Default :8080.
	API string `yaml:"api,omitempty" jsonschema:"default=:8080"`
	// /metrics, /healthz and /readyz, without authentication. Default :8081.
	Ops string `yaml:"ops,omitempty" jsonschema:"default=:8081"`
	// Button clicks and commands from Slack, in Slack mode http only. Default :8082.
	Slack string `yaml:"slack,omitempty" jsonschema:"default=:8082"`
	// The proxies in front of listen.api, such as an ingress controller, by address or network (10.0.0.0/8). What they say
	// in X-Forwarded-For is believed, so that checks of credentials are shared out among their clients. Default none.
	TrustedProxies []string `yaml:"trusted_proxies,omitempty"`
	// Certificates per listener: api, ops or slack. A listener without an entry serves plain HTTP.
	TLS map[string]tlsFile `yaml:"tls,omitempty"`
}

type tlsFile struct {
	// The certificate chain, PEM.
	CertFile string `yaml:"cert_file"`
	// Its key, PEM.
	KeyFile string `yaml:"key_file"`
	// The CA of client certificates, which clients must present. On the listener api alertmanager.auth.client_names says
	// which of them can post alerts.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`
}

type storeFile struct {
	// sqlite:///path for one bot, or postgres://user@host/database for several replicas. It must not contain a
	// password. Default sqlite:///var/lib/vllm-medic/medic.db.
	URL string `yaml:"url,omitempty" jsonschema:"default=sqlite:///var/lib/vllm-medic/medic.db"`
	// The environment variable that holds the URL, for a URL with a password. Not together with url.
	URLEnv string `yaml:"url_env,omitempty"`
	// The file that holds the URL, for a URL with a password. It is read again for each new connection, so that a
	// rotated password counts without a restart; another database needs one. Not together with url or url_env.
	URLFile string `yaml:"url_file,omitempty"`
}

type prometheusFile struct {
	// The URL of Prometheus, without /api/v1. It must not contain a password.
	URL string `yaml:"url"`
	// How to connect, in the same format as in Prometheus; secrets only from a file or environment variable.
	HTTPConfig httpFile `yaml:"http_config,omitempty"`
	// Additional headers, without secrets: X-Scope-OrgID for Mimir.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Additional query parameters: partial_response=false for Thanos.
	ExtraParams map[string]string `yaml:"extra_params,omitempty"`
	// The timeout of one query. Default 10s.
	Timeout strictyaml.Duration `yaml:"timeout,omitempty"`
	// The deadline for all queries of one investigation. Default 25s.
	Deadline strictyaml.Duration `yaml:"deadline,omitempty"`
	// How many queries run in parallel, at most 20. Default 20.
	Concurrency int `yaml:"concurrency,omitempty" jsonschema:"minimum=0,maximum=20"`
}

type httpFile struct {
	// A user with a password.
	BasicAuth *basicAuthFile `yaml:"basic_auth,omitempty"`
	// A bearer token, or other credentials for the Authorization header.
	Authorization *authorizationFile `yaml:"authorization,omitempty"`
	// TLS settings: how to verify the server, and the client certificate.
	TLSConfig *clientTLSFile `yaml:"tls_config,omitempty"`
	// The URL of a proxy: http, https, socks5 or socks5h. It must not contain a password.
	ProxyURL string `yaml:"proxy_url,omitempty"`
}

type basicAuthFile struct {
	// The user's name.
	Username string `yaml:"username"`
	// The file that holds the password.
	PasswordFile string `yaml:"password_file,omitempty"`
	// The environment variable that holds the password.
	PasswordEnv string `yaml:"password_env,omitempty"`
}

type authorizationFile struct {
	// The scheme. Default Bearer.
	Type string `yaml:"type,omitempty" jsonschema:"default=Bearer"`
	// The file that holds the credentials.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// The environment variable that holds the credentials.
	CredentialsEnv string `yaml:"credentials_env,omitempty"`
}

type clientTLSFile struct {
	// The CA of the server's certificate, PEM. Default: the system's CAs.
	CAFile string `yaml:"ca_file,omitempty"`
	// The client certificate, PEM.
	CertFile string `yaml:"cert_file,omitempty"`
	// Its key, PEM.
	KeyFile string `yaml:"key_file,omitempty"`
	// The name in the server's certificate, if it differs from the URL.
	ServerName string `yaml:"server_name,omitempty"`
	// Accept any certificate. This allows man-in-the-middle attacks, such as forged metrics.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify,omitempty"`
}

type alertmanagerFile struct {
	// The URL of Alertmanager. Not used yet; links lead to links.alertmanager_url.
	URL string `yaml:"url,omitempty"`
	// The credentials that Alertmanager must send: a bearer token, or a user with a password, of at least 16 characters,
	// or a client certificate. Required if other machines can reach listen.api.
	Auth authFile `yaml:"auth,omitempty"`
}

type authFile struct {
	// The file that holds the bearer token.
	BearerTokenFile string `yaml:"bearer_token_file,omitempty"`
	// The environment variable that holds the bearer token.
	BearerTokenEnv string `yaml:"bearer_token_env,omitempty"`
	// The user's name for basic authentication.
	Username string `yaml:"username,omitempty"`
	// The file that holds the password.
	PasswordFile string `yaml:"password_file,omitempty"`
	// The environment variable that holds the password.
	PasswordEnv string `yaml:"password_env,omitempty"`
	// The names in client certificates that can post alerts: a common name, a DNS name, a URI or an email address.
	// Requires listen.tls.api.client_ca_file, and is required with it if there is no token and no password; with one, both
	// are.
	ClientNames []string `yaml:"client_names,omitempty"`
}

type kubernetesFile struct {
	// The path of a kubeconfig. Empty: the service account of the pod that the bot runs in.
	Kubeconfig string `yaml:"kubeconfig,omitempty"`
	// The kubeconfig's context. Empty: its current context.
	Context string `yaml:"context,omitempty"`
}

type slackFile struct {
	// How clicks and commands arrive: socket, through connections that the bot opens to Slack, or http, where Slack sends
	// them to listen.slack. Default socket.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=socket,enum=http,default=socket"`
	// The ID of the channel, such as C0123456789. A pool can set its own.
	Channel string `yaml:"channel"`
	// Whether replies that ask for a decision show in the channel, too, and not only in the thread. Default false.
	Broadcast bool `yaml:"broadcast,omitempty" jsonschema:"default=false"`
	// When new incidents of a channel are gathered in one message, a digest.
	Storm *stormFile `yaml:"storm,omitempty"`
	// The ID of the workspace whose clicks are accepted, such as T0123.
	Team string `yaml:"team,omitempty"`
	// The ID of the organization whose clicks are accepted, for an app that is installed organization-wide.
	Enterprise string `yaml:"enterprise,omitempty"`
	// The ID of the app whose clicks are accepted, such as A0123.
	AppID string `yaml:"app_id,omitempty"`
	// The environment variable that holds the bot token (xoxb-...).
	TokenEnv string `yaml:"token_env,omitempty"`
	// The file that holds the bot token.
	TokenFile string `yaml:"token_file,omitempty"`
	// The environment variable that holds the app-level token (xapp-...), for mode socket.
	AppTokenEnv string `yaml:"app_token_env,omitempty"`
	// The file that holds the app-level token.
	AppTokenFile string `yaml:"app_token_file,omitempty"`
	// The environment variable that holds the signing secret, for mode http.
	SigningSecretEnv string `yaml:"signing_secret_env,omitempty"`
	// The file that holds the signing secret.
	SigningSecretFile string `yaml:"signing_secret_file,omitempty"`
	// The URL of Slack's Web API. Change it only for tests and proxies. Default https://slack.com/api/.
	APIURL string `yaml:"api_url,omitempty" jsonschema:"default=https://slack.com/api/"`
}

type stormFile struct {
	// The number of new incidents in a channel within the time that get a message each; further ones join a digest.
	// Critical ones always get a message. 0: every incident gets one. Default 5.
	Incidents *int `yaml:"incidents,omitempty" jsonschema:"minimum=0,default=5"`
	// The time in which new incidents are counted: 1m to 1h. Default 10m.
	Within *strictyaml.Duration `yaml:"within,omitempty" jsonschema:"default=10m"`
}

type notifyFile struct {
	// A name of its own, in lowercase letters, digits and hyphens. What was sent is stored under it.
	Name string `yaml:"name"`
	// cloudevents posts signed CloudEvents to any receiver, teams posts cards to a Microsoft Teams workflow.
	Kind string `yaml:"kind" jsonschema:"enum=cloudevents,enum=teams"`
	// The environment variable that holds the URL to post to. It counts as a secret.
	URLEnv string `yaml:"url_env,omitempty"`
	// The file that holds the URL.
	URLFile string `yaml:"url_file,omitempty"`
	// The environment variable that holds the secret for signatures: whsec_ and 24 to 64 bytes in base64. Required for
	// cloudevents.
	SecretEnv string `yaml:"secret_env,omitempty"`
	// The file that holds the secret.
	SecretFile string `yaml:"secret_file,omitempty"`
}

type accessFile struct {
	// The audience that Kubernetes tokens must carry: kubectl create token NAME --audience vllm-medic. Default vllm-medic.
	Audience string `yaml:"audience,omitempty" jsonschema:"default=vllm-medic"`
	// Also accept the tokens that people use with the API server itself, so that vllm-medic --kube works. Service accounts
	// and other accounts of Kubernetes always need the audience. Default false.
	ClusterTokens bool `yaml:"cluster_tokens,omitempty" jsonschema:"default=false"`
	// Also accept the client certificates of the cluster's users, so that vllm-medic --kube works with one. Requires
	// listen.tls.api, without client_ca_file. Default false.
	ClientCertificates bool `yaml:"client_certificates,omitempty" jsonschema:"default=false"`
	// The CA of these certificates, PEM. Default: the one that the API server publishes in the ConfigMap
	// kube-system/extension-apiserver-authentication.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`
	// The environment variable that holds a token for read-only access.
	ViewerTokenEnv string `yaml:"viewer_token_env,omitempty"`
	// The file that holds the token.
	ViewerTokenFile string `yaml:"viewer_token_file,omitempty"`
	// The Kubernetes user of each Slack user ID. With any entry, a click also needs that user's permission in Kubernetes,
	// and people without an entry can't decide in Slack.
	SlackUsers map[string]slackUserFile `yaml:"slack_users,omitempty"`
}

type slackUserFile struct {
	// The name, as Kubernetes knows it.
	User string `yaml:"user"`
	// The groups, as Kubernetes knows them.
	Groups []string `yaml:"groups,omitempty"`
}

type linksFile struct {
	// The URL of this bot's web pages. Empty: messages don't link to them.
	BaseURL string `yaml:"base_url,omitempty"`
	// The base URL of the runbook links, which has docs/playbooks. Default: the bot's own web pages, or without base_url
	// the public pages. none, or an empty value, disables the links.
	DocsURL *string `yaml:"docs_url,omitempty"`
	// The URL of Prometheus for users. Default: prometheus.url.
	PrometheusURL string `yaml:"prometheus_url,omitempty"`
	// The URL of Grafana for users, which has the shipped dashboards. Empty: no links to Grafana.
	GrafanaURL string `yaml:"grafana_url,omitempty"`
	// The URL of Alertmanager for users, for links to a new silence for an incident's alerts. Empty: no such links;
	// alertmanager.url is not used for them.
	AlertmanagerURL string `yaml:"alertmanager_url,omitempty"`
}

type playbooksFile struct {
	// Folders whose *.yaml and *.yml files are loaded after the built-in playbooks.
	Dirs []string `yaml:"dirs,omitempty"`
	// The range of the rates in the built-in queries. Default 5m, as in the shipped alert rules.
	Window strictyaml.Duration `yaml:"window,omitempty"`
	// The longest warm-up of a step, for tests only. Default: unlimited.
	MaxWarmUp strictyaml.Duration `yaml:"max_warm_up,omitempty"`
}

type drillFile struct {
	// What it plays; vllm-medic drill --list prints the scenarios.
	Scenario string `yaml:"scenario"`
	// The pool, whose approvers are asked.
	Pool string `yaml:"pool"`
	// When it starts, as a cron expression: minute, hour, day of the month, month, day of the week.
	Schedule string `yaml:"schedule"`
	// The time zone of the schedule, such as Europe/Berlin. Default UTC.
	TimeZone string `yaml:"time_zone,omitempty" jsonschema:"default=UTC"`
}

type tracingFile struct {
	// The URL of an OpenTelemetry collector's OTLP/HTTP receiver, without /v1/traces. It must not contain a password.
	Endpoint string `yaml:"endpoint"`
	// A bearer token, or other credentials for the Authorization header.
	Authorization *authorizationFile `yaml:"authorization,omitempty"`
	// The CA of the collector's certificate, PEM. Default: the system's CAs.
	CAFile string `yaml:"ca_file,omitempty"`
}
