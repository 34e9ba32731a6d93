// Package report works out what a team looks at once a week: how many incidents there were, what helped, what never
// did, how long people took, and which alert rules were noise. Incidents with their journals go in, one after the
// other, and nothing of them is kept but counts and lengths of time. It decides by itself and touches nothing.
//
// What is not known is left out and counted as such: a median of one sample, a recovery that nobody saw, the end of an
// incident that is open.
package report

import (
	"encoding/json"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Period is what a report is about: the incidents that were opened in [Since, Until), of one pool or of all.
type Period struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Pool is empty for all pools.
	Pool string `json:"pool,omitempty"`
}

// Opened is the period as the store is asked for it.
func (p Period) Opened() incident.Opened {
	return incident.Opened{Since: p.Since, Until: p.Until, Pool: p.Pool, AllPools: p.Pool == ""}
}

// Report is what -o json prints and the API answers. A figure that is null is not known; Spread and Share say of how
// many incidents one is.
type Report struct {
	Period

	// At is when it was made. What is still going on counts until then.
	At time.Time `json:"at"`
	// Earlier counts incidents from before the period that were open in it. They count in no other figure.
	Earlier int `json:"earlier"`
	// Unreadable are the ids of incidents that could not be read. They count nowhere.
	Unreadable []string `json:"unreadable,omitempty"`
	// KeptSince is set where the period begins before it: closed incidents from before it may have been removed.
	KeptSince time.Time `json:"keptSince,omitzero"`
	// Total is over all pools, without dry runs. Pools and Causes are the same by pool and by cause, the longest in
	// trouble first; a cause is the name of a diagnosis, or empty.
	Total  Figures `json:"total"`
	Pools  []Group `json:"pools"`
	Causes []Group `json:"causes"`
	// Steps are the changes by pool, cause and action. Stopped are approved steps that were not written after all.
	Steps   []Step    `json:"steps"`
	Stopped []Stopped `json:"stopped"`
	// Rules are the alert rules of all incidents, dry runs too, those that fired in most of them first.
	Rules   []Rule   `json:"rules"`
	DryRuns []DryRun `json:"dryRuns"`
	// Unrouted are the names of alerts that led to no pool.
	Unrouted []string `json:"unrouted"`
	// Pauses are those in force when the report was made; Stopped has the writes that pauses stopped. Pauses that have
	// ended leave no trace.
	Pauses []incident.Pause `json:"pauses"`
}

// Group is the figures of one pool or cause.
type Group struct {
	Name string `json:"name"`
	Figures
}

// Figures count some incidents.
type Figures struct {
	Incidents int `json:"incidents"`
	Open      int `json:"open"`
	// ByItself are the closed incidents that recovered without a change by the bot; Of are all that are closed.
	ByItself Share `json:"recoveredOnItsOwn"`
	// Trouble is from opening until recovery, or until the end, or until now.
	Trouble    Seconds   `json:"troubleSeconds"`
	ToMessage  Spread    `json:"toMessage"`
	ToDecision Spread    `json:"toDecision"`
	ToRecover  Spread    `json:"toRecover"`
	Approvals  Approvals `json:"approvals"`
	Rollbacks  Rollbacks `json:"rollbacks"`
	Changes    Changes   `json:"changes"`
}

// Share is N of Of.
type Share struct {
	N  int `json:"n"`
	Of int `json:"of"`
}

// Approvals are the requests for approval of a step, by how they ended.
type Approvals struct {
	Requests int `json:"requests"`
	Approved int `json:"approved"`
	Denied   int `json:"denied"`
	// Unanswered ended without a word of anybody; Partly with fewer approvals than were needed.
	Unanswered int `json:"unanswered"`
	Partly     int `json:"partly"`
	// Withdrawn had nothing to ask any more: the pool recovered, or another plan took its place. Open are still asked.
	Withdrawn int `json:"withdrawn"`
	Open      int `json:"open"`
	// Wait is from the request to the answer that settled it.
	Wait Spread `json:"wait"`
	// By are the decisions by where they came from: "slack", "kubernetes" (the command line and the API), "policy".
	By []Surface `json:"by"`
}

// Surface is where decisions came from.
type Surface struct {
	Name     string `json:"name"`
	Approved int    `json:"approved"`
	Denied   int    `json:"denied"`
}

// Rollbacks are the requests to roll back a step that did not help, by how they ended.
type Rollbacks struct {
	Requests   int `json:"requests"`
	RolledBack int `json:"rolledBack"`
	Kept       int `json:"kept"`
	Unanswered int `json:"unanswered"`
	Other      int `json:"other"`
}

// Changes are the writes of steps and what became of them.
type Changes struct {
	Made int `json:"made"`
	// Helped were verified as recovered or improved.
	Helped int `json:"helped"`
	// Undone were rolled back by people or policy, Lifted by the bot after recovery, as mitigations are. Reverted were
	// changed by somebody else since. Unsure: nobody knows whether the write took effect.
	Undone   int `json:"undone"`
	Lifted   int `json:"lifted"`
	Reverted int `json:"reverted"`
	Unsure   int `json:"unsure"`
}

// Step is the changes of one action on one pool for one cause.
type Step struct {
	Pool   string `json:"pool"`
	Cause  string `json:"cause"`
	Action string `json:"action"`
	Changes
	// Failed were verified as unchanged or worse. The rest has no verdict, or an inconclusive one.
	Failed int `json:"failed"`
}

// NeverHelped says that it was tried more than once, and each time the signals said that it did not help. Verdicts that
// are missing prove nothing.
func (s Step) NeverHelped() bool { return s.Helped == 0 && s.Failed >= 2 }

// Stopped is approved steps that were not written, by why.
type Stopped struct {
	Pool   string  `json:"pool"`
	Cause  string  `json:"cause"`
	Action string  `json:"action"`
	Why    StopWhy `json:"why"`
	Count  int     `json:"count"`
}

// StopWhy is why an approved step was not written.
type StopWhy string

// The reasons, from the check before the write and from the write itself.
const (
	StopPaused    StopWhy = "paused"
	StopLocked    StopWhy = "locked"
	StopDrift     StopWhy = "drift"
	StopDiagnosis StopWhy = "other_diagnosis"
	StopPlan      StopWhy = "other_plan"
	StopApproval  StopWhy = "approval"
	StopUnread    StopWhy = "unread"
	StopRefused   StopWhy = "refused"
)

// Rule is an alert rule and what came of the incidents that it fired in.
type Rule struct {
	Name      string `json:"name"`
	Incidents int    `json:"incidents"`
	// Alone are those in which no other rule fired. With is the rule that fired in most of the others.
	Alone int    `json:"alone"`
	With  string `json:"with,omitempty"`
	// Closed are those that have ended. Quick recovered within Quickly without a change; Unexplained ended without a
	// diagnosis although the signals were read.
	Closed      int     `json:"closed"`
	Quick       int     `json:"quick"`
	Unexplained int     `json:"unexplained"`
	Noise       []Noise `json:"noise"`
}

// Noise is why a rule is noise.
type Noise string

// The kinds of noise.
const (
	NoiseQuick       Noise = "recovers_on_its_own"
	NoiseUnexplained Noise = "no_finding"
	NoiseNeverAlone  Noise = "never_alone"
)

// Quickly is how soon an incident that nobody had to do anything about has recovered.
const Quickly = 5 * time.Minute

// DryRun is what the bot would have done on a pool whose incidents were dry runs.
type DryRun struct {
	Pool  string `json:"pool"`
	Cause string `json:"cause"`
	// Action is empty where no step could have been run.
	Action    string `json:"action"`
	Incidents int    `json:"incidents"`
	// Passed are those in which the dry run was approved and accepted.
	Passed int `json:"passed"`
	// ByItself are the closed ones that recovered all the same.
	ByItself Share `json:"recoveredOnItsOwn"`
}

// Spread is how long something took. Of is in how many incidents, or requests, it could have been seen, and Samples in
// how many it was. Below LeastMedian samples there is no median, and below LeastP90 no p90.
type Spread struct {
	Samples int      `json:"samples"`
	Of      int      `json:"of"`
	Median  *Seconds `json:"medianSeconds"`
	P90     *Seconds `json:"p90Seconds"`
	Longest *Seconds `json:"longestSeconds"`
}

// How many samples a median and a p90 need. Of fewer a p90 is just the longest.
const (
	LeastMedian = 3
	LeastP90    = 10
)

// Seconds is a length of time, in JSON a number of seconds.
type Seconds time.Duration

// MarshalJSON writes seconds, to the millisecond.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(s).Round(time.Millisecond).Seconds())
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*s = Seconds(time.Duration(v * float64(time.Second)).Round(time.Millisecond))
	return nil
}

// Empty says that there is nothing to report.
func (r Report) Empty() bool {
	return r.Total.Incidents == 0 && len(r.DryRuns) == 0 && len(r.Unrouted) == 0 && len(r.Unreadable) == 0
}
