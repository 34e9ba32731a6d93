package workloads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// Where the kinds are that are acted on.
var (
	podKind        = corev1.SchemeGroupVersion.WithResource("pods")
	nodeKind       = corev1.SchemeGroupVersion.WithResource("nodes")
	eventKind      = corev1.SchemeGroupVersion.WithResource("events")
	deploymentKind = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSetKind = appsv1.SchemeGroupVersion.WithResource("replicasets")
	autoscalerKind = autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
)

// The names under which the parts write, as Kubernetes' own do.
const (
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kubelet           = "kubelet"
)

// Run is one run of what is in a pod.
type Run struct {
	// Pod is the pod as it was when the run began. It must not be changed.
	Pod *corev1.Pod
	// Number counts the runs of the pod from 0; it is the number of restarts.
	Number int32
}

// ID tells runs apart.
type ID struct {
	Pod    types.UID
	Number int32
}

// ID is the run's.
func (r Run) ID() ID { return ID{r.Pod.UID, r.Number} }

// State is how a run is.
type State struct {
	// Ready says that it takes requests.
	Ready bool
	// Ended is how it ended by itself; nil while it goes on.
	Ended *End
}

// End is how a run ended.
type End struct {
	// Container is the one that ended; the pod's first when empty.
	Container string
	Code      int32
	// Reason is the kubelet's word for it: Error, OOMKilled, Completed.
	Reason string
}

// Fleet is what runs in the pods. Its methods are called from one goroutine at a time, in the order of what happens to
// a run, and must not wait.
type Fleet interface {
	// Started is told that a run has begun.
	Started(r Run)
	// Ready is told that the cluster sends requests to a run from now on, or no longer.
	Ready(id ID, ready bool)
	// Ending is told that a run was asked to end, and when it is ended by force.
	Ending(id ID, by time.Time)
	// Ended is told that nothing of a run is left.
	Ended(id ID)
	// State says how a run is. After Ending, one that has ended may go before its time.
	State(id ID) State
}

// Options are what a cluster is made of.
type Options struct {
	// Now is the time of the cluster, the server's as well; the machine's when nil.
	Now func() time.Time
	// Fleet is what runs in the pods.
	Fleet Fleet
	// Desired is how many replicas an autoscaler's metrics ask for, and why; nil when no metrics can be had, as where no
	// metrics server is installed. An autoscaler keeps its limits without them.
	Desired func(hpa *autoscalingv2.HorizontalPodAutoscaler, now int32) (n int32, why string, err error)
	Logger  *slog.Logger
}

// Cluster acts on the objects of a server. Step and Run must not be called at one time.
type Cluster struct {
	opts   Options
	server *kubeapi.Server

	runs    map[types.UID]*run
	address int
	// wanted are what autoscalers asked for lately, by their UID.
	wanted map[types.UID][]wish
	// told are the events that count up.
	told map[string]string
	// alike are the events that may be told as one.
	alike map[string]*similar
}

// New returns a cluster at rest. Nothing happens before Step or Run.
func New(server *kubeapi.Server, opts Options) (*Cluster, error) {
	if opts.Fleet == nil {
		return nil, errors.New("workloads: something has to run in the pods: set Fleet")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Cluster{
		opts: opts, server: server, runs: map[types.UID]*run{}, wanted: map[types.UID][]wish{}, told: map[string]string{},
		alike: map[string]*similar{},
	}, nil
}

// look is how often the state of runs is asked when nothing else happens.
const look = 200 * time.Millisecond

// Run acts until the context ends, which is no error. What could not be done is logged and tried again.
func (c *Cluster) Run(ctx context.Context) {
	changed := c.server.Changed()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		if err := c.Step(); err != nil {
			c.opts.Logger.ErrorContext(ctx, "the simulated cluster could not act", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again.C:
		}
	}
}

// rounds bounds how often all parts act in one Step before it counts as one that never comes to rest.
const rounds = 200

// Step acts until nothing changes any more as of now.
func (c *Cluster) Step() error {
	for range rounds {
		before := c.server.Version()
		if err := c.act(); err != nil {
			return err
		}
		if c.server.Version() == before {
			return nil
		}
	}
	return fmt.Errorf("workloads: not at rest after %d rounds", rounds)
}

// act lets each part look at everything once.
func (c *Cluster) act() error {
	var errs []error
	for _, part := range []func() error{
		c.collect, c.autoscale, c.rollOut, c.replicate, c.schedule, c.runPods,
	} {
		errs = append(errs, part())
	}
	return lasting(errs...)
}

// lasting joins errors without those that say that somebody else was faster: the next round sees what they did.
func lasting(errs ...error) error {
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
	})...)
}

func (c *Cluster) now() metav1.Time { return metav1.NewTime(c.opts.Now().UTC().Truncate(time.Second)) }

func (c *Cluster) manager() kubeapi.Hand { return c.server.As(controllerManager) }

// controlledBy are the objects of a list that another one controls.
func controlledBy[T any, P interface {
	*T
	metav1.Object
}](all []*T, owner metav1.Object) []*T {
	var out []*T
	for _, o := range all {
		if ref := metav1.GetControllerOf(P(o)); ref != nil && ref.UID == owner.GetUID() {
			out = append(out, o)
		}
	}
	return out
}
