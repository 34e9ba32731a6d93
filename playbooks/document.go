package playbooks

import (
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// document is one file as people write it. A file holds signals, profiles, or one playbook; a playbook may bring
// signals of its own.
type document struct {
	Signals  []signalDoc  `yaml:"signals"`
	Profiles []profileDoc `yaml:"profiles"`

	Name      string         `yaml:"name"`
	Title     string         `yaml:"title"`
	Doc       string         `yaml:"doc"`
	Alerts    []string       `yaml:"alerts"`
	Healthy   []healthyDoc   `yaml:"healthy"`
	Never     []neverDoc     `yaml:"never"`
	Reads     []string       `yaml:"reads"`
	Also      []string       `yaml:"also"`
	Diagnoses []diagnosisDoc `yaml:"diagnoses"`
}

// isPlaybook says whether any field of a playbook is set.
func (d document) isPlaybook() bool {
	return d.Name != "" || d.Title != "" || d.Doc != "" || d.Alerts != nil || d.Healthy != nil || d.Never != nil ||
		d.Reads != nil || d.Also != nil || d.Diagnoses != nil
}

// signalDoc is a signal. It is read from Prometheus (query), from what is known of the cluster (fact), or worked out
// from two others (ratio), from the pods of others (outliers, others), or from them by version (versions) or by role
// (role, last_of_role).
type signalDoc struct {
	// The name that rules use.
	Name string `yaml:"name"`
	// What it measures, spelled out: Time to first token (TTFT), p95.
	Title string `yaml:"title"`
	// Its name in messages and charts, at most 20 characters: TTFT p95. Default: the title.
	Short string `yaml:"short"`
	// PromQL in vLLM's current metric names. It must return at most one series; $window is the range of rates,
	// $recent that of its newest part. Without a pool's matchers.
	Query string `yaml:"query"`
	// The same quantity per pod: PromQL with one series for each value of the label pod; or per data-parallel rank, with
	// one for each value of the labels pod and engine.
	Pods string `yaml:"pods"`
	// Compares the value with the pool's own history; shown as evidence, not available to rules.
	Baseline bool `yaml:"baseline"`
	// Labels whose numbers are multiplied; the result is the value, not the sample.
	Product []string `yaml:"product"`
	// Something known from Kubernetes or the alerts, instead of a query.
	Fact string `yaml:"fact"`
	// The quotient of two other signals, instead of a query.
	Ratio *ratioDoc `yaml:"ratio"`
	// The highest of the pods that are far above their peers in the same role, instead of a query; no data without such
	// pods. A pod must be far above them in each of these signals, and the first one's values count.
	Outliers []outliersDoc `yaml:"outliers"`
	// The highest of the peers of such pods, or of all pods where there are none, instead of a query: the name of the
	// signal with the outliers.
	Others string `yaml:"others"`
	// Another signal's values per pod, compared between the versions of vLLM in the pool, instead of a query.
	Versions *versionsDoc `yaml:"versions"`
	// Another signal's values of the prefill pods or of the decode pods, in a pool whose pods have these roles, instead of
	// a query. No data unless the role of every pod that serves is known.
	Role *roleDoc `yaml:"role"`
	// Signals that name pods, instead of a query: how many of these have no other pod in their role.
	LastOfRole []string `yaml:"last_of_role"`
	// Another signal, whose query is made of rates over $window, in the pool's own past at as much load, instead of a
	// query. The lowest of its parts; no data where there was no such load.
	Past string `yaml:"past"`
	// seconds, ratio (0 to 1), count, per_second, tokens or bytes.
	Unit string `yaml:"unit"`
	// higher_is_worse, lower_is_worse or neutral.
	Direction string `yaml:"direction"`
	// The first bucket of a histogram: at or below it the reading is a bound, such as "≤ 300 ms".
	Floor *float64 `yaml:"floor"`
	// The last finite bucket of a histogram: at or above it the reading is a bound, such as "≥ 60 s".
	Ceiling *float64 `yaml:"ceiling"`
	// The field of the pool's SLO that is its target: ttft, tpot, queue_time or e2e.
	Target string `yaml:"target"`
	// Many pools don't have it; without data it isn't shown.
	Optional bool `yaml:"optional"`
	// Where the definition comes from.
	Source string `yaml:"source"`
}

// ratioDoc is times x of / per.
type ratioDoc struct {
	// The numerator: another signal.
	Of string `yaml:"of"`
	// The denominator: another signal.
	Per string `yaml:"per"`
	// A factor. Default 1.
	Times *float64 `yaml:"times"`
}

// outliersDoc is a way to be far above the peers.
type outliersDoc struct {
	// Another signal, which has pods.
	Of string `yaml:"of"`
	// How many times the median of its peers an outlier exceeds; 1 or more.
	Times *float64 `yaml:"times"`
	// A pod at or below this value is no outlier. With a target: in pools without that target.
	Above *float64 `yaml:"above"`
	// The field of the pool's SLO that an outlier exceeds as well: ttft, tpot, queue_time or e2e.
	Target string `yaml:"target"`
	// How much of the target, or of above, an outlier exceeds: 0.5 for half of it, 2 for twice. Default 1.
	Share *float64 `yaml:"share"`
}

// versionsDoc takes one value out of another signal's values per pod, where the pool has several versions of vLLM and
// each of these pods' is known. The worst version is the one whose best pod is worst.
type versionsDoc struct {
	// A signal with pods.
	Of string `yaml:"of"`
	// worst: the value of the best pod of the worst version. others: that of the worst pod of all other versions.
	Take string `yaml:"take"`
}

// roleDoc takes one value out of another signal's values of the pods in a role.
type roleDoc struct {
	// A signal with pods.
	Of string `yaml:"of"`
	// prefill or decode.
	Is string `yaml:"is"`
	// mean, highest or lowest.
	Take string `yaml:"take"`
}

type profileDoc struct {
	Name      string               `yaml:"name"`
	TTFT      *strictyaml.Duration `yaml:"ttft"`
	TPOT      *strictyaml.Duration `yaml:"tpot"`
	QueueTime *strictyaml.Duration `yaml:"queue_time"`
	E2E       *strictyaml.Duration `yaml:"e2e"`
	Source    string               `yaml:"source"`
}

type healthyDoc struct {
	Rule string `yaml:"rule"`
	Or   string `yaml:"or"`
}

type diagnosisDoc struct {
	Name    string `yaml:"name"`
	Rank    int    `yaml:"rank"`
	Summary string `yaml:"summary"`
	Source  string `yaml:"source"`
	// What the headline says: the first of these lines whose values are all known; default: the worst reading. {signal} is
	// its value, {pods} are the affected pods. For example: no tokens for {silence} ({stalled_pods} of {pods_serving} pods
	// stalled).
	Headline []string `yaml:"headline"`
	// Signals that name the pods that it is about: those of the first one that names any. Headline and commands use them.
	Affected []string `yaml:"affected"`
	// Quantities in which the affected pods differ from the others; shown next to each other.
	Compare []compareDoc `yaml:"compare"`
	// warning: it is no trouble of the pool itself, and is never shown as critical.
	Level string `yaml:"level"`
	// Evaluated for every alert, whichever playbook handles it.
	Always bool `yaml:"always"`
	// Evaluated only for the alerts of its own playbook, not for unknown alerts.
	OwnAlerts bool `yaml:"own_alerts"`
	// With own_alerts: evaluated for every alert, too, where the pool sets this target itself: ttft, tpot, queue_time or
	// e2e.
	OwnTarget string `yaml:"own_target"`
	When      string `yaml:"when"`
	// True when it may be the cause, and what this asks for with absent() and would decide has no data. The message then
	// names it as a doubt. Its steps are not proposed.
	InDoubt  string     `yaml:"in_doubt"`
	Explains []string   `yaml:"explains"`
	Never    []neverDoc `yaml:"never"`
	NoAction string     `yaml:"no_action"`
	Steps    []stepDoc  `yaml:"steps"`
}

type stepDoc struct {
	Adds    addsDoc    `yaml:",inline"`
	Factors factorsDoc `yaml:",inline"`
	Manual  *adviceDoc `yaml:"manual"`

	Why string `yaml:"why"`
	If  string `yaml:"if"`
	// When the step is undone: offer asks for approval if the step made things worse or had no effect; on_recovery
	// undoes it automatically once the pool has been healthy for revert_after.
	Undo        string               `yaml:"undo"`
	RevertAfter *strictyaml.Duration `yaml:"revert_after" was:"lift_after"`
	WarmUp      *strictyaml.Duration `yaml:"warm_up"`
}

// addsDoc has a key for each knob to whose value a step adds.
type addsDoc map[incident.StepKind]*addDoc

// Keys are those of incident's table of knobs.
func (addsDoc) Keys() []string {
	return kindsOf(func(k incident.Knob) bool { return k.Adds })
}

type addDoc struct {
	Add int64 `yaml:"add"`
	// A signal that says how many times the current value the load needs. The step then goes that far: at least add
	// more, at most double. Without data it adds add.
	Times string `yaml:"times"`
}

// factorsDoc has a key for each knob whose value a step multiplies.
type factorsDoc map[incident.StepKind]*factorDoc

// Keys are those of incident's table of knobs.
func (factorsDoc) Keys() []string {
	return kindsOf(func(k incident.Knob) bool { return !k.Adds })
}

type factorDoc struct {
	Factor float64 `yaml:"factor"`
	// A signal in requests: what the factor multiplies where it is less than the current limit, so that a limit far above
	// what is in flight has an effect. Without data the factor multiplies the limit. Only for a throttle of requests in
	// parallel.
	Of string `yaml:"of"`
}

type adviceDoc struct {
	Advice string `yaml:"advice"`
	// Lines of a shell to copy, in order, with {namespace}, {pod}, {node}, {container}, {workload} and {model} in them.
	// The bot never runs them.
	Commands []string `yaml:"commands"`
}

type compareDoc struct {
	// A signal that has values of single pods.
	Of string `yaml:"of"`
	// What messages call it: TTFT p95.
	As string `yaml:"as"`
}

type neverDoc struct {
	Knob   string `yaml:"knob"`
	Change string `yaml:"change"`
	Why    string `yaml:"why"`
	// For restart: the steps that are still allowed, such as max_num_batched_tokens.
	Except []string `yaml:"except"`
}
