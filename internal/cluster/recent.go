package cluster

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// changeAge is how long a change counts as recent, maxChanges how many are told, and maxChangeText how long the text of
// one may be, in runes.
const (
	changeAge     = 2 * time.Hour
	maxChanges    = 25
	maxChangeText = 800
)

// recent takes what another clock dates into the future for recent too.
func recent(at, now time.Time) bool { return !at.IsZero() && now.Sub(at) <= changeAge }

// around is what is known of a workload before its changes are looked for.
type around struct {
	ref     incident.WorkloadRef
	obj     *unstructured.Unstructured
	sel     labels.Selector
	pods    []corev1.Pod
	scalers []Autoscaler
	now     time.Time
}

// changes fills in what changed lately, the crashes, and what of both could not be read. Its parts are read side by
// side; none costs another.
func (k *Reader) changes(ctx context.Context, a around, out *incident.Cluster) {
	var (
		wg                                       rescue.Group
		revised, nodes                           []incident.RecentChange
		scalers                                  []scaling
		own                                      []ownScalings
		revisedErr, scaledErr, nodesErr, kedaErr error
		ends                                     = endings(a.pods, a.ref.Container)
		logErrs                                  = make([]error, min(len(ends), maxLogs))
	)
	wg.Go(func() { scalers, kedaErr = k.scalerScalings(ctx, a.scalers, a.now) })
	wg.Go(func() { revised, own, revisedErr, scaledErr = k.revised(ctx, a) })
	wg.Go(func() { nodes, nodesErr = k.nodeChanges(ctx, a.pods, a.now) })
	for i := range logErrs {
		wg.Go(func() { logErrs[i] = k.readLog(ctx, a.ref.Namespace, &ends[i]) })
	}
	wg.Wait()

	all := slices.Concat(revised, nodes, endedPods(a.pods, a.now))
	for _, o := range own {
		found := scalings(o.scalings, scalers, &o.history)
		if len(own) == 1 { // of several Deployments each has its own number
			markOwnScaling(found, a.obj, out.Replicas)
		}
		all = append(all, found...)
	}
	followed := make([]incident.RecentChange, len(scalers))
	for i, s := range scalers {
		followed[i] = s.change()
	}
	for _, s := range a.scalers {
		s.own.followed(followed)
	}
	all = append(all, followed...)
	for i := range ends {
		if c, ok := ends[i].restart(a.now); ok {
			all = append(all, c)
		}
		out.Crashes = append(out.Crashes, ends[i].crash)
	}
	out.Changes = newest(all)
	out.Unread = append(out.Unread, unread(
		unreadPart{incident.PartRollouts, revisedErr},
		unreadPart{incident.PartScaling, scaledErr},
		unreadPart{incident.PartKedaScaling, kedaErr},
		unreadPart{incident.PartNodes, nodesErr},
		unreadPart{incident.PartCrashLog, errors.Join(logErrs...)},
	)...)
}

// unreadPart is something that was to be read.
type unreadPart struct {
	part incident.Part
	err  error
}

// unread says what could not be read and why, each reason once for each part.
func unread(parts ...unreadPart) []incident.Unread {
	var out []incident.Unread
	for _, p := range parts {
		if p.err == nil {
			continue
		}
		for reason := range strings.SplitSeq(p.err.Error(), "\n") {
			if u := (incident.Unread{Part: p.part, Why: redact.Shown(reason)}); !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// ownScalings are the scale events of one Deployment with its history.
type ownScalings struct {
	history  history
	scalings []scaling
}

// revised reads the rollouts, and the scale events that have to be told apart from them.
func (k *Reader) revised(
	ctx context.Context,
	a around,
) (out []incident.RecentChange, own []ownScalings, revisedErr, scaledErr error) {
	hs, revisedErr := k.histories(ctx, a.ref, a.obj, a.sel, a.pods)
	for _, h := range hs {
		if h.of.Kind == "Deployment" {
			found, err := k.deploymentScalings(ctx, h.of, a.now)
			scaledErr = errors.Join(scaledErr, err)
			h.dateReturn(found)
			own = append(own, ownScalings{history: h, scalings: found})
		}
		out = append(out, h.rollouts(a.now, cmp.Or(a.ref.Container, "vllm"))...)
	}
	if len(hs) == 0 && revisedErr == nil &&
		!slices.Contains([]string{"Pod", "ReplicaSet", "StatefulSet", "DaemonSet"}, a.obj.GetKind()) {
		if c, ok := specChange(a.obj, a.now); ok {
			out = append(out, c)
		}
	}
	return out, own, revisedErr, scaledErr
}

// newest are the changes in the order of their time, bounded in number and length.
func newest(all []incident.RecentChange) []incident.RecentChange {
	slices.SortStableFunc(all, func(a, b incident.RecentChange) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Text, b.Text))
	})
	all = all[:min(len(all), maxChanges)]
	for i := range all {
		if r := []rune(all[i].Text); len(r) > maxChangeText {
			all[i].Text = string(r[:maxChangeText-3]) + "..."
		}
	}
	return all
}

// args are the numbers among the engine's arguments: those of the workload's template; of a kind without one those on
// which all pods agree. Of those that certainly none gives, the knobs say what the engine uses then.
func (a *around) args(knobs incident.ArgumentKnobs) map[string]float64 {
	out := map[string]float64{}
	var absent []incident.StepKind
	for i, c := range a.engines() {
		given, without := engineArgs(c), notGiven(c)
		if i == 0 {
			maps.Copy(out, given)
			absent = without
			continue
		}
		maps.DeleteFunc(out, func(name string, n float64) bool { m, ok := given[name]; return !ok || m != n })
		absent = slices.DeleteFunc(absent, func(k incident.StepKind) bool { return !slices.Contains(without, k) })
	}
	for _, kind := range absent {
		if own := knobs[kind]; own != nil && own.Default > 0 {
			out[string(kind)] = float64(own.Default)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// engines are the engine's containers: that of the workload's template, else those of the pods.
func (a *around) engines() []*corev1.Container {
	if spec := templateSpec(a.obj); spec != nil {
		return []*corev1.Container{engineContainer(spec, a.ref.Container)}
	}
	out := make([]*corev1.Container, len(a.pods))
	for i := range a.pods {
		out[i] = engineContainer(&a.pods[i].Spec, a.ref.Container)
	}
	return out
}

// templateSpec finds the template of the pods in which the engine serves; of a LeaderWorkerSet that of the leaders, who
// are workers where it has none.
func templateSpec(obj *unstructured.Unstructured) *corev1.PodSpec {
	for _, path := range [][]string{
		{"spec", "template"},
		{"spec", "leaderWorkerTemplate", "leaderTemplate"},
		{"spec", "leaderWorkerTemplate", "workerTemplate"},
	} {
		m, found, err := unstructured.NestedMap(obj.Object, append(path, "spec")...)
		if err != nil || !found {
			continue
		}
		var spec corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &spec); err != nil || len(spec.Containers) == 0 {
			continue
		}
		return &spec
	}
	return nil
}
