package playbooks

// Filled is a command with names in it.
func Filled(line string, values map[string]string) (text string, ok bool) {
	return names(values).fill(line)
}

// OneWord is a name as a word of a shell.
func OneWord(value string) (word string, ok bool) { return oneWord(value) }

// WrongCommand says what is wrong with a command.
func WrongCommand(line string) string { return wrongCommand(line) }

// Answer is what a playbook does about one of its own diagnoses.
type Answer struct {
	Doc, Diagnosis, NoAction string
	// Kinds are those of the bot's own steps.
	Kinds  []string
	Manual []Advised
}

// Advised is a manual step.
type Advised struct {
	Advice   string
	Commands []string
}

// Answers are those of all diagnoses, in the order of the files.
func (c *Catalog) Answers() []Answer {
	var out []Answer
	for _, p := range c.playbooks {
		for _, d := range p.diagnoses {
			a := Answer{Doc: p.doc, Diagnosis: d.name, NoAction: d.noAction}
			for _, s := range d.steps {
				if _, runs := s.request.Kind.Knob(); runs {
					a.Kinds = append(a.Kinds, string(s.request.Kind))
					continue
				}
				a.Manual = append(a.Manual, Advised{s.request.Advice, s.request.Commands})
			}
			out = append(out, a)
		}
	}
	return out
}
