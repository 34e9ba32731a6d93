package actions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/answer"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// huge makes PodAutoscalers of a namespace that are more than is read of one answer. None aims at the workload.
func (b *bench) huge(namespace string) {
	b.t.Helper()
	const size = 1 << 20
	in := b.c.Dynamic(b.t).Resource(podScalers).Namespace(namespace)
	b.t.Cleanup(func() {
		if err := in.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			b.t.Error(err)
		}
	})
	for i := range answer.Limit/size + 1 {
		o := podAutoscaler("KPA", map[string]any{
			"scaleTargetRef":    map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"},
			"subTargetSelector": map[string]any{"roleName": strings.Repeat("x", size)},
		})
		o["metadata"] = map[string]any{"name": fmt.Sprintf("huge-%d", i)}
		if _, err := in.Create(b.t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// The cluster is shared: this runs before the tests that run side by side, which list all namespaces too.
func TestHugeAutoscalersBlockOnlyTheirOwnNamespace(t *testing.T) { //nolint:paralleltest // see above
	b := newBench(t)
	b.serve(2, nil, served())
	account := "system:serviceaccount:" + b.ns + ":bot"
	b.grant(account, incident.ModeApprove)
	b.c.GrantAll(t, account, rbacv1.PolicyRule{
		APIGroups: []string{podScalers.Group}, Resources: []string{podScalers.Resource}, Verbs: []string{"list"},
	})
	registry, err := actions.New(actions.Config{}, b.c.ConfigWithToken(b.c.ServiceAccountToken(t, b.ns, "bot")),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.bot = bot{registry}
	b.huge(b.c.Namespace(t))
	const tooLarge = ": the answer is larger than 8388608 bytes, the most that is read: make the objects there " +
		"smaller or fewer"
	var s incident.Step
	kubetest.Eventually(t, "the caution", func(ctx context.Context) (err error) {
		if s, err = b.bot.Propose(ctx, b.pool, addOne); err == nil && !hasGuard(s, "other autoscalers",
			incident.GuardCaution, "list podautoscalers.autoscaling.aibrix.ai"+tooLarge) {
			return fmt.Errorf("%+v", s.Guardrails)
		}
		return err
	})
	b.do(s, incident.OpApply)

	b.huge(b.ns)
	_, err = b.bot.Propose(t.Context(), b.pool, addOne)
	if want := "list podautoscalers.autoscaling.aibrix.ai in namespace " + b.ns + tooLarge; err == nil ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("its own: %v\nwant %s", err, want)
	}
	if _, ok := errors.AsType[*answer.TooLargeError](err); !ok {
		t.Errorf("%T is no *answer.TooLargeError", err)
	}
}
