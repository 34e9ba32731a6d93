package slack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// nasty are texts as an attacker, or an unlucky label, would write them.
var nasty = []string{
	"", " ", "x", "<!channel>", "<!here|x>", "<@U0ALICE>", "<#C0INCIDENTS>", "<https://evil.example|click>",
	"https://evil.example/a?b=c&d", "@channel @here @everyone",
	"&lt;!channel&gt;", "*bold* _it_ ~s~ `code`", "```\nfence", "line\nbreak\r\n\ttab", "\u202eright to left", "\x00\x07",
	"\xff\xfe broken", "🔥🧯👩‍👩‍👧‍👧", "<!subteam^S0ONCALL>",
	"mailto:a@b.c", "<mailto:a@b.c|mail>", strings.Repeat("&", 5000), strings.Repeat("long ", 2000),
	strings.Repeat("<", 30000), strings.Repeat("line\n", 400), "]] > | ^ <", "<!date^1^{time}|x>",
	":smile: :100: a:tada:b", "_x_ *y* ~z~ `w`", "ends with :smile", "*", "_", "> quoted",
	"snake_case 10.0.0.1:8000 03:22:15",
	"slack:U0ALICE approved", "[inc-1/3]", "absent", "0", "256", "8192 → 4096",
}

// chaos makes incidents that the domain may never make. Equal seeds make equal incidents.
type chaos struct {
	*rand.Rand
	extra string
	// dull has a letter in place of each character by which Slack formats.
	dull bool
}

func newChaos(seed uint64, extra string) chaos {
	return chaos{Rand: rand.New(rand.NewPCG(seed, 1)), extra: extra}
}

// dulled keeps texts apart that are different.
var dulled = strings.NewReplacer("*", "①", "_", "②", "~", "③", "`", "④", ":", "⑤")

func (c chaos) text() string {
	out := c.extra
	if c.IntN(6) != 0 {
		out = nasty[c.IntN(len(nasty))]
	}
	if c.dull {
		out = dulled.Replace(out)
	}
	return out
}

func (c chaos) float() float64 {
	return []float64{0, 1, -3, 0.5, 7.2, 1e9, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), 1e-9}[c.IntN(12)]
}

func (c chaos) time() time.Time {
	switch c.IntN(5) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(c.Int64N(4e11), 0)
	default:
		return start.Add(time.Duration(c.IntN(7200)) * time.Second)
	}
}

func pick[T any](c chaos, all ...T) T { return all[c.IntN(len(all))] }

func several[T any](c chaos, most int, one func() T) []T {
	var out []T
	for range c.IntN(most + 1) {
		out = append(out, one())
	}
	return out
}

func (c chaos) reading() incident.Reading {
	r := incident.Reading{
		Signal: c.text(), Title: c.text(), Unit: incident.Unit(pick(c, "seconds", "ratio", "count", c.text())),
		Query: c.text(), Error: pick(c, "", "", c.text()),
		Direction: pick(c, incident.HigherIsWorse, incident.LowerIsWorse, incident.Neutral, ""),
		Bound:     pick(c, incident.Exact, incident.AtMost, incident.AtLeast),
	}
	if c.IntN(4) > 0 {
		r.Value = new(c.float())
	}
	if c.IntN(4) > 0 {
		r.Threshold = new(c.float())
	}
	r.Series = several(c, 80, func() incident.Point { return incident.Point{At: c.time(), Value: c.float()} })
	return r
}

func (c chaos) readings() map[string]incident.Reading {
	out := map[string]incident.Reading{}
	for range c.IntN(12) {
		out[c.text()] = c.reading()
	}
	return out
}

func (c chaos) actor() incident.Actor {
	return incident.Actor{
		Kind: incident.ActorKind(pick(c, "slack", "kubernetes", "policy", "bot", c.text())),
		ID:   pick(c, "U0ALICE", c.text()),
	}
}

func (c chaos) value() incident.Value {
	return incident.Value{Present: c.IntN(3) > 0, Text: c.text()}
}

func (c chaos) step(id string) incident.Step {
	s := incident.Step{
		ID: id, Digest: pick(c, "abcdef012345", c.text()),
		Kind: pick(c, append(incident.StepKinds(), incident.StepKind(c.text()))...), Title: c.text(), Why: c.text(),
		Target: incident.Target{
			Kind: c.text(), Namespace: c.text(), Name: c.text(), Field: c.text(), Setting: c.text(), Container: c.text(),
		},
		From: c.value(), To: c.value(), Undo: c.value(),
		Diff: c.text(), Checked: incident.Checked{OK: c.IntN(2) == 0, By: incident.CheckedBy(c.text()), Why: c.text()},
		Cost: c.text(), Speed: c.text(), Risk: c.text(), Reason: c.text(),
		Needs: incident.Needs{Confirm: c.IntN(2) == 0, Restart: c.IntN(2) == 0, Approvals: c.IntN(4)},
		State: pick(
			c, incident.StepProposed, incident.StepProposed, incident.StepProposed, incident.StepProposed, incident.StepApproved,
			incident.StepDenied, incident.StepExpired, incident.StepSuperseded,
			incident.StepRefused, incident.StepApplying, incident.StepApplied, incident.StepFailed, incident.StepUndoing,
			incident.StepUndone, incident.StepReverted, "odd",
		),
		RevertAfter: time.Duration(c.Int64N(1e13)), AppliedAt: c.time(), Approvals: several(c, 8, c.actor),
		Guardrails: several(c, 14, func() incident.Guardrail {
			return incident.Guardrail{
				Name:    c.text(),
				Verdict: pick(c, incident.GuardPass, incident.GuardShrink, incident.GuardPass, incident.GuardVerdict("")),
				Reason:  c.text(),
			}
		}),
	}
	if c.IntN(5) == 0 {
		s.Guardrails = append(s.Guardrails, incident.Guardrail{Name: "x", Verdict: incident.GuardRefuse, Reason: c.text()})
	}
	if c.IntN(3) == 0 {
		s.Verification = &incident.Verification{
			Verdict: pick(c, incident.VerdictWorse, incident.Verdict(c.text())),
			Why:     c.text(), Before: c.readings(), After: c.readings(), At: c.time(),
		}
	}
	return s
}

func (c chaos) steps(prefix string, most int) []incident.Step {
	n := 0
	return several(c, most, func() incident.Step { n++; return c.step(fmt.Sprintf("%s-s%d", prefix, n)) })
}

func (c chaos) incident() incident.Incident {
	inc := incident.Incident{
		ID: "inc-abc", Pool: pick(c, "llama", "llama", c.text()),
		State: pick(c, incident.StateDeciding, pick(c, append(incident.States(), "odd")...)), DryRun: c.IntN(3) == 0,
		Note: c.text(), OpenedAt: c.time(), ClosedAt: c.time(), Reopened: c.IntN(3), ReadAt: c.time(), Dialect: c.text(),
		Readings:     c.readings(),
		HealthySince: pick(c, time.Time{}, time.Time{}, time.Time{}, c.time()),
		MuteReason:   pick(c, incident.NotMuted, incident.MutedDenied, incident.MutedExpired, incident.MutedDryRun),
		Alerts: several(c, 30, func() incident.Alert {
			return incident.Alert{
				Fingerprint: c.text(), Firing: c.IntN(2) == 0,
				Labels:      map[string]string{"alertname": c.text(), "severity": c.text(), "instance": c.text(), "pod": c.text()},
				Annotations: map[string]string{"summary": c.text(), "description": c.text()},
			}
		}),
		Others: several(c, 5, func() incident.Other {
			return incident.Other{Name: c.text(), Verdict: incident.Undecided, Why: c.text()}
		}),
		Cluster: incident.Cluster{
			Error:    pick(c, "", c.text()),
			Workload: incident.WorkloadRef{Kind: c.text(), Namespace: c.text(), Name: c.text()}, Autoscaler: c.text(),
		},
		Decisions: several(c, 8, func() incident.Decision {
			return incident.Decision{
				Step: fmt.Sprintf("p1-s%d", 1+c.IntN(4)), Verb: pick(c, incident.Approve, incident.Deny),
				By: c.actor(), At: c.time(), Reason: c.text(),
			}
		}),
		AppliedEarlier: c.steps("p0", 5), UndoOffered: pick(c, "", "p1-s1", "p0-s1", "none"),
	}
	if c.IntN(4) > 0 {
		inc.Diagnosis = &incident.Diagnosis{
			Summary: c.text(), Name: c.text(), Doc: c.text(), Healthy: several(c, 8, c.text),
			Never: several(c, 6, func() incident.Never {
				return incident.Never{Change: c.text(), Knob: c.text(), Why: c.text()}
			}), Unusual: several(c, 8, c.text),
			Evidence: several(c, 15, func() incident.Condition {
				return incident.Condition{
					Text: c.text(), Truth: pick(c, incident.True, incident.Undecided, incident.False),
					Signal: c.text(), Seen: c.text(), Threshold: c.text(),
				}
			}),
		}
	}
	if c.IntN(6) > 0 {
		inc.Plan = &incident.Plan{Digest: "0123456789ab", Revision: c.IntN(9), Steps: c.steps("p1", 12), ExpiresAt: c.time()}
	}
	if c.IntN(3) == 0 {
		inc.Active = &incident.Active{
			Step: pick(c, "p1-s1", "p0-s1", "none"), Op: pick(c, incident.OpApply, incident.OpUndo), By: c.actor(),
			Why: c.text(), SettleUntil: c.time(),
			Phase: pick(c, incident.PhaseRecheck, incident.PhaseClaimed, incident.PhaseRollout, incident.PhaseSettle,
				incident.PhaseVerify, "odd"), WorseInRow: c.IntN(2), Readings: c.IntN(3),
		}
	}
	if c.IntN(4) == 0 {
		inc.AckedBy = new(c.actor())
	}
	return inc
}
