package main

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// printPolicies prints what the API server holds the bot to.
func printPolicies(ctx context.Context, t terminal, file string, l loaded, to app.Account) error {
	policies, err := app.Policies(ctx, l.options(t), to)
	if err != nil {
		return err
	}
	w := t.out
	if policies == nil {
		say(w, "# %s has no section kubernetes, so vllm-medic changes nothing there.\n", file)
		return nil
	}
	say(w, "# What the service account %s in namespace %s may change for %s, whatever its permissions are: "+
		"nothing else.\n",
		to.Name, to.Namespace, file)
	if len(l.Pools) > 0 {
		say(w, "#\n")
	}
	if err := printPools(w, l.Pools, bounds); err != nil {
		return err
	}
	for _, p := range policies {
		for _, o := range []any{p, admission.Bound(p)} {
			text, err := admission.Manifest(o)
			if err != nil {
				return fmt.Errorf("print policy %s: %w", p.Name, err)
			}
			b, err := yaml.Marshal(text)
			if err != nil {
				return fmt.Errorf("print policy %s: %w", p.Name, err)
			}
			say(w, "---\n%s", b)
		}
	}
	return nil
}

// bounds says how far a pool may be changed.
func bounds(p incident.Pool) string {
	if !p.Mode.Writes() || len(p.Knobs.Kinds()) == 0 {
		return "read only"
	}
	return strings.Join(p.Knobs.Bounds(), ", ")
}
