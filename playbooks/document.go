package playbooks

// document is one file as people write it. A file holds signals, profiles, or one playbook; a playbook may bring signals of its own.
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

type signalDoc struct {
	Name      string   `yaml:"name"`
	Title     string   `yaml:"title"`
	Query     string   `yaml:"query"`
	Unit      string   `yaml:"unit"`
	Direction string   `yaml:"direction"`
	Floor     *float64 `yaml:"floor"`
	Ceiling   *float64 `yaml:"ceiling"`
	Target    string   `yaml:"target"`
	Source    string   `yaml:"source"`
}

type profileDoc struct {
	Name      string `yaml:"name"`
	TTFT      string `yaml:"ttft"`
	TPOT      string `yaml:"tpot"`
	QueueTime string `yaml:"queue_time"`
	E2E       string `yaml:"e2e"`
	Source    string `yaml:"source"`
}

type healthyDoc struct {
	Rule string `yaml:"rule"`
	Or   string `yaml:"or"`
}

type diagnosisDoc struct {
	Name     string     `yaml:"name"`
	Rank     int        `yaml:"rank"`
	Summary  string     `yaml:"summary"`
	Source   string     `yaml:"source"`
	When     string     `yaml:"when"`
	Explains []string   `yaml:"explains"`
	Never    []neverDoc `yaml:"never"`
	NoAction string     `yaml:"no_action"`
	Steps    []stepDoc  `yaml:"steps"`
}

type stepDoc struct {
	Throttle            *factorDoc `yaml:"throttle"`
	Replicas            *addDoc    `yaml:"replicas"`
	MaxNumBatchedTokens *factorDoc `yaml:"max_num_batched_tokens"`
	Manual              *adviceDoc `yaml:"manual"`

	Why       string `yaml:"why"`
	If        string `yaml:"if"`
	LiftAfter string `yaml:"lift_after"`
	WarmUp    string `yaml:"warm_up"`
}

type factorDoc struct {
	Factor float64 `yaml:"factor"`
}

type addDoc struct {
	Add int64 `yaml:"add"`
}

type adviceDoc struct {
	Advice string `yaml:"advice"`
}

type neverDoc struct {
	Knob   string `yaml:"knob"`
	Change string `yaml:"change"`
	Why    string `yaml:"why"`
}
