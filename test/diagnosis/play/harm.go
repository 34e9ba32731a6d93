package play

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// Harm is one thing that the bot proposed or advised although the incident calls it harmful.
type Harm struct {
	// Deed is what it does, Title how the bot said it, Why what the incident says of it.
	Deed, Title, Why string
}

// advice says what a person does who follows a piece of advice of the playbooks.
type advice struct {
	// Diagnosis gives the advice.
	Diagnosis string `yaml:"diagnosis"`
	// Text is the whole advice, as the playbook writes it, in one line.
	Text string `yaml:"text"`
	// Does are the deeds that it asks for now, Plans those for later.
	Does  []string `yaml:"does,omitempty"`
	Plans []string `yaml:"plans,omitempty"`

	said *regexp.Regexp
}

//go:embed advice.yaml
var adviceFile []byte

// readAdvice reads advice.yaml.
func readAdvice() ([]advice, error) {
	var f struct {
		Advice []advice `yaml:"advice"`
	}
	root, err := strictyaml.Parse("advice.yaml", adviceFile, maxFileSize)
	if err == nil {
		err = root.Decode(&f)
	}
	if err != nil {
		return nil, err
	}
	var wrong strictyaml.Problems
	for i := range f.Advice {
		a := &f.Advice[i]
		for _, deed := range slices.Concat(a.Does, a.Plans) {
			if !slices.Contains(diagnosis.Deeds(), deed) {
				wrong = append(wrong, root.Key("advice").Item(i).Problem("%s",
					strictyaml.NotThere("deed", deed, diagnosis.Deeds())))
			}
		}
		a.said = regexp.MustCompile("^" + filledIn(oneLine(a.Text)) + "$")
	}
	return f.Advice, wrong.Err()
}

var (
	inBraces = regexp.MustCompile(`\{[^{}\s]*\}`)
	// leftOut is what the bot leaves out where it would say nothing: a part of a list that compares pods, or a value in
	// brackets.
	leftOut = regexp.MustCompile(`[^.;:]+: \{[^{}\s]*\}[.;]|\s\((?:now|usually) \{[^{}\s]*\}\)`)
)

// filledIn is the expression of an advice as the bot says it: it fills in what is in braces.
func filledIn(text string) string {
	values := func(part string) string {
		parts := inBraces.Split(part, -1)
		for j, p := range parts {
			parts[j] = regexp.QuoteMeta(p)
		}
		return strings.Join(parts, ".*")
	}
	var out strings.Builder
	end := 0
	for _, at := range leftOut.FindAllStringIndex(text, -1) {
		part := strings.TrimRight(text[at[0]:at[1]], ".;")
		out.WriteString(values(text[end:at[0]]) + "(?:(?i:" + values(part) + ")[.;]?)?")
		end = at[1]
	}
	return out.String() + values(text[end:])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// harm compares what the bot proposed and advised with what is harmful. A step that a guardrail refuses is none: nobody
// is asked for it.
func (p *Player) harm(inc Incident, said incident.Incident) ([]Harm, error) {
	if said.Plan == nil {
		return nil, nil
	}
	var out []Harm
	for _, s := range said.Plan.Steps {
		does, plans, err := p.deeds(s)
		if err != nil {
			return nil, err
		}
		for _, h := range inc.Harmful {
			if slices.Contains(does, h.Do) || h.Planned && slices.Contains(plans, h.Do) {
				out = append(out, Harm{Deed: h.Do, Title: oneLine(s.Title), Why: oneLine(h.Why)})
			}
		}
	}
	return out, nil
}

// deeds are what a step of a plan does, now and later.
func (p *Player) deeds(s incident.Step) (does, plans []string, err error) {
	if s.Kind == incident.StepManual {
		for _, a := range p.advice {
			if a.said.MatchString(oneLine(s.Title)) {
				return a.Does, a.Plans, nil
			}
		}
		return nil, nil, fmt.Errorf("advice.yaml doesn't say what somebody does who follows %q", oneLine(s.Title))
	}
	if s.State != incident.StepProposed || !s.Executable() {
		return nil, nil, nil
	}
	return stepDeeds(s), nil, nil
}

// stepDeeds are what a step that the bot runs does. One that takes a limit back is none.
func stepDeeds(s incident.Step) []string {
	switch {
	case s.Kind == incident.StepThrottle && s.Raises():
		return nil
	case s.Kind == incident.StepThrottle:
		return []string{"throttle"}
	case s.Kind == incident.StepReplicas && s.Raises():
		return []string{"add-replicas"}
	case s.Kind == incident.StepReplicas:
		return []string{"remove-replicas"}
	}
	way := "lower-"
	if s.Raises() {
		way = "raise-"
	}
	out := []string{way + strings.ReplaceAll(string(s.Kind), "_", "-")}
	if knob, ok := s.Kind.Knob(); ok && knob.Restarts {
		out = append(out, "restart-all-pods")
	}
	return out
}
