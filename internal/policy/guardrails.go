package policy

import (
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func pass(name, reason string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardPass, Reason: fmt.Sprintf(reason, args...)}
}

func refuse(name, reason string, args ...any) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Reason: fmt.Sprintf(reason, args...)}
}

func refuseFor(name string, why incident.Reason) incident.Guardrail {
	return incident.Guardrail{Name: name, Verdict: incident.GuardRefuse, Cause: why}
}

func mode(in Input) incident.Guardrail {
	switch in.Mode {
	case incident.ModeObserve:
		return refuse("mode", "mode observe: nothing is proposed or changed")
	case incident.ModeDryRun:
		if !in.DryRun {
			return refuse("mode", "the pool is in mode dry-run now; nothing is written for an incident that began before")
		}
		return pass("mode", "only a server-side dry run is sent")
	case incident.ModeApprove, incident.ModeAuto:
		return pass("mode", "mode %s", in.Mode)
	default:
		return refuse("mode", "the mode %q is not known", in.Mode)
	}
}

// undoMode lets a person take back what was done in every mode that writes, and the bot only where it may write by
// itself.
func undoMode(in Input) incident.Guardrail {
	switch {
	case in.Mode == incident.ModeApprove || in.Mode == incident.ModeAuto:
		return pass("mode", "mode %s", in.Mode)
	case in.Mode == incident.ModeObserve && in.By.Person():
		return pass("mode", "mode observe, and an approver requested the undo")
	case in.Mode == incident.ModeObserve:
		return refuse("mode", "mode observe: nothing is rolled back automatically; an approver may")
	case in.Mode == incident.ModeDryRun:
		return refuse("mode", "mode dry-run: nothing is written")
	default:
		return refuse("mode", "the mode %q is not known", in.Mode)
	}
}

func pause(in Input) incident.Guardrail {
	if p := incident.PauseOf(in.Pauses, in.Pool.Name); p != nil {
		return refuseFor("pause", (&incident.PausedError{Pause: *p}).Reason())
	}
	return pass("pause", "not paused")
}

func lock(in Input) incident.Guardrail {
	key := in.Step.Target.Key()
	if holder, ok := in.Locks[key]; ok && holder != in.Incident {
		return refuseFor("lock", (&incident.LockedError{Target: key, Incident: holder}).Reason())
	}
	return pass("lock", "no other step is open on %s", in.Step.Target.Object())
}

// counts leaves dry runs out: they wrote nothing. In a dry run they count, so that the dry run shows what the real
// thing would do.
func counts(in Input, w incident.Write) bool { return !w.DryRun || in.Mode == incident.ModeDryRun }

func coolDown(in Input, s Settings) incident.Guardrail {
	if in.WritesUnknown {
		return refuse("cool-down", "the history of writes cannot be read, so the cool-down is not known")
	}
	key := in.Step.Target.Key()
	for _, w := range in.Writes {
		if w.Target != key || !counts(in, w) || !tookEffect(w) {
			continue
		}
		end := w.EndedAt
		if end.IsZero() {
			end = w.StartedAt
		}
		if until := end.Add(s.CoolDown); in.Now.Before(until) {
			return refuse("cool-down", "%s was changed %s ago; the next change is allowed in %s", in.Step.Target.Object(),
				incident.FormatDuration(in.Now.Sub(end)), incident.FormatDuration(until.Sub(in.Now)))
		}
	}
	return pass("cool-down", "no change in the last %s", incident.FormatDuration(s.CoolDown))
}

// tookEffect says whether a write changed the object, or may have: one without an end counts, and one whose end only a
// newer version knows.
func tookEffect(w incident.Write) bool {
	return w.Result != incident.ResultDrift && w.Result != incident.ResultFailed
}

func budget(in Input, s Settings) incident.Guardrail {
	if in.WritesUnknown {
		return refuse("budget", "the history of writes cannot be read, so the budget is not known")
	}
	hour, day := 0, 0
	for _, w := range in.Writes {
		if w.Op == incident.OpUndo || !counts(in, w) {
			continue
		}
		if in.Now.Sub(w.StartedAt) < time.Hour {
			hour++
		}
		if in.Now.Sub(w.StartedAt) < 24*time.Hour {
			day++
		}
	}
	switch {
	case hour >= s.HourlyBudget:
		return refuse("budget", "pool %s had %d of %d changes in the last hour", in.Pool.Name, hour, s.HourlyBudget)
	case day >= s.DailyBudget:
		return refuse("budget", "pool %s had %d of %d changes in the last day", in.Pool.Name, day, s.DailyBudget)
	}
	return pass("budget", "%d of %d changes this hour, %d of %d today", hour, s.HourlyBudget, day, s.DailyBudget)
}

// load refuses to reject requests or to add capacity for a load that has gone: rates and quantiles look back over a
// window, so the diagnosis of a burst holds for minutes after its end.
func load(in Input) incident.Guardrail {
	const name = "load"
	knob, ok := in.Step.Kind.Knob()
	if !ok || !knob.AgainstLoad() {
		return pass(name, "the step isn't against load")
	}
	for _, signal := range []string{incident.SignalRunning, incident.SignalWaiting, incident.SignalLoadNow} {
		if r := in.Readings[signal]; !r.HasValue() {
			return refuse(name, "it isn't known whether the load is still there: %s is unknown (%s)", signal, r.Text())
		}
	}
	now := in.Readings[incident.SignalLoadNow]
	switch {
	case *in.Readings[incident.SignalRunning].Value <= 0 && *in.Readings[incident.SignalWaiting].Value <= 0:
		return refuse(name, "nothing is running or queued any more")
	case *now.Value < incident.LastingLoad:
		return refuse(name, "the load is gone: only %s of the last minutes' average is running or queued now", now.Text())
	}
	return pass(name, "%s of the last minutes' average is running or queued now", now.Text())
}

// availability refuses a step that restarts pods while it would take capacity that is missing: a restart under load
// aborts requests, empties caches and compiles again (docs/actions/max-num-batched-tokens.md).
func availability(in Input) incident.Guardrail {
	const name = "availability"
	c := in.Cluster
	switch {
	case !in.Step.Needs.Restart:
		return pass(name, "no pod is restarted")
	case c.Error != "":
		return refuse(name, "it restarts pods, and the state of the workload is not known: %s", c.Error)
	case c.Replicas == nil || c.ReadyReplicas == nil:
		return refuse(name, "it restarts pods, and the number of ready pods is not known")
	case *c.ReadyReplicas < *c.Replicas:
		return refuse(name, "it restarts pods, and only %d of %d are ready", *c.ReadyReplicas, *c.Replicas)
	case *c.ReadyReplicas < 2:
		return refuse(name, "it restarts the only pod")
	case c.RolloutRunning:
		return refuse(name, "a rollout is already running")
	}
	if why := onlyInRole(in); why != "" {
		return refuse(name, "%s", why)
	}
	w := in.Readings[incident.SignalWaiting]
	switch {
	case !w.HasValue():
		return refuse(name, "it restarts pods, and the number of queued requests is unknown (%s)", w.Text())
	case *w.Value > 0:
		return refuse(name, "a restart would remove capacity while %s requests are queued; reduce the load first", w.Text())
	}
	return pass(name, "all %d pods are ready and no requests are queued", *c.Replicas)
}

// onlyInRole says why a restart of the workload would leave a disaggregated pool without prefill or without decode:
// pods of one role can't do the other's work.
func onlyInRole(in Input) string {
	if !in.Roles.Split() {
		return ""
	}
	ready := map[incident.Role][]string{}
	for _, p := range in.Cluster.Pods {
		if p.Terminating || !p.Ready {
			continue
		}
		role := in.Roles.Of(p.Name)
		if role == "" {
			return fmt.Sprintf("it restarts pods, and it isn't known whether %s does prefill or decode", p.Name)
		}
		ready[role] = append(ready[role], p.Name)
	}
	for _, role := range []incident.Role{incident.RolePrefill, incident.RoleDecode} {
		if len(ready[role]) == 1 {
			return fmt.Sprintf("it restarts the only %s pod, %s", role, ready[role][0])
		}
	}
	return ""
}
