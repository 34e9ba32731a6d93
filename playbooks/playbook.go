package playbooks

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// maxRank bounds the ranks of diagnoses.
const maxRank = 1000

func (l *loader) readPlaybooks() {
	for _, doc := range l.docs {
		if doc.isPlaybook() {
			l.playbook(doc.at, doc.document)
		}
	}
	if len(l.catalog.playbooks) == 0 && !l.anyBroken() {
		l.add(strictyaml.Problem{Text: "no file holds a playbook"})
	}
	slices.SortStableFunc(l.catalog.diagnoses, func(a, b *diagnosis) int { return cmp.Compare(a.rank, b.rank) })
}

func (l *loader) playbook(at strictyaml.Value, doc document) {
	l.need(at, "name", doc.Name)
	l.need(at, "title", doc.Title)
	if doc.Name != "" {
		l.kebab(at.Key("name"), doc.Name)
		l.claim(at.Key("name"), "playbook", doc.Name)
	}
	p := &playbook{
		name: doc.Name, title: doc.Title, doc: doc.Doc,
		alerts: l.repeated(at, "alerts", doc.Alerts),
		reads:  l.repeated(at, "reads", doc.Reads),
		never:  l.nevers(at, doc.Never),
	}
	for _, name := range p.reads {
		l.knownSignal(at.Key("reads").Item(slices.Index(doc.Reads, name)), name)
	}
	l.recovery(at, p, doc.Healthy)
	if len(doc.Diagnoses) == 0 {
		l.missing(at.Key("diagnoses"), "diagnoses is missing: the playbook could tell nothing")
	}
	for i, d := range doc.Diagnoses {
		l.diagnosis(at.Key("diagnoses").Item(i), p, d)
	}
	l.catalog.playbooks = append(l.catalog.playbooks, p)
}

func (l *loader) kebab(at strictyaml.Value, name string) {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(name) {
		l.add(at.Problem("the name %q must be lower-case letters and digits, with single dashes between", name))
	}
}

func (l *loader) knownSignal(at strictyaml.Value, name string) { l.known(at, name) }

// known says whether there is such a signal, and reports it when there is not.
func (l *loader) known(at strictyaml.Value, name string) bool {
	_, ok := l.catalog.byName[name]
	if !ok && !l.anyBroken() {
		l.add(at.Problem("%s", strictyaml.NotThere("signal", name, l.catalog.SignalNames())))
	}
	return ok
}

func (l *loader) recovery(at strictyaml.Value, p *playbook, list []healthyDoc) {
	if len(list) == 0 {
		l.missing(at.Key("healthy"), "healthy is missing: nothing would tell that the trouble is over")
	}
	for i, h := range list {
		entry := at.Key("healthy").Item(i)
		l.need(entry, "rule", h.Rule)
		out := healthy{rule: l.rule(entry.Key("rule"), h.Rule), or: l.rule(entry.Key("or"), h.Or)}
		if out.rule != nil {
			p.healthy = append(p.healthy, out)
		}
	}
}

func (l *loader) diagnosis(at strictyaml.Value, owner *playbook, doc diagnosisDoc) {
	l.need(at, "name", doc.Name)
	l.need(at, "summary", doc.Summary)
	l.need(at, "source", doc.Source)
	l.need(at, "when", doc.When)
	switch {
	case doc.Rank == 0:
		l.missing(at.Key("rank"), "rank is missing: 1 is nearest to the root cause, %d farthest", maxRank)
	case doc.Rank < 0 || doc.Rank > maxRank:
		l.add(at.Key("rank").Problem("rank: %d is not between 1 and %d", doc.Rank, maxRank))
	}
	d := &diagnosis{
		name: doc.Name, owner: owner, rank: doc.Rank, summary: doc.Summary, noAction: doc.NoAction, always: doc.Always,
		own: doc.OwnAlerts, ownTarget: doc.OwnTarget, at: at,
		when:     l.rule(at.Key("when"), doc.When),
		inDoubt:  l.rule(at.Key("in_doubt"), doc.InDoubt),
		explains: l.repeated(at, "explains", doc.Explains),
		never:    l.nevers(at, doc.Never),
	}
	d.headline = l.headlines(at, doc.Headline)
	d.affected = l.affected(at, doc.Affected)
	d.compare = l.compares(at, d.affected, doc.Compare)
	if d.level = doc.Level; d.level != "" && d.level != incident.LevelWarning {
		l.add(at.Key("level").Problem("level: %s", strictyaml.NotOneOf(d.level, []string{incident.LevelWarning})))
	}
	d.steps = l.steps(at, d, doc.Steps)
	switch {
	case len(doc.Steps) == 0 && doc.NoAction == "":
		l.missing(at, "the diagnosis has no steps; say in no_action why no action is needed")
	case len(doc.Steps) > 0 && doc.NoAction != "":
		l.add(at.Key("no_action").Problem("no_action: the diagnosis has steps"))
	}
	if doc.Always && doc.OwnAlerts {
		l.add(at.Key("own_alerts").Problem("own_alerts and always contradict each other"))
	}
	if doc.OwnTarget != "" {
		if !doc.OwnAlerts {
			l.add(at.Key("own_target").Problem("own_target needs own_alerts: true"))
		}
		if !slices.Contains(targetNames(), doc.OwnTarget) {
			l.add(at.Key("own_target").Problem("own_target: %s", strictyaml.NotOneOf(doc.OwnTarget, targetNames())))
		}
	}
	if d.when != nil {
		l.sameRule(at.Key("when"), d)
	}
	absents := func(s shape) bool { return s.kind == shapeAbsent }
	if d.inDoubt != nil && !slices.ContainsFunc(d.inDoubt.conditions, absents) {
		l.add(at.Key("in_doubt").Problem("in_doubt: what has no data and would decide? Ask for it with absent()"))
	}
	if doc.Name == "" {
		return
	}
	l.kebab(at.Key("name"), doc.Name)
	if l.claim(at.Key("name"), "diagnosis", doc.Name) {
		owner.diagnoses = append(owner.diagnoses, d)
		l.catalog.diagnoses = append(l.catalog.diagnoses, d)
	}
}

// sameRule finds a diagnosis that could never be told from another.
func (l *loader) sameRule(at strictyaml.Value, d *diagnosis) {
	key := "rule " + d.when.key
	if p, taken := l.first[key]; taken {
		l.add(at.Problem("the diagnosis at %s:%d:%d has the same rule; nothing could tell the two apart", p.File, p.Line,
			p.Col))
		return
	}
	l.first[key] = at.Problem("")
}

// link resolves what refers to diagnoses of any file.
func (l *loader) link() {
	byName := map[string]*diagnosis{}
	for _, d := range l.catalog.diagnoses {
		byName[d.name] = d
	}
	playbooks := map[string]*playbook{}
	for _, p := range l.catalog.playbooks {
		playbooks[p.name] = p
	}
	for _, doc := range l.docs {
		p := playbooks[doc.Name]
		if p == nil {
			continue
		}
		for i, name := range doc.Also {
			l.also(doc.at.Key("also").Item(i), p, byName[name], name)
		}
		for i, d := range doc.Diagnoses {
			for j, name := range d.Explains {
				l.explains(doc.at.Key("diagnoses").Item(i).Key("explains").Item(j), d, byName[name], name)
			}
		}
	}
	l.reached()
}

// reached finds diagnoses that no alert leads to.
func (l *loader) reached() {
	ways := map[*diagnosis]bool{}
	for _, p := range l.catalog.playbooks {
		if len(p.alerts) == 0 {
			continue
		}
		for _, d := range slices.Concat(p.diagnoses, p.also) {
			ways[d] = true
		}
	}
	for _, d := range l.catalog.diagnoses {
		if !ways[d] && !d.always && !l.anyBroken() {
			l.add(d.at.Problem("no alert leads to this diagnosis: give its playbook alerts, list it in also of another, or " +
				"say always: true"))
		}
	}
}

func (l *loader) also(at strictyaml.Value, p *playbook, d *diagnosis, name string) {
	switch {
	case d == nil:
		l.unknownDiagnosis(at, name)
	case d.owner == p:
		l.add(at.Problem("also: %q is a diagnosis of this playbook already", name))
	case slices.Contains(p.also, d):
		l.add(at.Problem("also: %s", strictyaml.Twice(name)))
	default:
		p.also = append(p.also, d)
	}
}

func (l *loader) explains(at strictyaml.Value, cause diagnosisDoc, symptom *diagnosis, name string) {
	switch {
	case symptom == nil:
		l.unknownDiagnosis(at, name)
	case symptom.name == cause.Name:
		l.add(at.Problem("explains: a diagnosis does not explain itself"))
	case symptom.rank <= cause.Rank:
		l.add(at.Problem("explains: %q has rank %d, which is not above %d: the cause must rank before what it explains",
			name, symptom.rank, cause.Rank))
	}
}

func (l *loader) unknownDiagnosis(at strictyaml.Value, name string) {
	if name != "" && !l.anyBroken() {
		var known []string
		for _, d := range l.catalog.diagnoses {
			known = append(known, d.name)
		}
		l.add(at.Problem("%s", strictyaml.NotThere("diagnosis", name, known)))
	}
}
