package remediation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Investigator finds out what is wrong with a pool and what can be done about it: it reads the live state, has the
// playbooks diagnose it, works out the steps that they ask for, and asks the guardrails about each. It writes nothing
// and keeps nothing, and is safe for use by several goroutines. Use NewInvestigator.
type Investigator struct {
	router router
	policy policy.Settings
	deps   InvestigatorDeps
}

// InvestigatorDeps are what an investigation asks. All are needed, except Live and DryRun, which are nil when no
// Kubernetes is configured, and Ledger, which is nil where there is no store: then no guardrail finds an earlier write,
// a lock or a pause. The engine always has one. LastWrites is nil where writes without a record are not looked for.
type InvestigatorDeps struct {
	Collector  Collector
	Playbooks  Diagnoser
	Ledger     Ledger
	Live       Proposer
	DryRun     Proposer
	LastWrites LastWrites
	Logger     *slog.Logger
	// Now is the present time; time.Now in production.
	Now func() time.Time
}

// NewInvestigator refuses a missing dependency by name and invalid settings, all errors at once.
func NewInvestigator(pools []incident.Pool, settings policy.Settings, deps InvestigatorDeps) (*Investigator, error) {
	var errs []error
	for name, missing := range map[string]bool{
		"Collector": deps.Collector == nil, "Playbooks": deps.Playbooks == nil, "Logger": deps.Logger == nil,
		"Now": deps.Now == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("remediation: %s is missing", name))
		}
	}
	for _, e := range settings.Validate() {
		errs = append(errs, errors.New("policy: "+e))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Investigator{router: router{pools: pools, owners: deps.Collector}, policy: settings, deps: deps}, nil
}

// Investigation is what was read of a pool at one time, what it means, and the steps that follow.
type Investigation struct {
	Evidence incident.Evidence
	Result   playbooks.Result
	Steps    []incident.Step
	// Guards is what the guardrails of the steps knew; nil where there were none to ask.
	Guards *incident.GuardInputs
	// Unread says that the live values behind one of the steps could not be read, which is refused for that.
	Unread bool
	// NotNarrowed says why a smaller change that a person chose cannot be proposed.
	NotNarrowed map[incident.StepKind]incident.Reason

	signals []incident.Signal
	records records
}

// Investigate reads the live state of a pool and works out diagnosis and steps. It never fails as a whole: a reading
// that failed says so itself, and so does a step that cannot be worked out, which is refused.
func (i *Investigator) Investigate(ctx context.Context, pool incident.Pool, inc incident.Incident) Investigation {
	return i.investigate(ctx, pool, inc, true)
}

func (i *Investigator) investigate(
	ctx context.Context, pool incident.Pool, inc incident.Incident, usual bool,
) Investigation {
	found := i.diagnose(ctx, pool, inc, usual)
	found.records = i.readRecords(ctx, pool, inc)
	if len(found.Result.Steps) > 0 {
		known := i.guardInputs(ctx, pool, inc)
		found.Guards = &known
	}
	for _, req := range found.Result.Steps {
		s, why, err := i.proposeChosen(ctx, pool, inc, req, found)
		if why.Kind != "" {
			if found.NotNarrowed == nil {
				found.NotNarrowed = map[incident.StepKind]incident.Reason{}
			}
			found.NotNarrowed[req.Kind] = why
		}
		if err != nil {
			found.Unread = true
			i.deps.Logger.WarnContext(ctx, "a step cannot be worked out",
				"incident", inc.ID, "pool", pool.Name, "kind", req.Kind, "err", err)
		}
		s.Guardrails = append(s.Guardrails, found.records.caution(s)...)
		found.Steps = append(found.Steps, s)
	}
	return found
}

// assess is Investigate without the steps and so without a dry-run, and without what is usual for the pool: for a turn
// after which no plan can follow.
func (i *Investigator) assess(ctx context.Context, pool incident.Pool, inc incident.Incident) Investigation {
	return i.diagnose(ctx, pool, inc, false)
}

func (i *Investigator) diagnose(
	ctx context.Context, pool incident.Pool, inc incident.Incident, usual bool,
) Investigation {
	signals := i.deps.Playbooks.Signals(inc.AlertNames())
	scope := incident.Scope{Alerts: inc.Alerts, Usual: usual}
	if inc.Drill != nil {
		scope.Scenario = inc.Drill.Scenario
	}
	found := Investigation{Evidence: i.deps.Collector.Collect(ctx, pool, signals, scope), signals: signals}
	i.markOwn(ctx, pool, inc, found.Evidence.Cluster.Changes, found.Evidence.At)
	in := playbooks.Input{Alerts: inc.Alerts, Pool: pool, Evidence: found.Evidence}
	if r := found.Evidence.Recorded; r != nil {
		in.Pool.SLO = r.SLO
	}
	if inc.Diagnosis != nil {
		in.PlannedFor = inc.Diagnosis.Name
	}
	found.Result = i.deps.Playbooks.Diagnose(in)
	if inc.OnlyTest() {
		found.Result = ofTest(found.Result)
	}
	found.Evidence.Readings = found.Result.Readings
	return found
}

// ofTest is what a test alert leads to: it is shown, and nobody has anything to do. How the pool is doesn't matter for
// that: an alert of its own would say it.
func ofTest(r playbooks.Result) playbooks.Result {
	return playbooks.Result{
		Readings: r.Readings, Targets: r.Targets, Healthy: incident.True,
		Note: "This is a test alert. It arrived, so the way from Alertmanager to this message works. No action is needed.",
	}
}

// event is what the investigation means to its incident.
func (f Investigation) event() incident.Investigated {
	steps := slices.Clone(f.Steps)
	for n := range steps {
		steps[n].Worked = nil
	}
	return incident.Investigated{
		Evidence: f.Evidence, Diagnosis: f.Result.Diagnosis, Others: f.Result.Others, Steps: steps, Unread: f.Unread,
		Healthy: f.Result.Healthy, Note: f.Result.Note, NotNarrowed: f.NotNarrowed,
		Unrecorded: f.records.notes,
	}
}

// sameCause says whether the diagnosis on which the incident's plan rests was found again.
func (f Investigation) sameCause(inc incident.Incident) bool {
	return inc.Diagnosis != nil && f.Result.Diagnosis != nil && f.Result.Diagnosis.Name == inc.Diagnosis.Name
}

// asks says whether the runbook asks for a step of a kind.
func (f Investigation) asks(k incident.StepKind) bool {
	return slices.ContainsFunc(f.Result.Steps, func(r incident.StepRequest) bool { return r.Kind == k })
}

// partial says whether some of what was asked for could not be read, so that what was not found may be there.
func (f Investigation) partial() bool {
	if f.Result.Diagnosis == nil && f.Result.Healthy == incident.Undecided {
		return true
	}
	if f.Evidence.Cluster.Error != "" && !f.Evidence.Cluster.NotConfigured {
		return true
	}
	for _, r := range f.Evidence.Readings {
		if r.Error != "" {
			return true
		}
	}
	return false
}

// otherDiagnosis says that the diagnosis of a plan was not found again, and what was found.
func (f Investigation) otherDiagnosis() incident.Reason {
	other := incident.Reason{Kind: incident.ReasonDiagnosis, Text: f.Result.Note}
	if f.Result.Diagnosis != nil {
		other.Text, other.Instead = "", f.Result.Diagnosis.Summary
	}
	return other
}

// investigate investigates a claimed incident and commits what was found.
func (e *Engine) investigate(ctx context.Context, t *turn) error {
	found := e.investigator.Investigate(ctx, t.pool, t.inc)
	return e.commit(ctx, t, found.event(), extra{found: &found})
}
