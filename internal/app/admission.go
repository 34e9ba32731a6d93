package app

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
)

// user is how the API server calls the account.
func (a Account) user() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Policies are what the API server is to hold the bot to, whatever its permissions are: the fields of the knobs of a
// configuration, within their limits. Without the section kubernetes there are none. The cluster is asked only about
// kinds that have no fixed place.
func Policies(ctx context.Context, opts Options, to Account) ([]admissionv1.ValidatingAdmissionPolicy, error) {
	if opts.Config.Kubernetes == nil {
		return nil, nil
	}
	known := actions.KnownKinds{KnownKinds: kube.KnownKinds{Other: askCluster(opts)}}
	var leaves []admission.Leaf
	for _, p := range opts.Config.Pools {
		of, err := known.Leaves(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("what the bot may change of pool %s: %w", p.Name, err)
		}
		leaves = append(leaves, of...)
	}
	return admission.Policies(leaves, to.user(), to.prefix()), nil
}
