package setup

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Found is what was read. Nothing in it is a secret's value.
type Found struct {
	At         time.Time
	Prometheus Prometheus
	Kubernetes Kubernetes
	// Models are those that Prometheus has metrics of, Servers the pods that seem to run vLLM.
	Models  []Model
	Servers []Server
	// Given are the answers that a person gave beforehand.
	Given Given
}

// Given are answers to what nobody can read. Each is empty where nobody gave it.
type Given struct {
	// SlackChannel, SlackTeam and SlackApp are IDs (C..., T..., A...), all of them or none.
	SlackChannel, SlackTeam, SlackApp string
	// Approvers are IDs of Slack users (U...) and user groups (S...).
	Approvers []string
	// WebhookTokenFile is the file with the token that Alertmanager sends.
	WebhookTokenFile string
}

// Prometheus is what was asked, and what answered.
type Prometheus struct {
	// Asked says that there was one to ask; URL is its address.
	Asked bool
	URL   string
	// Rules says which alert rules for vLLM are loaded; empty where nobody was asked.
	Rules string
	// Services are the addresses within the cluster at which one was found, and Label how.
	Services []string
	Label    string
	// Selections are what those of the Prometheus operator load; Unselected says why that is not known.
	Selections []Selection
	Unselected string
	// Headers and Params are sent with every query. Connection are the flags that said how to connect beyond that.
	Headers, Params map[string]string
	Connection      []string
}

// Kubernetes is which cluster was asked, and what of it could not be read.
type Kubernetes struct {
	// Asked says that there was one to ask; Name is "context prod", or "the service account of this pod".
	Asked bool
	Name  string
	// Missing says why there was none to ask.
	Missing string
	// Unread says what could not be read, and why.
	Unread []string
}

// Model is a served model that Prometheus has metrics of.
type Model struct {
	// Name is unique; ModelName is what vLLM itself calls it, empty where its series do not say.
	Name, ModelName string
	// Labels are matchers that select its series, Metric is what one of them is called.
	Labels map[string]string
	Metric string
	// Engines are its series now. Unread says why they are not known.
	Engines []Engine
	Unread  string
	// Gone says that it had series in the last hour and has none now.
	Gone     bool
	LastSeen time.Time
	// Overlaps are other models whose series have all of Labels too.
	Overlaps []string
}

// Engine is one series of a model.
type Engine struct {
	Labels         map[string]string
	Namespace, Pod string
}

// Server is a pod that seems to run vLLM, or that the series of a model name.
type Server struct {
	Namespace, Pod, IP string
	Labels             map[string]string
	// Owners are the nearest first, the top one last; Unfollowed says why those above are not known.
	Owners     []incident.WorkloadRef
	Unfollowed string
	// Scaler is the object by which the operator above lets the pod's workload be scaled; Unscaled says why it is not
	// known whether there is one.
	Scaler   incident.WorkloadRef
	Unscaled string
	// Containers are those that seem to run vLLM; with Guessed they are all of the pod's, because none does.
	Containers []string
	Guessed    bool
	ModelNames []string
}

// Guess is a value with the reason for it. One that is not Sure is no setting yet.
type Guess[T any] struct {
	Value T
	Sure  bool
	// Why says from what it was taken. Question is what a person has to say; empty where nothing is open.
	Why, Question string
	// Others are further values that it could be.
	Others []T
}
