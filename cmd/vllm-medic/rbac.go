package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func rbac(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rbac", Short: "print the Kubernetes permissions that a configuration needs, for kubectl apply",
		Long: "Print the exact Kubernetes permissions that a configuration needs, as Roles and bindings for kubectl " +
			"apply.\n\nA pool gets permissions to write only in the modes approve and auto, and only for its knobs.\n\n" +
			"With --admission, print ValidatingAdmissionPolicies instead: with them the API server refuses every change by " +
			"the bot's service account but those of its knobs, within the limits of the configuration.",
	}
	fs := cmd.Flags()
	file := configFlag(fs, t)
	var to app.Account
	fs.StringVar(&to.Namespace, "namespace", "vllm-medic", "the `NAMESPACE` of the bot's service account")
	fs.StringVar(&to.Name, "service-account", "vllm-medic", "the `NAME` of the bot's service account")
	required := fs.Bool("required-only", false, "leave out the permissions that the bot can do without")
	dry := fs.Bool("dry-run", false, "print what serve --dry-run needs: no permission to write")
	admission := fs.Bool("admission", false, "print the policies that hold the bot to its limits, instead of permissions")
	cmd.MarkFlagsMutuallyExclusive("admission", "required-only")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := to.Validate(); err != nil {
			return usageError{fmt.Sprintf("rbac: %v", err)}
		}
		l, err := load(*file, config.Options{Offline: true, AllowUnauthenticated: true, DryRun: *dry}, t)
		if err != nil {
			return err
		}
		if *admission {
			return printPolicies(cmd.Context(), t, filepath.Base(*file), l, to)
		}
		return printGrants(cmd.Context(), t, filepath.Base(*file), l, to, *required)
	}
	return cmd
}

func printGrants(ctx context.Context, t terminal, file string, l loaded, to app.Account, required bool) error {
	grants, err := app.Grants(ctx, l.options(t), to, required)
	if err != nil {
		return err
	}
	w := t.out
	if grants == nil {
		say(w, "# %s has no section kubernetes, so vllm-medic needs no permissions.\n", file)
		return nil
	}
	say(w, "# The permissions that vllm-medic needs for %s, for the service account %s in namespace %s.\n", file, to.Name,
		to.Namespace)
	if len(l.Pools) > 0 {
		say(w, "#\n")
	}
	if err := printPools(w, l.Pools, writes); err != nil {
		return err
	}
	for _, g := range grants {
		printGrant(w, g, to)
	}
	return nil
}

// printPools says of each pool what it is allowed.
func printPools(w io.Writer, pools []incident.Pool, allowed func(incident.Pool) string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range pools {
		say(tw, "#   %s\t%s\t%s\n", p.Name, p.Mode, allowed(p))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the pools: %w", err)
	}
	return nil
}

// writes says what a pool may change.
func writes(p incident.Pool) string {
	knobs := p.Knobs.Kinds()
	if !p.Mode.Writes() || len(knobs) == 0 {
		return "read only"
	}
	out := make([]string, len(knobs))
	for n, k := range knobs {
		out[n] = string(k)
	}
	return "changes " + strings.Join(out, ", ")
}

// printGrant prints a role, unless every cluster has it, and its binding.
func printGrant(w io.Writer, g app.Grant, to app.Account) {
	kind, role, namespace := "Role", g.Name, ", namespace: "+quoted(g.Namespace)
	if g.Namespace == "" {
		kind, namespace = "ClusterRole", ""
	}
	if g.Existing != "" {
		role = g.Existing
	} else {
		say(w, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s%s}\nrules:\n", kind,
			quoted(g.Name), namespace)
		for _, r := range g.Rules {
			printRule(w, r)
		}
	}
	say(w, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\nmetadata: {name: %s%s}\n", kind,
		quoted(g.Name), namespace)
	say(w, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}\n", kind, quoted(role))
	say(w, "subjects: [{kind: ServiceAccount, name: %s, namespace: %s}]\n", quoted(to.Name), quoted(to.Namespace))
}

func printRule(w io.Writer, r app.GrantedRule) {
	optional := ""
	if r.Optional {
		optional = "optional; "
	}
	say(w, "  # %swithout it, %s\n", optional, strings.Join(r.Without, "; "))
	names := ""
	if len(r.ResourceNames) > 0 {
		names = ", resourceNames: " + list(r.ResourceNames)
	}
	say(w, "  - {apiGroups: %s, resources: %s%s, verbs: %s}\n", list(r.APIGroups), list(r.Resources), names, list(r.Verbs))
}

// quoted is a name as YAML that stays a string: an object may be called "123" or "on".
func quoted(name string) string {
	b, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string is JSON
	}
	return string(b)
}

func list(names []string) string {
	out := slices.Clone(names)
	for n := range out {
		out[n] = quoted(out[n])
	}
	return "[" + strings.Join(out, ", ") + "]"
}
