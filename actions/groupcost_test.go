package actions_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestTheCostOfAGroupCountsItsPods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		pods int
		want string
	}{
		{"prefill and decode", 4, "Needs free GPUs for 1 more group of 2 pods."},
		{"a pod for each", 2, "Needs free GPUs for 1 more pod."},
		{"in the middle of a rollout", 3, "Needs free GPUs for all pods of 1 more replica."},
		{"none yet", 0, "Needs free GPUs for all pods of 1 more replica."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.serving()
			b.c.Grant(t, kubetest.Bot, b.ns, rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"},
			})
			for i := range tt.pods {
				b.readyPod(fmt.Sprintf("pod-%d", i), map[string]string{"app": model})
			}
			s := b.propose(addOne)
			if !strings.HasPrefix(s.Cost, tt.want) {
				t.Errorf("%q, want %q", s.Cost, tt.want)
			}
		})
	}
}
