package config

import (
	"net/netip"
	"time"

	promconfig "github.com/prometheus/common/config"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// Config is a configuration that holds together. Only Load makes one.
type Config struct {
	// File is the path that it was loaded from, as it was given.
	File   string
	Listen Listen
	// StoreURL may hold a password. StoreFile has it as it is now; nil unless store.url_file names a file.
	StoreURL   Secret
	StoreFile  *reread.Source[string]
	Prometheus Prometheus
	Webhook    Webhook
	// Kubernetes is nil when nothing may be changed.
	Kubernetes *Kubernetes
	// Slack is nil when messages go to the log.
	Slack *Slack
	// Sinks are shown every incident, besides Slack or the log.
	Sinks     []Sink
	Access    Access
	Mode      incident.Mode
	Policy    policy.Settings
	Timing    incident.Timing
	Links     Links
	Playbooks Playbooks
	Pools     []incident.Pool
	// Drills start by the clock.
	Drills []Drill
	// Tracing is nil when no traces are made.
	Tracing *Tracing
	// Files are all that were read and may change while the bot runs.
	Files *reread.Set
}

// Listen holds the addresses of the listeners. TLS is by listener: "api", "ops", "slack".
type Listen struct {
	API, Ops, Slack string
	TLS             map[string]TLS
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For says where a request came from; none: nobody's.
	TrustedProxies []netip.Prefix
}

// TLS holds the files of one listener.
type TLS struct{ CertFile, KeyFile, ClientCAFile string }

// Prometheus says where and how to ask.
type Prometheus struct {
	URL  string
	HTTP promconfig.HTTPClientConfig
	// Refs are the secrets that HTTP names by references.
	Refs              Refs
	Headers           map[string]string
	ExtraParams       map[string]string
	Timeout, Deadline time.Duration
	Concurrency       int
}

// Kubernetes says which cluster.
type Kubernetes struct{ Kubeconfig, Context string }

// Slack says which workspace, channel and app. Its secrets never show in text.
type Slack struct {
	// Socket says that clicks come through connections that the bot opens (Socket Mode), and not over HTTP.
	Socket bool
	// Storm is the rate above which new incidents of a channel are gathered in a digest.
	Storm incident.Storm
	// Broadcast says that replies which ask for a decision show in the channel, too.
	Broadcast                                bool
	Channel, Team, Enterprise, AppID, APIURL string
	// Token is always there, AppToken in Socket Mode, SigningSecret over HTTP.
	Token, AppToken, SigningSecret Secret
}

// Access says who may read and decide over HTTP.
type Access struct {
	Audience    string
	ViewerToken Secret
	// ClusterTokens accepts the tokens that people use with the API server itself.
	ClusterTokens bool
	// ClientCertificates accepts the certificates of the cluster's users, on the listener api. ClientCAFile has the
	// authority that signs them; empty: the one that the API server publishes.
	ClientCertificates bool
	ClientCAFile       string
	// SlackUsers are the Kubernetes users of people in Slack, by the id there; empty: nobody is mapped, nor needs to be.
	SlackUsers map[string]KubernetesUser
}

// KubernetesUser is somebody as Kubernetes knows them.
type KubernetesUser struct {
	Name   string
	Groups []string
}

// Links are the addresses for links in messages; empty ones make no link. None holds a password.
type Links struct {
	BaseURL, PrometheusURL, GrafanaURL, AlertmanagerURL string
	// DocsURL is where the runbooks are; empty where nothing is said, or where NoRunbooks says that there are none.
	DocsURL    string
	NoRunbooks bool
}

// Runbooks says where messages find the runbooks: below the address of documents, or below that of the bot's own pages,
// which have the built-in ones. The public documents stand in where people cannot reach these pages. Both are empty
// where no message is to link to them.
func (l Links) Runbooks() (docs, pages string) {
	switch {
	case l.NoRunbooks:
		return "", ""
	case l.DocsURL != "":
		return l.DocsURL, ""
	case l.BaseURL != "":
		return "", l.BaseURL
	}
	return PublicDocs, ""
}

// Playbooks says where more playbooks are, the window of the built-in rates, and the longest warm-up of a step (0: no
// bound).
type Playbooks struct {
	Dirs      []string
	Window    time.Duration
	MaxWarmUp time.Duration
}
