package actions_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var listAll = metav1.ListOptions{}

func fromYAML(t *testing.T, s string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(s), &o); err != nil {
		t.Fatalf("%v in\n%s", err, s)
	}
	return o
}

func hintOf(err error) string {
	var no *incident.RefusedError
	if !errors.As(err, &no) {
		return ""
	}
	return no.Hint
}

// admission forbids every change of a resource in the test's namespace, with a message that repeats a part of the
// object.
func (b *bench) admission(group, resource, message string) {
	b.t.Helper()
	cluster := b.c.Dynamic(b.t)
	vap := schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicies",
	}
	binding := schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicybindings",
	}
	name := b.ns + "-" + resource
	selector := map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": b.ns}}
	for r, o := range map[schema.GroupVersionResource]map[string]any{
		vap: {
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"failurePolicy": "Fail",
				"matchConstraints": map[string]any{"namespaceSelector": selector, "resourceRules": []any{map[string]any{
					"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"UPDATE"}, "resources": []any{
						resource,
						resource + "/scale",
					},
				}}},
				"matchConditions": []any{map[string]any{"name": "bot", "expression": `request.userInfo.username == "bot"`}},
				"validations":     []any{map[string]any{"expression": "false", "messageExpression": message}},
			},
		},
		binding: {
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"policyName": name, "validationActions": []any{"Deny"}},
		},
	} {
		if _, err := cluster.Resource(r).Create(b.t.Context(), &unstructured.Unstructured{Object: o},
			metav1.CreateOptions{}); err != nil {
			b.t.Fatalf("create %s: %v", r.Resource, err)
		}
	}
}

func TestAnAdmissionPolicyRefusesAndItsMessageShowsNoSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, group, resource, message string
		req                            incident.StepRequest
		make                           func(b *bench)
	}{
		{
			"arguments", "apps", "deployments", `'no: ' + object.spec.template.spec.containers[1].args.join(' ')`, halve,
			func(b *bench) { b.serve(2, nil, served()) },
		},
		{"replicas", "apps", "deployments", `'no: scaling'`, addOne, func(b *bench) { b.serve(2, nil, served()) }},
		{
			"throttle", "gateway.envoyproxy.io", "backendtrafficpolicies", `'no: limits'`, shed,
			func(b *bench) { b.create(policies, policy(parallel(184))) },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			before := b.propose(tt.req)
			b.admission(tt.group, tt.resource, tt.message)
			var s incident.Step
			kubetest.Eventually(t, "the admission policy", func(ctx context.Context) error {
				var err error
				if s, err = b.bot.Propose(ctx, b.pool, tt.req); err != nil {
					return err
				}
				if s.Executable() {
					return errors.New("not in force yet")
				}
				return nil
			})
			if !strings.Contains(refusals(s), "no: ") || !s.Checked.OK {
				t.Errorf("refused for %q, %+v", refusals(s), s.Checked)
			}
			err := b.bot.Do(t.Context(), b.pool, before, incident.OpApply, "w1")
			if outcome(err) != "refused" || !strings.Contains(err.Error(), "no: ") {
				t.Errorf("apply: %v", err)
			}
			if strings.Contains(fmt.Sprint(s, err), secret) {
				t.Errorf("the secret is told: %v, %v", s, err)
			}
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestAValueThatTheSchemaRefusesIsRefusedAndNotDrift(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		if tt.req.Kind == incident.StepMaxNumBatchedTokens {
			continue // for the API server any text is an argument
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			b.do(s, incident.OpApply)
			for _, bad := range []string{"-5", "99999999999999", "many"} {
				s.Undo = incident.Set(bad)
				err := b.bot.Do(t.Context(), b.pool, s, incident.OpUndo, "w.undo")
				if outcome(err) != "refused" {
					t.Errorf("%s: %v", bad, err)
				}
			}
			checkObserved(t, b, s, incident.OpApply, "w.apply", tt.to, true)
		})
	}
}

func TestAValueOutsideOfTheBoundsIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			k := &b.pool.Knobs
			k.Replicas = &incident.IntKnob{Min: 1, Max: 2}
			if tokens := b.tokens(); tokens != nil {
				tokens.Min = 6000
			}
			k.Throttle.Min = 1000
			for what, err := range map[string]error{
				"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
			} {
				if outcome(err) != "refused" || !strings.Contains(err.Error(), "bounds") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if got := b.writes(kubetest.Bot); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestAThrottleThatWouldRejectNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(policies, policy(parallel(512)))
	least := b.pool.Knobs.Throttle.Min
	_, err := b.bot.Propose(t.Context(), b.pool, shedding(float64(least)))
	want := fmt.Sprintf("at most %d requests are in flight, and the limit may be lowered to %[1]d at least", least)
	if outcome(err) != "refused" || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if s := b.propose(shedding(float64(least) + 1)); s.To != incident.Set(strconv.FormatInt(least, 10)) {
		t.Errorf("one request more is in flight, and the limit becomes %s", s.To)
	}
}

func TestTheRulesAreWhatTheKnobsNeedAndInADryRunOnlyReading(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rule := func(group, resource, name string, verbs ...string) rbacv1.PolicyRule {
		r := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
		if name != "" {
			r.ResourceNames = []string{name}
		}
		return r
	}
	b.pool.Autoscaler = incident.AutoscalerRef{Kind: "ScaledObject", Name: "theirs"}
	want := map[incident.Mode][]rbacv1.PolicyRule{
		incident.ModeApprove: {
			rule("apps", "deployments", model, "get", "patch"), rule("apps", "deployments/scale", model, "get", "patch"),
			rule("autoscaling", "horizontalpodautoscalers", "", "list"),
			rule("autoscaling.aibrix.ai", "podautoscalers", "", "list"),
			rule("gateway.envoyproxy.io", "backendtrafficpolicies", model, "get", "patch"),
			rule("keda.sh", "scaledobjects", "", "list"), rule("keda.sh", "scaledobjects", "theirs", "patch"),
		},
		incident.ModeDryRun: {
			rule("apps", "deployments", model, "get"), rule("apps", "deployments/scale", model, "get"), rule("autoscaling",
				"horizontalpodautoscalers", "", "list"),
			rule("autoscaling.aibrix.ai", "podautoscalers", "", "list"),
			rule("gateway.envoyproxy.io", "backendtrafficpolicies", model, "get"), rule("keda.sh", "scaledobjects", "", "list"),
		},
	}
	for mode, rules := range want {
		got, err := b.bot.Rules(b.t.Context(), []incident.Pool{b.pool}, mode)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]actions.NamespaceRules{{Namespace: b.ns, Rules: rules}}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", mode, d)
		}
	}
	if got, err := b.bot.Rules(b.t.Context(), []incident.Pool{{Name: "nothing"}}, incident.ModeAuto); err != nil ||
		len(got) != 0 {
		t.Errorf("a pool without knobs: %v, %v", got, err)
	}
}
