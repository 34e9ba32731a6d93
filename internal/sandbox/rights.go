package sandbox

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// grantRights gives botUser what vllm-medic rbac prints for its configuration.
func grantRights(ctx context.Context, kube *kubeapi.Server, opts app.Options) error {
	grants, err := app.Grants(ctx, opts, app.Account{Namespace: "vllm-medic", Name: "vllm-medic"}, false)
	if err != nil {
		return fmt.Errorf("the permissions of the bot: %w", err)
	}
	for _, g := range grants {
		rules := make([]rbacv1.PolicyRule, len(g.Rules))
		for n, r := range g.Rules {
			rules[n] = r.PolicyRule
		}
		kube.Grant(botUser, g.Namespace, rules...)
	}
	return nil
}
