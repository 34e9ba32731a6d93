package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// Policies is where the traffic policies are.
var Policies = schema.GroupVersionResource{
	Group: "gateway.envoyproxy.io", Version: "v1alpha1", Resource: "backendtrafficpolicies",
}

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// Definition is the CustomResourceDefinition of the policies, YAML.
//
//go:embed definition.yaml
var Definition []byte

// Limit is Envoy's limit where a policy sets none.
const Limit = 1024

// Options are what a gateway is made of.
type Options struct {
	// Name is that of the Gateway, and Route that of the one HTTPRoute on it; both are in Namespace.
	Namespace, Name, Route string
	// Now is the time of the cluster; the machine's when nil.
	Now func() time.Time
	// SetLimit is told how many requests may be in flight. It is called from one goroutine at a time, and only when that
	// changes.
	SetLimit func(n int) error
	Logger   *slog.Logger
}

// Gateway acts on the policies of a server. Step and Run must not be called at one time.
type Gateway struct {
	opts   Options
	server *kubeapi.Server
	limit  int64
}

// New makes the server serve traffic policies, and returns a gateway that has looked at none yet.
func New(server *kubeapi.Server, opts Options) (*Gateway, error) {
	if opts.SetLimit == nil {
		return nil, errors.New("gateway: something has to be limited: set SetLimit")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(Definition, &o.Object); err != nil {
		return nil, fmt.Errorf("gateway: read the definition of traffic policies: %w", err)
	}
	g := &Gateway{opts: opts, server: server}
	return g, kubeapi.Create(g.hand(), definitions, &o)
}

// Run acts on each change until the context ends, which is no error. What could not be done is logged and tried again
// at the next change.
func (g *Gateway) Run(ctx context.Context) {
	changed := g.server.Changed()
	for {
		if err := g.Step(); err != nil {
			g.opts.Logger.ErrorContext(ctx, "the simulated gateway could not act", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// Step applies the policies as they are now, and says in their status what became of them. Of several for the route the
// oldest counts.
func (g *Gateway) Step() error {
	all, err := kubeapi.All[policy](g.hand(), Policies)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p *policy) bool { return !g.mine(p) })
	slices.SortStableFunc(all, func(a, b *policy) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	limit, errs := int64(Limit), []error(nil)
	for i, p := range all {
		v := verdict{status: metav1.ConditionTrue, reason: "Accepted", message: "Policy has been accepted."}
		switch n, set, err := p.parallel(); {
		case err != nil:
			errs = append(errs, err)
			continue
		case i > 0:
			v = verdict{
				status: metav1.ConditionFalse, reason: "Conflicted",
				message: fmt.Sprintf("Unable to target HTTPRoute %s, another BackendTrafficPolicy has already attached to it",
					g.opts.Route),
			}
		case set && n == 0:
			v = verdict{
				status: metav1.ConditionFalse, reason: "Invalid",
				message: "The simulated gateway can't close a route: set at least 1",
			}
		case set:
			limit = n
		}
		errs = append(errs, g.note(p, v))
	}
	return errors.Join(append(errs, g.apply(limit))...)
}

// apply sets the limit when it has changed.
func (g *Gateway) apply(limit int64) error {
	if limit == g.limit {
		return nil
	}
	if err := g.opts.SetLimit(int(limit)); err != nil {
		return fmt.Errorf("gateway: limit to %d parallel requests: %w", limit, err)
	}
	g.limit = limit
	return nil
}

// hand is that of the field manager who writes the status.
func (g *Gateway) hand() kubeapi.Hand { return g.server.As("envoy-gateway") }

// policy is what is read of a BackendTrafficPolicy. The rest of its specification is kept.
type policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   map[string]any `json:"spec"`
	Status policyStatus   `json:"status,omitzero"`
}

type policyStatus struct {
	Ancestors []ancestor `json:"ancestors"`
}

// ancestor is what one gateway says of the policy (Gateway API, PolicyAncestorStatus).
type ancestor struct {
	AncestorRef    ancestorRef        `json:"ancestorRef"`
	ControllerName string             `json:"controllerName"`
	Conditions     []metav1.Condition `json:"conditions"`
}

type ancestorRef struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

const routes = "gateway.networking.k8s.io"

// mine says whether a policy is for the route.
func (g *Gateway) mine(p *policy) bool {
	refs, _, err := unstructured.NestedSlice(p.Spec, "targetRefs")
	return err == nil && p.Namespace == g.opts.Namespace && slices.ContainsFunc(refs, func(r any) bool {
		at, ok := r.(map[string]any)
		return ok && at["group"] == routes && at["kind"] == "HTTPRoute" && at["name"] == g.opts.Route
	})
}

// parallel is how many requests a policy lets be in flight, and whether it says so.
func (p *policy) parallel() (n int64, set bool, err error) {
	n, set, err = unstructured.NestedInt64(p.Spec, "circuitBreaker", "maxParallelRequests")
	if err != nil {
		err = fmt.Errorf("gateway: read the limit of BackendTrafficPolicy %s/%s: %w", p.Namespace, p.Name, err)
	}
	return n, set, err
}

// verdict is what became of a policy.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

// note writes what became of a policy, for the specification that was looked at.
func (g *Gateway) note(p *policy, v verdict) error {
	return kubeapi.Change(g.hand(), Policies, "status", p, func(now *policy) error {
		if now.Generation != p.Generation {
			return nil // it changed in this moment: the next step sees it
		}
		next := ancestor{
			AncestorRef:    ancestorRef{Group: routes, Kind: "Gateway", Namespace: g.opts.Namespace, Name: g.opts.Name},
			ControllerName: "gateway.envoyproxy.io/gatewayclass-controller",
			Conditions: []metav1.Condition{{
				Type: "Accepted", Status: v.status, Reason: v.reason, Message: v.message, ObservedGeneration: now.Generation,
				LastTransitionTime: metav1.NewTime(g.opts.Now().UTC().Truncate(time.Second)),
			}},
		}
		if len(now.Status.Ancestors) == 1 && len(now.Status.Ancestors[0].Conditions) == 1 {
			was := now.Status.Ancestors[0].Conditions[0]
			if was.Status == v.status {
				next.Conditions[0].LastTransitionTime = was.LastTransitionTime
			}
			if equality.Semantic.DeepEqual(now.Status.Ancestors[0], next) {
				return nil
			}
		}
		now.Status.Ancestors = []ancestor{next}
		return nil
	})
}
