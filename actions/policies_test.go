package actions_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/actions/admission"
	places "github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var enforced sync.Once

// enforce holds the bot of all tests to its fields: every write and undo of this package passes under the policies.
// They are for the objects of this name in all namespaces, with limits that no test goes beyond: those are in
// test/rights.
func enforce(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	enforced.Do(func() { c.Enforce(t, wide(t)...) })
}

func wide(t *testing.T) []admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	var leaves []admission.Leaf
	add := func(p incident.Pool) {
		of, err := actions.KnownKinds{KnownKinds: places.KnownKinds{}}.Leaves(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, of...)
	}
	const most = 1 << 20
	pool := func(apiVersion, kind string) incident.Pool {
		p := incident.Pool{
			Mode:     incident.ModeApprove,
			Workload: incident.WorkloadRef{APIVersion: apiVersion, Kind: kind, Name: model, Container: "vllm"},
		}
		p.Knobs.Replicas = &incident.IntKnob{Min: 1, Max: most}
		p.Knobs.Arguments = incident.ArgumentKnobs{}
		for _, a := range incident.EngineArguments() {
			p.Knobs.Arguments[a.Kind] = &incident.ArgumentKnob{Min: 1, Max: most}
		}
		return p
	}
	for _, kind := range incident.AutoscalerKinds() {
		p := pool("apps/v1", "Deployment")
		p.Autoscaler = incident.AutoscalerRef{Kind: kind, Name: model}
		add(p)
	}
	add(pool("apps/v1", "StatefulSet"))
	for kind := range places.PlatformKinds() {
		add(pool(kind.Group+"/v1", kind.Kind))
	}
	for _, g := range incident.Gateways() {
		for _, field := range g.Fields {
			p := incident.Pool{Mode: incident.ModeApprove}
			p.Knobs.Throttle = &incident.ThrottleKnob{Kind: g.Name, Name: model, Field: field, Min: 1, Max: most}
			add(p)
		}
	}
	var boxes []string
	for _, p := range platforms() {
		boxes = append(boxes, strconv.Quote(p.container))
	}
	all := admission.Policies(leaves, kubetest.Bot, "bench")
	// Kinds that only a test knows are not among the leaves.
	all = slices.DeleteFunc(all, func(p admissionv1.ValidatingAdmissionPolicy) bool {
		return strings.HasSuffix(p.Name, "-writes")
	})
	for n := range all {
		for i, v := range all[n].Spec.Variables {
			switch {
			case v.Name == "key":
				all[n].Spec.Variables[i].Expression = `"/" + request.name` // each test has a namespace of its own
			case strings.HasSuffix(v.Name, "_container") && strings.HasPrefix(all[n].Name, "bench-deployments-"):
				// The platforms of these tests call the container that runs vllm by names of their own.
				all[n].Spec.Variables[i].Expression = fmt.Sprintf("object.spec.template.spec.containers"+
					".filter(c, c.name in [%s])[0].name", strings.Join(boxes, ", "))
			}
		}
	}
	return all
}
