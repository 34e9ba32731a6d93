package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/setup"
)

// SetupOptions say what Setup reads.
type SetupOptions struct {
	// Login is the cluster. Without a kubeconfig and a context of its own a pod's service account goes first.
	Login Login
	// Namespaces are those to look at; empty: all.
	Namespaces []string
	// Match are labels that the models' series must have.
	Match map[string]string
	Given setup.Given
	// Connection are the flags that said how to connect to Prometheus, for which the bot needs settings of its own.
	Connection []string
	// Progress is told how many of the models have been looked at; nil is told nothing.
	Progress func(done, all int)
}

// Setup proposes a configuration from what it reads of a Prometheus and a cluster; either may be missing. opts.Config
// has the Prometheus, if any, and the rates of opts.Catalog are those of the time that targets are compared with. It
// changes nothing: the cluster gets reads, reviews of permissions and dry runs. An error says that nothing could be
// read; a *setup.NothingError, that there is no model.
func Setup(ctx context.Context, opts Options, s SetupOptions) (setup.Proposal, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := setupReader{opts: opts, SetupOptions: s}
	f := setup.Found{At: opts.Now(), Given: s.Given}
	if err := r.readPrometheus(ctx, &f); err != nil {
		return setup.Proposal{}, err
	}
	if err := r.readCluster(ctx, &f); err != nil {
		return setup.Proposal{}, err
	}
	candidates, notes := setup.Candidates(f)
	r.around(ctx, &f, candidates)
	answers := make([]setup.Answers, len(candidates))
	turn, done := make(chan struct{}, modelsAtOnce), make(chan struct{}, len(candidates))
	var wg rescue.Group
	for i, c := range candidates {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn; done <- struct{}{} }()
			answers[i] = r.answers(ctx, c)
		})
	}
	for i := range candidates {
		r.tell(i, len(candidates))
		<-done
	}
	r.tell(len(candidates), len(candidates))
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return setup.Proposal{}, err
	}
	return setup.Propose(f, candidates, answers, notes)
}

// setupReader reads for Setup. The parts that there is nobody to ask are nil.
type setupReader struct {
	SetupOptions

	opts      Options
	collector *evidence.Collector
	kube      *cluster.Reader
	knobs     *actions.DryRun
	// routes and limits are by namespace.
	routes map[string][]cluster.Route
	limits map[string][]incident.ThrottleKnob
}

func (r *setupReader) tell(done, all int) {
	if r.Progress != nil {
		r.Progress(done, all)
	}
}

// readPrometheus lists the models and their engines.
func (r *setupReader) readPrometheus(ctx context.Context, f *setup.Found) error {
	if r.opts.Config.Prometheus.URL == "" {
		return nil
	}
	parts, err := newClients(r.opts.Config, r.opts, nil)
	if err != nil {
		return err
	}
	r.collector = parts.collector
	f.Prometheus = setup.Prometheus{
		Asked: true, URL: r.opts.Config.Prometheus.URL, Headers: r.opts.Config.Prometheus.Headers,
		Params: r.opts.Config.Prometheus.ExtraParams, Connection: r.Connection,
	}
	models, err := r.collector.Models(ctx, r.Match)
	if err != nil {
		return err
	}
	f.Prometheus.Rules = surveyRules(ctx, r.collector).Text
	for _, m := range models {
		if !r.wanted(m.Labels) {
			continue
		}
		one := setup.Model{
			Name: m.Name, ModelName: m.ModelName(), Labels: m.Labels, Gone: m.Gone, LastSeen: m.LastSeen, Overlaps: m.Overlaps,
		}
		if !m.Gone && len(m.Labels) > 0 {
			engines, metric, err := r.collector.Engines(ctx, m)
			one.Metric = metric
			if err != nil {
				one.Unread = err.Error()
			}
			for _, e := range engines {
				one.Engines = append(one.Engines, setup.Engine{Labels: e.Labels, Namespace: e.Namespace, Pod: e.Pod})
			}
		}
		f.Models = append(f.Models, one)
	}
	return nil
}

// wanted says whether series are of a namespace that is looked at. Those that name none are.
func (r *setupReader) wanted(labels map[string]string) bool {
	for _, name := range []string{"exported_namespace", "namespace", "kubernetes_namespace"} {
		if v := labels[name]; v != "" {
			return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, v)
		}
	}
	return true
}

// config is how the cluster is asked, and what it is called. Where none is named and none is found, missing says so.
func (r *setupReader) config() (rc *rest.Config, name, missing string, err error) {
	if !r.Login.named() {
		if rc, err := rest.InClusterConfig(); err == nil {
			return rc, "the service account of this pod", "", nil
		}
	}
	name, rc, err = r.Login.config()
	switch {
	case err == nil:
		return rc, "context " + name, "", nil
	case r.Login.named() || r.collector == nil:
		return nil, "", "", fmt.Errorf("kubernetes: %w", err)
	}
	return nil, "", err.Error(), nil
}

// named says that somebody said which cluster is meant.
func (l Login) named() bool { return l.Kubeconfig != "" || l.Context != "" }

// readCluster lists the pods that run vLLM. A cluster that does not answer is an error where it is named, or where
// there is nothing else to read.
func (r *setupReader) readCluster(ctx context.Context, f *setup.Found) error {
	rc, name, missing, err := r.config()
	if err != nil {
		return err
	}
	if f.Kubernetes = (setup.Kubernetes{Asked: rc != nil, Name: name, Missing: missing}); rc == nil {
		return nil
	}
	if r.kube, err = cluster.New(rc); err != nil {
		return err
	}
	registry, err := actions.New(actions.Config{}, rc, r.opts.Logger)
	if err != nil {
		return err
	}
	r.knobs = registry.DryRun()
	servers, err := r.servers(ctx, f)
	switch {
	case err == nil:
	case r.collector == nil, errors.Is(err, incident.ErrUnanswered) && r.Login.named():
		return err
	default:
		f.Kubernetes = setup.Kubernetes{Missing: err.Error()}
		r.kube, r.knobs = nil, nil
		return nil
	}
	for _, s := range servers {
		one := setup.Server{
			Namespace: s.Namespace, Pod: s.Pod, IP: s.IP, Labels: s.Labels, Owners: s.Owners, Containers: s.Containers,
			Guessed: s.Guessed, ModelNames: s.ModelNames, Scaler: s.Scaler,
		}
		if s.Unscaled != nil {
			one.Unscaled = s.Unscaled.Error()
		}
		if s.Unfollowed != nil {
			one.Unfollowed = s.Unfollowed.Error()
		}
		f.Servers = append(f.Servers, one)
	}
	return nil
}

// servers lists the pods of all namespaces, or where that may not be done, those of the namespaces that Prometheus
// names.
func (r *setupReader) servers(ctx context.Context, f *setup.Found) ([]cluster.Server, error) {
	type address struct{ namespace, pod string }
	pods, ips, namespaces := map[address]bool{}, map[string]bool{}, []string{}
	for _, m := range f.Models {
		for _, e := range m.Engines {
			pods[address{e.Namespace, e.Pod}] = true
			if host, _, err := net.SplitHostPort(e.Labels["instance"]); err == nil && e.Pod == "" {
				ips[host] = true
			}
			if e.Namespace != "" && !slices.Contains(namespaces, e.Namespace) {
				namespaces = append(namespaces, e.Namespace)
			}
		}
	}
	also := func(namespace, pod, ip string) bool { return pods[address{namespace, pod}] || ip != "" && ips[ip] }
	got, err := r.kube.Servers(ctx, r.Namespaces, also)
	if err == nil || len(r.Namespaces) > 0 || len(namespaces) == 0 || errors.Is(err, incident.ErrUnanswered) {
		return got, err
	}
	f.Kubernetes.Unread = append(f.Kubernetes.Unread, err.Error()+"; only the namespaces that Prometheus names were read")
	return r.kube.Servers(ctx, namespaces, also)
}

// around reads what is in front of the candidates, and where Prometheus is.
func (r *setupReader) around(ctx context.Context, f *setup.Found, candidates []setup.Candidate) {
	if r.kube == nil {
		return
	}
	unread := func(err error) {
		if err != nil && !slices.Contains(f.Kubernetes.Unread, err.Error()) {
			f.Kubernetes.Unread = append(f.Kubernetes.Unread, err.Error())
		}
	}
	services, err := r.kube.Prometheuses(ctx, nil)
	if err != nil && len(r.Namespaces) > 0 {
		services, err = r.kube.Prometheuses(ctx, r.Namespaces)
	}
	unread(err)
	for _, s := range services {
		f.Prometheus.Services = append(f.Prometheus.Services, s.URL())
		f.Prometheus.Label = s.Label
	}
	selections, err := r.kube.Selections(ctx)
	if err != nil {
		f.Prometheus.Unselected = err.Error()
	}
	for _, s := range selections {
		f.Prometheus.Selections = append(f.Prometheus.Selections,
			setup.Selection{Name: s.Namespace + "/" + s.Name, Labels: s.Labels, But: s.But})
	}
	r.routes, r.limits = map[string][]cluster.Route{}, map[string][]incident.ThrottleKnob{}
	for _, c := range candidates {
		namespace := c.Namespace()
		if _, known := r.routes[namespace]; known || namespace == "" {
			continue
		}
		r.routes[namespace], err = r.kube.Routes(ctx, namespace)
		unread(err)
		r.limits[namespace], err = r.knobs.Throttles(ctx, namespace)
		unread(err)
	}
}

// answers reads what a pool of the candidate would be like.
func (r *setupReader) answers(ctx context.Context, c setup.Candidate) setup.Answers {
	var out setup.Answers
	out.Profiles, out.Unread = r.lastDay(ctx, c)
	if r.kube == nil || !c.Workload.Sure {
		return out
	}
	out.Routes = routesTo(r.routes[c.Namespace()], c.Servers)
	pool := c.Pool()
	if at := setup.RouteOf(out.Routes); at.Sure {
		pool.HTTPRoute = at.Value
	}
	pool.Knobs.Replicas = &incident.IntKnob{Min: 1, Max: setup.Most}
	// Where nobody can say who scales it, asking for the knob says why.
	if at, err := r.knobs.Autoscaler(ctx, pool); err == nil {
		pool.Autoscaler, out.Autoscaler = at, at
	}
	out.Knobs = append(out.Knobs, r.ask(ctx, pool, incident.StepReplicas))
	for _, row := range incident.EngineArguments() {
		out.Knobs = append(out.Knobs, r.askArgument(ctx, pool, row))
	}
	for _, limit := range r.limits[c.Namespace()] {
		at := limit
		at.Min, at.Max = 1, setup.Most
		pool.Knobs.Throttle = &at
		a := r.ask(ctx, pool, incident.StepThrottle)
		a.Throttle = limit
		out.Knobs = append(out.Knobs, a)
	}
	return out
}

// ask asks for a small step of a knob, as a dry run.
func (r *setupReader) ask(ctx context.Context, pool incident.Pool, kind incident.StepKind) setup.KnobAnswer {
	out := setup.KnobAnswer{Kind: kind}
	step, err := smallStep(ctx, r.knobs.Propose, pool, kind)
	switch {
	case err == nil:
		out.Step, out.Owner = seen(step)
	case !errors.As(err, &out.Refused):
		out.Failed = err.Error()
	}
	return out
}

// seen is a step without what concerns only whoever asked for it, and what is said of its owner.
func seen(step incident.Step) (out *incident.Step, owner string) {
	step.Guardrails = slices.DeleteFunc(slices.Clone(step.Guardrails), func(g incident.Guardrail) bool {
		if g.Name == actions.OwnershipGuard && g.Verdict != incident.GuardRefuse {
			owner = present.Guardrail(g)
			return true
		}
		return g.Name == actions.RightsGuard
	})
	return &step, owner
}

// askArgument asks for a step of an engine argument; where there is none, whether there would be one if a person
// confirmed what vLLM often uses.
func (r *setupReader) askArgument(
	ctx context.Context, pool incident.Pool, row incident.EngineArgument,
) setup.KnobAnswer {
	with := func(knob incident.ArgumentKnob) setup.KnobAnswer {
		knob.Min, knob.Max = 1, setup.Most
		pool.Knobs.Arguments = incident.ArgumentKnobs{row.Kind: &knob}
		return r.ask(ctx, pool, row.Kind)
	}
	out := with(incident.ArgumentKnob{})
	if out.Refused == nil || out.Refused.Cause != incident.CauseOther {
		return out
	}
	var prefill *bool
	if row.ChunkedPrefill {
		prefill = new(true)
	}
	for _, assumed := range []incident.ArgumentKnob{
		{ChunkedPrefill: prefill}, {Default: setup.AssumedDefault, ChunkedPrefill: prefill}, {Default: setup.AssumedDefault},
	} {
		if got := with(assumed); got.Step != nil {
			out.Assumed, out.Worked = &assumed, got.Step.Worked
			break
		}
	}
	return out
}

// lastDay holds the day against every profile. unread says why it could not be read.
func (r *setupReader) lastDay(ctx context.Context, c setup.Candidate) (out []setup.Profile, unread string) {
	if r.collector == nil {
		return nil, "Prometheus was not read"
	}
	pool := c.Pool()
	ev := r.collector.Collect(ctx, pool, r.opts.Catalog.TargetSignals(), evidence.CollectOptions{NoCluster: true})
	for _, reading := range ev.Readings {
		unread = cmp.Or(unread, reading.Error)
	}
	for _, name := range r.opts.Catalog.ProfileNames() {
		slo, _ := r.opts.Catalog.Profile(name)
		targets, _ := r.opts.Catalog.AgainstTargets(ev, slo)
		out = append(out, setup.Profile{SLO: slo, Targets: targets})
	}
	return out, unread
}

// routesTo are the routes that lead to all of the pods.
func routesTo(all []cluster.Route, pods []setup.Server) []setup.Route {
	var out []setup.Route
	for _, r := range all {
		at := slices.IndexFunc(r.Backends, func(b cluster.Backend) bool {
			return len(pods) > 0 && !slices.ContainsFunc(pods, func(p setup.Server) bool {
				return p.Namespace != b.Namespace || !b.Selected(p.Labels)
			})
		})
		if at >= 0 {
			out = append(out, setup.Route{RouteRef: r.RouteRef, By: r.Backends[at].Kind + " " + r.Backends[at].Name})
		}
	}
	return out
}
