package config

// file is the configuration as people write it. The JSON Schema for editors (docs/config.schema.json) is made from it.
type file struct {
	Listen       listenFile               `yaml:"listen,omitempty" jsonschema:"description=Addresses of the three listeners"`
	Store        storeFile                `yaml:"store,omitempty" jsonschema:"description=Where incidents are kept"`
	Prometheus   prometheusFile           `yaml:"prometheus" jsonschema:"required,description=The Prometheus that scrapes vLLM"`
	Alertmanager alertmanagerFile         `yaml:"alertmanager,omitempty" jsonschema:"description=Who may post alerts"`
	Kubernetes   *kubernetesFile          `yaml:"kubernetes,omitempty" jsonschema:"description=The cluster of the pools; without it nothing is changed"`
	Slack        *slackFile               `yaml:"slack,omitempty" jsonschema:"description=Where people are asked; without it messages go to the log"`
	Access       accessFile               `yaml:"access,omitempty" jsonschema:"description=Who may read and decide over HTTP"`
	Mode         string                   `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=drill,enum=approve,enum=auto,description=How far the bot may go; the default is drill"`
	Policy       policyFile               `yaml:"policy,omitempty" jsonschema:"description=Limits for every pool"`
	Timing       timingFile               `yaml:"timing,omitempty" jsonschema:"description=How long the bot waits for what"`
	Approvers    map[string]approversFile `yaml:"approvers,omitempty" jsonschema:"description=Who may approve: by kind of step or default"`
	Links        linksFile                `yaml:"links,omitempty" jsonschema:"description=Addresses for links in messages"`
	Playbooks    playbooksFile            `yaml:"playbooks,omitempty" jsonschema:"description=Playbooks beside the built-in ones"`
	Pools        []poolFile               `yaml:"pools" jsonschema:"required,description=The served models"`
}

type listenFile struct {
	API   string             `yaml:"api,omitempty" jsonschema:"description=Alertmanager webhook and API and pages; default :8080"`
	Ops   string             `yaml:"ops,omitempty" jsonschema:"description=/metrics /healthz /readyz; default :8081"`
	Slack string             `yaml:"slack,omitempty" jsonschema:"description=Slack interactions in mode http; default :8082"`
	TLS   map[string]tlsFile `yaml:"tls,omitempty" jsonschema:"description=Certificates by listener: api or ops or slack"`
}

type tlsFile struct {
	CertFile     string `yaml:"cert_file"`
	KeyFile      string `yaml:"key_file"`
	ClientCAFile string `yaml:"client_ca_file,omitempty" jsonschema:"description=Clients must show a certificate of this authority"`
}

type storeFile struct {
	URL    string `yaml:"url,omitempty" jsonschema:"description=sqlite:///path or postgres://...; default sqlite:///var/lib/vllm-medic/medic.db"`
	URLEnv string `yaml:"url_env,omitempty" jsonschema:"description=Environment variable with the URL when it holds a password"`
}

type prometheusFile struct {
	URL         string            `yaml:"url" jsonschema:"required"`
	HTTPConfig  httpFile          `yaml:"http_config,omitempty"`
	Headers     map[string]string `yaml:"headers,omitempty" jsonschema:"description=Headers without secrets; for example X-Scope-OrgID"`
	ExtraParams map[string]string `yaml:"extra_params,omitempty" jsonschema:"description=Query parameters; for example partial_response=false for Thanos"`
	Timeout     duration          `yaml:"timeout,omitempty" jsonschema:"description=Of one query; default 10s"`
	Deadline    duration          `yaml:"deadline,omitempty" jsonschema:"description=Of all queries of one look; default 25s"`
	Concurrency int               `yaml:"concurrency,omitempty" jsonschema:"description=Queries at a time; default 10"`
}

type httpFile struct {
	BasicAuth     *basicAuthFile     `yaml:"basic_auth,omitempty"`
	Authorization *authorizationFile `yaml:"authorization,omitempty"`
	TLSConfig     *clientTLSFile     `yaml:"tls_config,omitempty"`
	ProxyURL      string             `yaml:"proxy_url,omitempty"`
}

type basicAuthFile struct {
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file,omitempty"`
	PasswordEnv  string `yaml:"password_env,omitempty"`
}

type authorizationFile struct {
	Type            string `yaml:"type,omitempty" jsonschema:"description=default Bearer"`
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	CredentialsEnv  string `yaml:"credentials_env,omitempty"`
}

type clientTLSFile struct {
	CAFile             string `yaml:"ca_file,omitempty"`
	CertFile           string `yaml:"cert_file,omitempty"`
	KeyFile            string `yaml:"key_file,omitempty"`
	ServerName         string `yaml:"server_name,omitempty"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify,omitempty"`
}

type alertmanagerFile struct {
	URL  string   `yaml:"url,omitempty"`
	Auth authFile `yaml:"auth,omitempty" jsonschema:"description=What Alertmanager must present: a bearer token or a user with a password"`
}

type authFile struct {
	BearerTokenFile string `yaml:"bearer_token_file,omitempty"`
	BearerTokenEnv  string `yaml:"bearer_token_env,omitempty"`
	Username        string `yaml:"username,omitempty"`
	PasswordFile    string `yaml:"password_file,omitempty"`
	PasswordEnv     string `yaml:"password_env,omitempty"`
}

type kubernetesFile struct {
	Kubeconfig string `yaml:"kubeconfig,omitempty" jsonschema:"description=Path; empty means in-cluster"`
	Context    string `yaml:"context,omitempty"`
}

type slackFile struct {
	Mode              string `yaml:"mode,omitempty" jsonschema:"enum=socket,enum=http"`
	Channel           string `yaml:"channel" jsonschema:"required,description=Channel id such as C0123456789"`
	Team              string `yaml:"team,omitempty" jsonschema:"description=Workspace id whose clicks are taken"`
	Enterprise        string `yaml:"enterprise,omitempty"`
	AppID             string `yaml:"app_id,omitempty" jsonschema:"description=The app whose clicks are taken"`
	TokenEnv          string `yaml:"token_env,omitempty"`
	TokenFile         string `yaml:"token_file,omitempty"`
	AppTokenEnv       string `yaml:"app_token_env,omitempty"`
	SigningSecretEnv  string `yaml:"signing_secret_env,omitempty"`
	SigningSecretFile string `yaml:"signing_secret_file,omitempty"`
	APIURL            string `yaml:"api_url,omitempty" jsonschema:"description=Only for tests and proxies; default https://slack.com/api/"`
}

type accessFile struct {
	Audience        string `yaml:"audience,omitempty" jsonschema:"description=Audience that Kubernetes tokens must carry; default vllm-medic"`
	ViewerTokenEnv  string `yaml:"viewer_token_env,omitempty" jsonschema:"description=A token that may read and nothing else"`
	ViewerTokenFile string `yaml:"viewer_token_file,omitempty"`
}

type policyFile struct {
	CoolDown      *duration `yaml:"cool_down,omitempty"`
	HourlyBudget  *int      `yaml:"hourly_budget,omitempty"`
	DailyBudget   *int      `yaml:"daily_budget,omitempty"`
	Automatic     []string  `yaml:"automatic,omitempty" jsonschema:"description=Kinds of steps that mode auto runs without asking"`
	AutomaticUndo bool      `yaml:"automatic_undo,omitempty" jsonschema:"description=Take a step back by itself when it made it worse or changed nothing"`
}

type timingFile struct {
	Sweep        duration `yaml:"sweep,omitempty"`
	Lease        duration `yaml:"lease,omitempty"`
	GroupWait    duration `yaml:"group_wait,omitempty"`
	Refresh      duration `yaml:"refresh,omitempty"`
	Watch        duration `yaml:"watch,omitempty"`
	Expire       duration `yaml:"expire,omitempty"`
	Retry        duration `yaml:"retry,omitempty"`
	GiveUp       duration `yaml:"give_up,omitempty"`
	RolloutPoll  duration `yaml:"rollout_poll,omitempty"`
	RolloutLimit duration `yaml:"rollout_limit,omitempty"`
	Settle       duration `yaml:"settle,omitempty"`
	VerifyEvery  duration `yaml:"verify_every,omitempty"`
	VerifyFor    duration `yaml:"verify_for,omitempty"`
	Hold         duration `yaml:"hold,omitempty"`
	Stale        duration `yaml:"stale,omitempty"`
}

type approversFile struct {
	Users  []string `yaml:"users,omitempty"`
	Groups []string `yaml:"groups,omitempty"`
	Count  int      `yaml:"count,omitempty"`
	Expire duration `yaml:"expire,omitempty"`
}

type linksFile struct {
	BaseURL       string `yaml:"base_url,omitempty" jsonschema:"description=Where people reach this bot's pages"`
	DocsURL       string `yaml:"docs_url,omitempty" jsonschema:"description=Where the runbook pages are"`
	PrometheusURL string `yaml:"prometheus_url,omitempty" jsonschema:"description=Where people reach Prometheus; default prometheus.url"`
}

type playbooksFile struct {
	Dirs      []string `yaml:"dirs,omitempty"`
	Window    duration `yaml:"window,omitempty" jsonschema:"description=Window of the built-in rates; default 5m"`
	MaxWarmUp duration `yaml:"max_warm_up,omitempty" jsonschema:"description=Longest warm-up of a step; only for rehearsals in which nothing real gets warm"`
}

type poolFile struct {
	Name      string                   `yaml:"name" jsonschema:"required"`
	Match     map[string]string        `yaml:"match,omitempty" jsonschema:"description=Labels of alerts that belong here"`
	Matchers  map[string]string        `yaml:"matchers,omitempty" jsonschema:"description=Put into every query"`
	Workload  *workloadFile            `yaml:"workload,omitempty"`
	SLO       sloFile                  `yaml:"slo,omitempty"`
	Channel   string                   `yaml:"channel,omitempty"`
	Mode      string                   `yaml:"mode,omitempty" jsonschema:"enum=observe,enum=drill,enum=approve,enum=auto"`
	Approvers map[string]approversFile `yaml:"approvers,omitempty"`
	Knobs     knobsFile                `yaml:"knobs,omitempty"`
}

type workloadFile struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Namespace  string `yaml:"namespace"`
	Name       string `yaml:"name"`
	Container  string `yaml:"container,omitempty"`
}

type knobsFile struct {
	Replicas            *intKnobFile  `yaml:"replicas,omitempty"`
	MaxNumBatchedTokens *intKnobFile  `yaml:"max_num_batched_tokens,omitempty"`
	Throttle            *throttleFile `yaml:"throttle,omitempty"`
}

type intKnobFile struct {
	Min     int64 `yaml:"min"`
	Max     int64 `yaml:"max"`
	MaxStep int64 `yaml:"max_step,omitempty"`
}

type throttleFile struct {
	Kind      string   `yaml:"kind" jsonschema:"enum=envoy-gateway"`
	Namespace string   `yaml:"namespace"`
	Name      string   `yaml:"name"`
	Field     string   `yaml:"field" jsonschema:"enum=maxParallelRequests,enum=requests"`
	Min       int64    `yaml:"min"`
	Max       int64    `yaml:"max"`
	LiftAfter duration `yaml:"lift_after,omitempty"`
}
