package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

func (l *loader) pools(f file, cfg Config) []incident.Pool {
	shared := l.approvers("approvers", f.Approvers, nil, cfg)
	out := make([]incident.Pool, 0, len(f.Pools))
	if f.Pools == nil { // an empty list is said on purpose: a fresh install shows the alerts that come, with their pool
		l.at("pools", "is required; [] for none yet")
	}
	for n, p := range f.Pools {
		out = append(out, l.pool(fmt.Sprintf("pools[%d]", n), p, cfg, shared))
	}
	for n, a := range out {
		for m, b := range out[:n] {
			path := fmt.Sprintf("pools[%d]", n)
			if a.Name == b.Name {
				l.at(path+".name", "duplicate name %q (also pools[%d])", a.Name, m)
			}
			if incident.Ambiguous(a, b) {
				l.at(path+".match", "ambiguous with pools[%d] (%s): add a label to the match of one of the two", m,
					b.Name)
			}
			if x := a.Autoscaler; !x.IsZero() && x == b.Autoscaler && a.Workload.Namespace == b.Workload.Namespace {
				l.at(path+".autoscaler", "duplicate autoscaler %s (also pools[%d], %s); one object belongs to one pool", x, m,
					b.Name)
			}
			if sameObject(a.Workload, b.Workload) {
				l.at(path+".workload", "duplicate workload %s (also pools[%d])", a.Workload, m)
			}
			if s, t := a.Knobs.Throttle,
				b.Knobs.Throttle; s != nil && t != nil && s.Kind == t.Kind && s.Namespace == t.Namespace && s.Name == t.Name {
				l.at(path+".knobs.throttle", "duplicate throttle %s/%s (also pools[%d], %s); one object belongs to one pool",
					s.Namespace, s.Name, m, b.Name)
			}
		}
	}
	l.nobody(f, out)
	return out
}

// sameObject says whether two workloads are one object, whichever container is meant. Cool-down and budget are counted
// by pool, so an object must belong to one.
func sameObject(a, b incident.WorkloadRef) bool {
	a.Container, b.Container = "", ""
	return !a.IsZero() && a == b
}

func (l *loader) pool(path string, f poolFile, cfg Config,
	shared map[incident.StepKind]incident.Approvers,
) incident.Pool {
	p := incident.Pool{
		Name: f.Name, Match: f.Match, Matchers: f.Matchers, Channel: f.Channel, Mode: l.mode(path+".mode", f.Mode, cfg.Mode),
		SLO: l.slo(path+".slo", f.SLO), Approvers: shared,
	}
	l.needsCluster(cfg, path+".mode", f.Mode)
	l.slackID(path+".channel", f.Channel, channelID)
	if l.opts.DryRun && p.Mode != incident.ModeObserve {
		p.Mode = incident.ModeDryRun
	}
	switch n := utf8.RuneCountInString(f.Name); {
	case n == 0:
		l.at(path+".name", "is required")
	case n > maxPoolName:
		l.at(path+".name", "has %d characters; use at most %d, because every message and series has the name", n, maxPoolName)
	}
	if len(f.Match) == 0 && f.Workload == nil {
		l.at(path, "needs match labels or a workload, or no alert can match it")
	}
	if len(f.Matchers) == 0 {
		l.at(path+".matchers", "is required: without matchers every query would read all models")
	}
	l.matchers(path+".matchers", f.Matchers)
	l.literal(path+".match", f.Match)
	for kind, a := range l.approvers(path+".approvers", f.Approvers, shared, cfg) {
		own := map[incident.StepKind]incident.Approvers{}
		maps.Copy(own, p.Approvers)
		own[kind] = a
		p.Approvers = own
	}
	if f.Workload != nil {
		p.Workload = l.workload(path+".workload", *f.Workload)
	}
	if f.Autoscaler != nil {
		p.Autoscaler = l.autoscaler(path+".autoscaler", *f.Autoscaler, p.Workload)
	}
	if f.HTTPRoute != nil {
		p.HTTPRoute = l.route(path+".http_route", *f.HTTPRoute, cmp.Or(p.Workload.Namespace, f.Matchers["namespace"]))
	}
	p.Knobs = l.knobs(path+".knobs", f.Knobs, p.Workload)
	return p
}

func (l *loader) route(path string, f httpRouteFile, namespace string) incident.RouteRef {
	r := incident.RouteRef{Namespace: cmp.Or(f.Namespace, namespace), Name: f.Name}
	if r.Namespace == "" {
		l.at(path+".namespace", "is required: neither workload nor matchers name one")
	}
	if r.Name == "" {
		l.at(path+".name", "is required: the name of the HTTPRoute")
	}
	for key, value := range map[string]string{"namespace": r.Namespace, "name": r.Name} {
		// The gateway writes both into one text, apart by a slash.
		if strings.ContainsAny(value, "/ ") {
			l.at(path+"."+key, "%q is not the %s of an HTTPRoute", value, key)
		}
	}
	return r
}

func (l *loader) autoscaler(path string, f autoscalerFile, w incident.WorkloadRef) incident.AutoscalerRef {
	if w.IsZero() {
		l.at(path, "needs the pool's workload, which it scales")
	}
	if kinds := incident.AutoscalerKinds(); !slices.Contains(kinds, f.Kind) {
		l.at(path+".kind", "%s", strictyaml.NotThere("kind", f.Kind, kinds))
	}
	if f.Name == "" {
		l.at(path+".name", "is required: the name of the %s", cmp.Or(f.Kind, "autoscaler"))
	}
	return incident.AutoscalerRef{Kind: f.Kind, Name: f.Name}
}

func (l *loader) workload(path string, f workloadFile) incident.WorkloadRef {
	for _, x := range []struct{ name, value string }{
		{"apiVersion", f.APIVersion}, {"kind", f.Kind}, {"namespace", f.Namespace}, {"name", f.Name},
	} {
		if x.value == "" {
			l.at(path+"."+x.name, "is required")
		}
	}
	l.kind(path, f.APIVersion, f.Kind)
	return incident.WorkloadRef{
		APIVersion: f.APIVersion, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name,
		Container: f.Container,
	}
}

func (l *loader) slo(path string, f sloFile) incident.SLO {
	name := f.Profile
	if f.Inline != nil {
		name = f.Inline.Profile
		if name == "" {
			return f.Inline.apply(incident.SLO{})
		}
	}
	name = cmp.Or(name, "chat")
	slo, ok := l.opts.Profiles.Profile(name)
	if !ok {
		l.at(path, "%s", strictyaml.NotThere("profile", name, l.opts.Profiles.ProfileNames()))
	}
	if f.Inline != nil {
		return f.Inline.apply(slo)
	}
	return slo
}

// knobNames are the kinds of steps that the bot can run.
func knobNames() []string {
	var out []string
	for _, k := range incident.AllKnobs() {
		out = append(out, string(k.Kind))
	}
	return out
}

func (l *loader) knobs(path string, f knobsFile, w incident.WorkloadRef) incident.Knobs {
	k := incident.Knobs{
		Replicas:  l.intKnob(path+".replicas", f.Replicas),
		Arguments: incident.ArgumentKnobs{},
	}
	if (k.Replicas != nil || len(f.Arguments) > 0) && w.IsZero() {
		l.at(path, "%s need the pool's workload", strings.Join(append([]string{"replicas"}, f.Arguments.Keys()...), " and "))
	}
	for _, a := range incident.EngineArguments() {
		below := path + "." + string(a.Kind)
		own := f.Arguments[a.Kind]
		if own == nil {
			continue
		}
		k.Arguments[a.Kind] = l.argumentKnob(below, a, *own)
		if w.Container == "" && !w.IsZero() {
			l.at(below, "needs workload.container: the container whose arguments are vLLM's")
		}
	}
	if t := f.Throttle; t != nil {
		l.throttle(path+".throttle", *t)
		k.Throttle = &incident.ThrottleKnob{
			Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, Field: t.Field, Min: t.Min, Max: t.Max,
			RevertAfter: time.Duration(t.RevertAfter),
		}
	}
	return k
}

func (l *loader) intKnob(path string, f *intKnobFile) *incident.IntKnob {
	if f == nil {
		return nil
	}
	l.bounds(path, f.Min, f.Max)
	if f.MaxStep < 0 {
		l.at(path+".max_step", "must not be negative")
	}
	return &incident.IntKnob{Min: f.Min, Max: f.Max, MaxStep: f.MaxStep}
}

func (l *loader) argumentKnob(path string, a incident.EngineArgument, f argumentKnobFile) *incident.ArgumentKnob {
	k := l.intKnob(path, &intKnobFile{Min: f.Min, Max: f.Max, MaxStep: f.MaxStep})
	if k.Max > 0 && k.Max < a.LeastDefault {
		l.at(path+".max", "%d is below %d, the least that vLLM has by default on any hardware: nothing could ever be set; "+
			"write the most that your engines may have", k.Max, a.LeastDefault)
	}
	out := &incident.ArgumentKnob{Min: k.Min, Max: k.Max, MaxStep: k.MaxStep, ChunkedPrefill: f.ChunkedPrefill}
	if f.ChunkedPrefill != nil && !a.ChunkedPrefill {
		l.at(path+".chunked_prefill", "is not a setting of %s", a.Kind)
	}
	if f.Default == nil {
		return out
	}
	if out.Default = *f.Default; out.Default < a.LeastDefault || out.Default > a.MostDefault {
		l.at(path+".default", "%d is not between %d and %d; use the %s that vLLM logs at startup when the flag is not set",
			out.Default, a.LeastDefault, a.MostDefault, a.Kind)
	}
	return out
}

func (l *loader) bounds(path string, low, high int64) {
	if low < 1 {
		l.at(path+".min", "must be at least 1")
	}
	switch {
	case high == 0 && low > 0:
		l.at(path+".max", "is required: the most that the bot may set")
	case high < low:
		l.at(path+".max", "%d is below min %d", high, low)
	}
}

func (l *loader) throttle(path string, f throttleFile) {
	all := incident.Gateways()
	i := slices.IndexFunc(all, func(g incident.Gateway) bool { return g.Name == f.Kind })
	if i < 0 {
		var names []string
		for _, g := range all {
			names = append(names, g.Name)
		}
		l.at(path+".kind", "%q is not known (supported: %s)", f.Kind, strings.Join(names, ", "))
		i = 0 // the other settings are checked as those of the first
	}
	if !slices.Contains(all[i].Fields, f.Field) {
		l.at(path+".field", "%q is not %s", f.Field, strings.Join(all[i].Fields, " or "))
	}
	if f.Namespace == "" || f.Name == "" {
		l.at(path, "needs namespace and name of the %s", all[i].Object)
	}
	l.bounds(path, f.Min, f.Max)
}
