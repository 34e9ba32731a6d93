package rights

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// A configuration from before pools named their autoscaler has no permission to change it. Check says so before an
// incident does, with the line to add; with that line, and what rbac prints then, the knob can be adjusted.
func TestCheckLiveRefusesAnAutoscalerThatThePoolDoesNotNameWithTheLineToAdd(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects, kubetest.PodAutoscalers)
	const knob = "knob replicas, pool deployed"
	with := func(line string, named incident.AutoscalerRef) (map[string]app.Finding, string) {
		g := guarded{c: c, ns: c.Namespace(t)}
		deploy(t, c, g.ns, "deployed", "", serving)
		g.create(t, hpas, object("autoscaling/v2", "HorizontalPodAutoscaler", "deployed",
			fullSpec(t, "HorizontalPodAutoscaler")))
		p := pool()
		p.Workload.Name, p.HTTPRoute = "deployed", incident.RouteRef{}
		p.Knobs = incident.Knobs{Replicas: &incident.IntKnob{Min: 1, Max: 4}}
		p.Autoscaler = named
		roles := rolesOf(grantsFor(t, app.Options{Config: config.Config{
			Kubernetes: &config.Kubernetes{}, Pools: []incident.Pool{p},
		}}))
		return checked(t, c, g.ns, `
  - name: deployed
    match: {a: b}
    matchers: {a: b}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: NS, name: deployed, container: vllm}
    knobs: {replicas: {min: 1, max: 4}}
    `+line, roles), g.ns
	}
	named := incident.AutoscalerRef{Kind: "HorizontalPodAutoscaler", Name: "deployed"}
	const line = "autoscaler: {kind: HorizontalPodAutoscaler, name: deployed}"
	bare, _ := with("", incident.AutoscalerRef{})
	f, asked := bare[knob]
	more := []string{"Add this line to pool deployed, and apply what vllm-medic rbac prints then:", line}
	if !asked || f.Good || f.Caution || f.Unasked || !slices.Equal(f.More, more) || !strings.HasPrefix(f.Text,
		"can't be adjusted: HorizontalPodAutoscaler deployed sets the replicas of ") ||
		!strings.HasSuffix(f.Text, ", and pool deployed doesn't name it") {
		t.Errorf("without the line: %+v", f)
	}
	added, ns := with(line, named)
	if f := added[knob]; !f.Good || !strings.HasPrefix(f.Text,
		"HorizontalPodAutoscaler "+ns+"/deployed spec.minReplicas: 2 now, 3 accepted as a dry run") {
		t.Errorf("with the line: %+v", f)
	}
	if f := added["permissions, pool deployed"]; !f.Good {
		t.Errorf("with what rbac prints: %+v", f)
	}
	if f, _ := with("autoscaler: {kind: HorizontalPodAutoscaler, name: other}",
		incident.AutoscalerRef{Kind: "HorizontalPodAutoscaler", Name: "other"}); f[knob].Good ||
		!slices.Contains(f[knob].More, line) {
		t.Errorf("with another one's name: %+v", f[knob])
	}
}
