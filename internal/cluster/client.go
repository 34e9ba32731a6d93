package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// PodAddress is a pod and the ports that its containers declare.
type PodAddress struct {
	Namespace, Name string
	Ports           []int32
}

// kubeQPS and kubeBurst leave room for some collections at one time; client-go's default of 5 would queue a single one.
const (
	kubeQPS     = 40
	kubeBurst   = 80
	kubeTimeout = 10 * time.Second
)

// remapEvery bounds how often the list of the cluster's kinds is read again for a kind that is not on it.
const remapEvery = time.Minute

// Reader reads a cluster. Its methods change nothing, may be called any number of times and at one time.
type Reader struct {
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	kinds   kinds
	// logPatience bounds the reading of one log: a node that does not answer must not hold up the rest.
	logPatience time.Duration
}

// New returns a Reader of a cluster. Nothing is asked yet; cfg is not changed. Its transport refuses every verb but
// GET.
func New(cfg *rest.Config) (*Reader, error) {
	if cfg == nil {
		return nil, errors.New("kubernetes: a client configuration is needed")
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst, cfg.Timeout = kubeQPS, kubeBurst, kubeTimeout
	cfg.RateLimiter = limiter{flowcontrol.NewTokenBucketRateLimiter(kubeQPS, kubeBurst)}
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return answer.OfKubernetes(readOnly{next: rt})
	})
	typed, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client: %w", err)
	}
	return &Reader{
		typed:       typed,
		dynamic:     dyn,
		kinds:       kinds{mapper: newMapper(typed.Discovery())},
		logPatience: logPatience,
	}, nil
}

func newMapper(d discovery.DiscoveryInterface) *restmapper.DeferredDiscoveryRESTMapper {
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
}

// readOnly makes "read verbs only" a property of the connection and not of our care.
type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return nil, fmt.Errorf("refused: this connection only reads, and %s %s would write", req.Method, req.URL.Path)
	}
	return r.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport below, to close its idle connections.
func (r readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }

// kinds maps kinds to resources, and looks again when a kind is new to it.
type kinds struct {
	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
	reset  time.Time
}

func (k *kinds) mapping(apiVersion, kind string) (*meta.RESTMapping, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, fmt.Errorf("apiVersion of %s: %w", kind, err)
	}
	m, err := k.mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
	if meta.IsNoMatchError(err) && k.forget() {
		m, err = k.mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
	}
	return m, err
}

// forget drops the known kinds, at most once per remapEvery.
func (k *kinds) forget() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.reset) < remapEvery {
		return false
	}
	k.reset = time.Now()
	k.mapper.Reset()
	return true
}

// readError says in words why something could not be read: which right is missing, or that the API did not answer,
// which is incident.ErrUnanswered.
func readError(err error, verb string, gr schema.GroupResource, namespace string) error {
	where := " in namespace " + namespace
	if namespace == "" {
		where = " in all namespaces"
	}
	var (
		ue       *url.Error
		tooLarge *answer.TooLargeError
	)
	words := fmt.Errorf("%s %s%s: %w", verb, gr, where, err)
	switch {
	case apierrors.IsForbidden(err):
		words = fmt.Errorf("the right to %s %s%s is missing: grant it to the bot", verb, gr, where)
	case apierrors.IsUnauthorized(err):
		words = fmt.Errorf("the Kubernetes API does not accept the bot's credentials (%s %s)", verb, gr)
	case errors.As(err, &tooLarge):
		words = fmt.Errorf("%s %s%s: %w", verb, gr, where, tooLarge)
	case errors.As(err, &ue):
		words = fmt.Errorf("the Kubernetes API could not be asked (%s %s%s): %w", verb, gr, where, ue.Err)
	}
	if kubeSilent(err) {
		return &incident.UnansweredError{Err: words}
	}
	return words
}

// mapError is readError for a kind that cannot be mapped to a resource.
func mapError(err error, apiVersion, kind string) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("this cluster has no kind %s in %s", kind, apiVersion)
	}
	cause := err
	if ue, ok := errors.AsType[*url.Error](err); ok {
		cause = ue.Err
	}
	if tooLarge, ok := errors.AsType[*answer.TooLargeError](err); ok {
		cause = tooLarge
	}
	words := fmt.Errorf("the Kubernetes API could not be asked for its kinds (%s %s): %w", apiVersion, kind, cause)
	if kubeSilent(err) {
		return &incident.UnansweredError{Err: words}
	}
	return words
}
