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
	// The cluster of the pools. Without this section nothing can be changed: the modes approve and auto need it.
	Kubernetes *kubernetesFile `yaml:"kubernetes,omitempty"`
	// Where people are asked. Without this section the messages go to the log and to the incident's JSON.
	Slack *slackFile `yaml:"slack,omitempty"`
	// Who may read and decide over HTTP, beside Slack.
	Access accessFile `yaml:"access,omitempty"`
	// How far the bot may go: observe proposes nothing, dry-run asks and changes nothing, approve asks and then changes,
	// auto may also run the kinds of steps that policy.automatic lists. Default dry-run.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=dry-run,enum=approve,enum=auto,default=dry-run"`
	// Limits for the steps of every pool.
	Policy policyFile `yaml:"policy,omitempty"`
	// How long the bot waits for what. The defaults suit five-minute rates and models that take minutes to load.
	Timing timingFile `yaml:"timing,omitempty"`
	// Who may approve, by kind of step (replicas, max_num_batched_tokens, throttle) or default. An empty list is nobody.
	Approvers map[string]approversFile `yaml:"approvers,omitempty"`
	// Addresses for the links in messages.
	Links linksFile `yaml:"links,omitempty"`
	// Playbooks beside the built-in ones.
	Playbooks playbooksFile `yaml:"playbooks,omitempty"`
	// The served models, one each.
	Pools []poolFile `yaml:"pools"`
}

type listenFile struct {
	// Alertmanager's webhook, the API and the pages. Default :8080.
	API string `yaml:"api,omitempty" jsonschema:"default=:8080"`
	// /metrics, /healthz and /readyz, without authentication. Default :8081.
	Ops string `yaml:"ops,omitempty" jsonschema:"default=:8081"`
	// Slack's clicks, in Slack mode http. Default :8082.
	Slack string `yaml:"slack,omitempty" jsonschema:"default=:8082"`
	// Certificates by listener: api, ops or slack. A listener that is not named speaks plain HTTP.
	TLS map[string]tlsFile `yaml:"tls,omitempty"`
}

type tlsFile struct {
	// The certificate chain, PEM.
	CertFile string `yaml:"cert_file"`
	// Its key, PEM.
	KeyFile string `yaml:"key_file"`
	// Clients must show a certificate of this authority. On the listener api it counts as authentication of the webhook.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`
}

type storeFile struct {
	// sqlite:///path for one bot, or postgres://user@host/database for several replicas. It must not hold a password.
	// Default sqlite:///var/lib/vllm-medic/medic.db.
	URL string `yaml:"url,omitempty" jsonschema:"default=sqlite:///var/lib/vllm-medic/medic.db"`
	// The environment variable that holds the URL, for one with a password. Not together with url.
	URLEnv string `yaml:"url_env,omitempty"`
}

type prometheusFile struct {
	// Its address, without /api/v1. It must not hold a password.
	URL string `yaml:"url"`
	// How to connect, as Prometheus itself writes it; secrets only by file or environment variable.
	HTTPConfig httpFile `yaml:"http_config,omitempty"`
	// Further headers, without secrets: X-Scope-OrgID for Mimir.
	Headers map[string]string `yaml:"headers,omitempty"`
	// Further query parameters: partial_response=false for Thanos.
	ExtraParams map[string]string `yaml:"extra_params,omitempty"`
	// How long one query may take. Default 10s.
	Timeout strictyaml.Duration `yaml:"timeout,omitempty"`
	// How long all queries of one look may take. Default 25s.
	Deadline strictyaml.Duration `yaml:"deadline,omitempty"`
	// How many queries run at a time, at most 20. Default 20.
	Concurrency int `yaml:"concurrency,omitempty" jsonschema:"minimum=0,maximum=20"`
}

type httpFile struct {
	// A user with a password.
	BasicAuth *basicAuthFile `yaml:"basic_auth,omitempty"`
	// A bearer token, or other credentials for the Authorization header.
	Authorization *authorizationFile `yaml:"authorization,omitempty"`
	// How to know the server, and how to be known.
	TLSConfig *clientTLSFile `yaml:"tls_config,omitempty"`
	// A proxy on the way: http, https, socks5 or socks5h. It must not hold a password.
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
	// The authority that signed the server's certificate, PEM. Default: those of the system.
	CAFile string `yaml:"ca_file,omitempty"`
	// The bot's own certificate, PEM.
	CertFile string `yaml:"cert_file,omitempty"`
	// Its key, PEM.
	KeyFile string `yaml:"key_file,omitempty"`
	// The name in the server's certificate, when it is not the one in the URL.
	ServerName string `yaml:"server_name,omitempty"`
	// Take any certificate. Whoever is on the way can then invent metrics.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify,omitempty"`
}

type alertmanagerFile struct {
	// Its address. Nothing is sent there yet.
	URL string `yaml:"url,omitempty"`
	// What Alertmanager must present: a bearer token, or a user with a password. It is needed where listen.api can be
	// reached from other machines.
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
}

type kubernetesFile struct {
	// The path of a kubeconfig. Empty: the service account of the pod that the bot runs in.
	Kubeconfig string `yaml:"kubeconfig,omitempty"`
	// The context in it. Empty: its current one.
	Context string `yaml:"context,omitempty"`
}

type slackFile struct {
	// How clicks arrive. Only http is built so far: Slack posts them to listen.slack.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=socket,enum=http"`
	// The id of the channel, such as C0123456789. A pool may name its own.
	Channel string `yaml:"channel"`
	// The id of the workspace whose clicks are taken, such as T0123.
	Team string `yaml:"team,omitempty"`
	// The id of the organisation whose clicks are taken, for an app that is installed in a whole organisation.
	Enterprise string `yaml:"enterprise,omitempty"`
	// The id of the app whose clicks are taken, such as A0123.
	AppID string `yaml:"app_id,omitempty"`
	// The environment variable that holds the bot token (xoxb-...).
	TokenEnv string `yaml:"token_env,omitempty"`
	// The file that holds the bot token.
	TokenFile string `yaml:"token_file,omitempty"`
	// The environment variable that holds the app token (xapp-...), for mode socket.
	AppTokenEnv string `yaml:"app_token_env,omitempty"`
	// The environment variable that holds the signing secret, for mode http.
	SigningSecretEnv string `yaml:"signing_secret_env,omitempty"`
	// The file that holds the signing secret.
	SigningSecretFile string `yaml:"signing_secret_file,omitempty"`
	// Another address of the Web API, for tests and proxies. Default https://slack.com/api/.
	APIURL string `yaml:"api_url,omitempty" jsonschema:"default=https://slack.com/api/"`
}

type accessFile struct {
	// The audience that Kubernetes tokens must carry: kubectl create token NAME --audience vllm-medic. Default vllm-medic.
	Audience string `yaml:"audience,omitempty" jsonschema:"default=vllm-medic"`
	// The environment variable that holds a token that may read and nothing else.
	ViewerTokenEnv string `yaml:"viewer_token_env,omitempty"`
	// The file that holds it.
	ViewerTokenFile string `yaml:"viewer_token_file,omitempty"`
}

type linksFile struct {
	// Where people reach this bot's pages. Empty: messages have no link to them.
	BaseURL string `yaml:"base_url,omitempty"`
	// The folder that has docs/playbooks, for the link to the runbook. Default: the public pages. none, or an empty text:
	// messages have no such link.
	DocsURL *string `yaml:"docs_url,omitempty" jsonschema:"default=https://github.com/vllm-medic/vllm-medic/blob/main"`
	// Where people reach Prometheus. Default: prometheus.url.
	PrometheusURL string `yaml:"prometheus_url,omitempty"`
}

type playbooksFile struct {
	// Folders whose *.yaml and *.yml files are read after the built-in playbooks.
	Dirs []string `yaml:"dirs,omitempty"`
	// The window of the rates in the built-in queries. Default 5m, as in the shipped alert rules.
	Window strictyaml.Duration `yaml:"window,omitempty"`
	// The longest warm-up of a step, for tests in which nothing real warms up. Default: no bound.
	MaxWarmUp strictyaml.Duration `yaml:"max_warm_up,omitempty"`
}
