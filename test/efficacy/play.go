package efficacy

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/fleet"
	"github.com/vllm-medic/vllm-medic/test/fleet/trial"
)

// Stage is what all plays have in common.
type Stage struct {
	catalog *playbooks.Catalog
	runbook runbook
	rules   []byte
	log     *slog.Logger
}

// NewStage loads the built-in playbooks and the shipped alert rules.
func NewStage(log *slog.Logger) (*Stage, error) {
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		return nil, err
	}
	book, err := readRunbook()
	if err != nil {
		return nil, err
	}
	return &Stage{catalog: cat, runbook: book, rules: []byte(rules.Current), log: log}, nil
}

// Hands are who looks after the fleet, in the order of the tables.
func Hands() []string { return []string{Nobody, HPA, Naive, Human, Instant} }

// The hands.
const (
	Nobody  = "nobody"
	HPA     = "HPA"
	Naive   = "runbook, blindly"
	Human   = "bot, person on call"
	Instant = "bot, instant approval"
)

// Result is what came of one play.
type Result struct {
	Script, Hand string
	Seed         uint64

	trial.Course

	// Fired is when the first alert fired, Opened when the bot had an incident, Asked when it asked for the first time,
	// all since the script began to hurt; Never when it didn't happen.
	Fired, Opened, Asked time.Duration
	Steps                []Step
	// Undos are the rollbacks.
	Undos int
	// Epoch is the fleet's start, and Incidents are the bot's, with their journals.
	Epoch     time.Time
	Incidents []incident.Incident
}

// Never is the time of what didn't happen.
const Never = time.Duration(-1)

// onset is when a script begins to hurt, since the fleet's start.
func onset(s trial.Script) time.Duration {
	if len(s.Turns) == 0 {
		return 0 // a load is there from the beginning
	}
	return trial.WarmUp + s.Turns[0].At
}

// Play plays a script with a seed under a hand. It may be called by parallel tests.
func (st *Stage) Play(t *testing.T, s trial.Script, seed uint64, name string) Result {
	t.Helper()
	out := Result{Script: s.Name, Hand: name, Seed: seed, Fired: Never, Opened: Never, Asked: Never}
	var err error
	switch name {
	case Nobody:
		out.Course, err = trial.Watch(s, seed, trial.Nobody, trial.DefaultSLO())
	case HPA:
		out.Course, err = trial.Watch(s, seed, trial.HPA, trial.DefaultSLO())
	default:
		var changes []change
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { changes, err = st.simulated(dir, s, &out) })
		if err != nil {
			break
		}
		first := settings{Replicas: s.Replicas, Args: s.Args}
		out.Steps, err = judge(first, changes, out.Epoch, out.Course, func(some []change) (trial.Course, error) {
			return st.again(t, s, seed, some)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// player is a hand in a cluster.
type player interface {
	trial.Hand
	seen() *hand
}

// simulated is a play in a bubble. It returns the changes that were made.
func (st *Stage) simulated(dir string, s trial.Script, out *Result) (_ []change, err error) {
	var p player
	var epoch time.Time
	out.Course, err = trial.Watch(s, out.Seed, func(f *fleet.Fleet, s trial.Script) (_ trial.Hand, err error) {
		epoch = f.Now()
		p, err = st.player(dir, f, s, out)
		return p, err
	}, trial.DefaultSLO())
	if p == nil || err != nil {
		return nil, err
	}
	since := func(at time.Time) time.Duration {
		if at.IsZero() {
			return Never
		}
		return at.Sub(epoch) - onset(s)
	}
	h := p.seen()
	out.Epoch = epoch
	out.Fired = since(h.world.monitor.first)
	if b, ok := p.(*bot); ok {
		out.Incidents, err = b.journal()
		out.told(since)
		b.client.http.CloseIdleConnections()
	}
	return h.changes, errors.Join(err, h.world.close())
}

// player makes the hand.
func (st *Stage) player(dir string, f *fleet.Fleet, s trial.Script, out *Result) (player, error) {
	w, err := newWorld(dir, f, s, st, out.Hand != Naive)
	if err != nil {
		return nil, err
	}
	switch out.Hand {
	case Naive:
		return newNaive(w, st.runbook), nil
	case Human:
		return newBot(w, human(s.Name, out.Seed)), nil
	default:
		return newBot(w, instant()), nil
	}
}

// told takes from the journals when the bot did what.
func (r *Result) told(since func(time.Time) time.Duration) {
	for _, inc := range r.Incidents {
		if at := since(inc.OpenedAt); r.Opened == Never {
			r.Opened = at
		}
		for _, e := range inc.Journal {
			if e.Kind == incident.KindAsked && r.Asked == Never {
				r.Asked = since(e.At)
			}
			if e.Kind == incident.KindWritten && e.Record != nil && e.Record.Op == incident.OpUndo {
				r.Undos++
			}
		}
	}
}
