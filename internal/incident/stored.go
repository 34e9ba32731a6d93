package incident

import (
	"encoding/json"
	"slices"
	"strings"
)

// The JSON of an incident only gains fields. Where a fact was once a sentence, the sentence is still written beside it,
// for older versions and for readers of the API; and where a stored incident has nothing but the sentence, the fact is
// read out of it here. No other code may do that. What was called a drill is a dry run, and is read under both names.
// What is called a drill now is "exercise".

// What "checked" of a step has always said.
const (
	checkedText    = "by the API server"
	notCheckedText = "not checked by the API server"
)

// MarshalJSON writes the step with "checked", the sentence for its check.
func (s Step) MarshalJSON() ([]byte, error) {
	type plain Step
	out := struct {
		plain
		Text string `json:"checked,omitempty"`
	}{plain: plain(s)}
	switch {
	case s.Checked.OK:
		out.Text = checkedText
	case s.Checked != Checked{}:
		out.Text = notCheckedText
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and steps that have only the sentence.
func (s *Step) UnmarshalJSON(b []byte) error {
	type plain Step
	in := struct {
		*plain
		Text string `json:"checked"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if s.Checked == (Checked{}) && in.Text != "" {
		s.Checked = Checked{OK: in.Text == checkedText, By: CheckedByServer}
	}
	return nil
}

// UnmarshalJSON fills in what an older version has written only as a path.
func (t *Target) UnmarshalJSON(b []byte) error {
	type plain Target
	if err := json.Unmarshal(b, (*plain)(t)); err != nil {
		return err
	}
	if t.Setting == "" {
		t.fromPath()
	}
	return nil
}

// fromPath reads "spec.replicas (scale)", "spec.minReplicas", "args[vllm] --max-num-batched-tokens" and
// "spec.rateLimit.local.rules[0].limit.requests", which are all the paths there were.
func (t *Target) fromPath() {
	path, sub, scaled := strings.Cut(t.Field, " (")
	if scaled {
		t.Subresource = strings.TrimSuffix(sub, ")")
	}
	if args, flag, found := strings.Cut(path, "] --"); found {
		t.Container, t.Setting = strings.TrimPrefix(args, "args["), flag
		return
	}
	t.Setting = path[strings.LastIndex(path, ".")+1:]
}

// MarshalJSON writes the cluster with "unread", the sentences for what could not be read: "recent rollouts: list
// replicasets in llm is not allowed".
func (c Cluster) MarshalJSON() ([]byte, error) {
	type plain Cluster
	out := struct {
		plain
		Texts []string `json:"unread,omitempty"`
	}{plain: plain(c)}
	for _, u := range c.Unread {
		out.Texts = append(out.Texts, u.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and clusters that have only the sentences.
func (c *Cluster) UnmarshalJSON(b []byte) error {
	type plain Cluster
	in := struct {
		*plain
		Texts []string `json:"unread"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if len(c.Unread) > 0 {
		return nil
	}
	for _, text := range in.Texts {
		c.Unread = append(c.Unread, UnreadOf(text))
	}
	return nil
}

// UnreadOf reads a sentence of "unread". A part that has no name here is called by its words.
func UnreadOf(text string) Unread {
	title, why, _ := strings.Cut(text, ": ")
	u := Unread{Part: Part(title), Why: why}
	for p, known := range partTitles {
		if known == title {
			u.Part = p
		}
	}
	return u
}

// MarshalJSON writes the diagnosis with "never", the sentences for what is against it: "raise max_num_seqs: why".
func (d Diagnosis) MarshalJSON() ([]byte, error) {
	type plain Diagnosis
	out := struct {
		plain
		Texts []string `json:"never,omitempty"`
	}{plain: plain(d)}
	for _, n := range d.Never {
		out.Texts = append(out.Texts, n.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote, and diagnoses that have only the sentences.
func (d *Diagnosis) UnmarshalJSON(b []byte) error {
	type plain Diagnosis
	in := struct {
		*plain
		Texts []string `json:"never"`
	}{plain: (*plain)(d)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if len(d.Never) > 0 {
		return nil
	}
	for _, text := range in.Texts {
		what, why, _ := strings.Cut(text, ": ")
		change, knob, _ := strings.Cut(what, " ")
		d.Never = append(d.Never, Never{Change: change, Knob: knob, Why: why})
	}
	return nil
}

// MarshalJSON writes the incident with "drill", the old name of "dryRun".
func (i Incident) MarshalJSON() ([]byte, error) {
	type plain Incident
	return json.Marshal(struct {
		plain
		Drill bool `json:"drill"`
	}{plain(i), i.DryRun})
}

// UnmarshalJSON reads an incident of any version.
func (i *Incident) UnmarshalJSON(b []byte) error {
	type plain Incident
	in := struct {
		*plain
		Drill  bool         `json:"drill"`
		Alerts storedAlerts `json:"alerts"`
	}{plain: (*plain)(i)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	in.Alerts.into(i)
	i.rename(in.Drill)
	return nil
}

// Course is an incident that is read without its readings and what was seen of the cluster: these are most of what is
// stored of it, and take most of the time.
type Course struct{ Incident }

// UnmarshalJSON reads an incident of any version, but for its evidence.
func (c *Course) UnmarshalJSON(b []byte) error {
	type plain Incident
	in := struct {
		*plain
		Drill    bool         `json:"drill"`
		Alerts   storedAlerts `json:"alerts"`
		Readings skipped      `json:"readings"`
		Cluster  skipped      `json:"cluster"`
	}{plain: (*plain)(&c.Incident)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	in.Alerts.into(&c.Incident)
	c.rename(in.Drill)
	return nil
}

// skipped is a value that is read over.
type skipped struct{}

// UnmarshalJSON reads over it.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// rename gives what older versions called otherwise the names of today.
func (i *Incident) rename(dryRun bool) {
	i.DryRun = i.DryRun || dryRun
	if i.Mode == "drill" {
		i.Mode = ModeDryRun
	}
	if i.MuteReason == "drilled" {
		i.MuteReason = MutedDryRun
	}
	i.Cluster.FillFacts()
	i.findNoteStep()
	i.findConfig()
}

// findConfig finds the example for the configuration that an older version's advice ends with.
func (i *Incident) findConfig() {
	_, config, found := strings.Cut(i.Note, "\npools:")
	if found && i.Pool == "" && i.Said.Kind == "" {
		i.Said = Note{Kind: NoteNoPool, Config: "pools:" + config}
	}
}

// findNoteStep finds the step whose reason an older version's note says.
func (i *Incident) findNoteStep() {
	if i.NoteStep != "" || i.Note == "" || i.Said.Kind != "" {
		return
	}
	steps := i.AppliedEarlier
	if i.Plan != nil {
		steps = slices.Concat(steps, i.Plan.Steps)
	}
	said := func(s Step) bool { return s.Reason != "" && strings.Contains(i.Note, s.Reason) }
	if n := slices.IndexFunc(steps, said); n >= 0 {
		i.NoteStep = steps[n].ID
	}
}

// FillFacts reads out of the reasons of pods what an older version has written only there: a newer one always writes
// the phase. Tests of playbooks may say a pod's reason alone, too. It may be called twice.
func (c *Cluster) FillFacts() {
	for n := range c.Pods {
		if p := &c.Pods[n]; p.Phase == "" {
			p.fromReason()
		}
	}
}

// fromReason reads "terminating; CrashLoopBackOff; last ended: OOMKilled, exit code 137". Parts that begin with
// "container NAME: " are of a container beside the engine, and parts with "init container NAME: " of one before it.
func (p *Pod) fromReason() {
	for n, part := range strings.Split(p.Reason, "; ") {
		if of, why, named := strings.Cut(part, ": "); named && strings.HasPrefix(of, "init container ") {
			part = why
		}
		switch {
		case n == 0 && part == "terminating":
			p.Terminating = true
		case part == "CrashLoopBackOff":
			p.CrashLooping, p.Waiting = true, part
		}
	}
	if !p.Unscheduled.IsZero() && p.Unschedulable == "" {
		p.Unschedulable = strings.TrimPrefix(p.Reason, "terminating; ")
	}
}
