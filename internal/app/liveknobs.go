package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// liveKubernetes lets each knob be proposed as a dry run and asks for every right that the bot needs: people should not
// learn in an incident that a knob can't be adjusted.
func liveKubernetes(ctx context.Context, opts Options, rc *rest.Config) ([]Finding, error) {
	registry, err := actions.New(actions.Config{}, rc, opts.Logger)
	if err != nil {
		return nil, err
	}
	if f, silent := noAnswer(ctx, registry); silent {
		return []Finding{f}, nil
	}
	var out []Finding
	if _, err := KubernetesConfig(opts.Config); err != nil {
		out = append(out,
			Finding{
				Where: "permissions", Unasked: true,
				Text: "asked as the user of KUBECONFIG; run this in the bot's pod to ask as the bot",
			})
	}
	for _, p := range opts.Config.Pools {
		usable := p
		for _, kind := range p.Knobs.Kinds() {
			f, never := liveKnob(ctx, registry, p, kind)
			out = append(out, f)
			if never {
				usable.Knobs = usable.Knobs.Without(kind)
			}
		}
		if !p.Workload.IsZero() || len(p.Knobs.Kinds()) > 0 {
			out = append(out, poolRights(ctx, registry, opts.Config.File, p, usable))
		}
	}
	out = append(out, peopleRights(ctx, registry, opts.Config.File))
	if opts.Config.Access.ClientCertificates {
		out = append(out, liveCertificates(ctx, opts.Config.Access, rc))
	}
	return out, nil
}

// silentKubernetes is where noAnswer found nothing.
const silentKubernetes = "kubernetes, knobs and permissions"

// noAnswer says that the API server does not answer: each line about knobs and permissions would say the same.
func noAnswer(ctx context.Context, registry *actions.Registry) (Finding, bool) {
	_, err := registry.Lacks(ctx, PeopleRights()[0].ResourceAttributes)
	if err == nil {
		return Finding{}, false
	}
	return Finding{Where: silentKubernetes, Text: err.Error()}, true
}

// samples are small steps of a kind. A knob that is at one of its bounds may still go the other way.
func samples(kind incident.StepKind) []incident.StepRequest {
	knob, _ := kind.Knob()
	if knob.Adds {
		return []incident.StepRequest{{Kind: kind, Add: 1}}
	}
	var out []incident.StepRequest
	if knob.Lowers {
		out = append(out, incident.StepRequest{Kind: kind, Factor: 0.5})
	}
	if knob.Raises {
		out = append(out, incident.StepRequest{Kind: kind, Factor: 2})
	}
	return out
}

// smallStep proposes a small step of a kind, the other way where the first one is refused for the present value only.
func smallStep(
	ctx context.Context, propose func(context.Context, incident.Pool, incident.StepRequest) (incident.Step, error),
	p incident.Pool, kind incident.StepKind,
) (step incident.Step, err error) {
	for n, req := range samples(kind) {
		var again error
		if step, again = propose(ctx, p, req); n == 0 || again == nil {
			err = again
		}
		if !cause(err, incident.CauseNow) {
			break
		}
	}
	return step, err
}

// liveKnob proposes a small step as the bot would in the pool's mode. never says that the knob can't be adjusted as
// things are.
func liveKnob(ctx context.Context, registry *actions.Registry, p incident.Pool, kind incident.StepKind) (f Finding,
	never bool,
) {
	f = Finding{Where: fmt.Sprintf("knob %s, pool %s", kind, p.Name)}
	propose := registry.DryRun().Propose
	if p.Mode == incident.ModeApprove || p.Mode == incident.ModeAuto {
		propose = registry.Propose
	}
	step, err := smallStep(ctx, propose, p, kind)
	var no *incident.RefusedError
	switch {
	case err == nil:
		return proposal(f, step), false
	case cause(err, incident.CauseNow):
		f.Good, f.Text = true, "can be adjusted, but not right now: "+err.Error()
		return f, false
	case errors.As(err, &no):
		f.Text = "can't be adjusted: " + no.Reason
		if no.Hint != "" {
			f.More = strings.Split(strings.TrimRight(no.Hint, "\n"), "\n")
		}
		return f, no.Cause != incident.CauseRight
	}
	f.Text = "could not be asked: " + err.Error()
	return f, false
}

func cause(err error, c incident.RefusalCause) bool {
	no, ok := errors.AsType[*incident.RefusedError](err)
	return ok && no.Cause == c
}

// proposal says what a step would change, who owns that, and what speaks against it.
func proposal(f Finding, s incident.Step) Finding {
	f.Good, f.Text = true, fmt.Sprintf("%s: %s now, %s %s", s.Target, s.From, s.To, tried(s))
	for _, g := range s.Guardrails {
		switch {
		case g.Verdict == incident.GuardRefuse:
			f.Good, f.More = false, append(f.More, "refused: "+present.Guardrail(g))
		case g.Verdict == incident.GuardCaution:
			f.Caution, f.More = true, append(f.More, "caution: "+present.Guardrail(g))
		case g.Name == actions.OwnershipGuard:
			f.More = append(f.More, "owner: "+present.Guardrail(g))
		}
	}
	return f
}

// tried says what came of trying a step's value.
func tried(s incident.Step) string {
	switch checked := present.Checked(s.Checked); {
	case !s.Checked.OK && checked != "":
		return "proposed; " + checked
	case !s.Checked.OK:
		return "proposed"
	case s.Executable():
		return "accepted as a dry run"
	default:
		return "not accepted"
	}
}
