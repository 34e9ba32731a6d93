package config

import (
	"regexp"

	"github.com/vllm-medic/vllm-medic/internal/promql"
)

// maxPoolName bounds a pool's name in characters. It is in the headline of every message, of which Slack takes 150, and
// a label of the bot's own metrics.
const maxPoolName = 100

// matchers refuses what no query takes: it would fail at the first incident.
func (l *loader) matchers(path string, matchers map[string]string) {
	for name, value := range matchers {
		switch at := path + "." + name; {
		case value == "":
			l.at(at, "must not be empty: it would match series without the label")
		case promql.CheckMatcher(name, "x") != nil:
			l.at(at, "is not the name of a label that a query can have: letters, digits and _, and neither __name__, le nor "+
				"quantile; use a label that the series of vLLM have in Prometheus")
		default:
			if err := promql.CheckMatcher(name, value); err != nil {
				l.at(at, "%v", err)
			}
		}
	}
	l.literal(path, matchers)
}

// expression finds what only a regular expression has. Dots, colons and brackets are in the names of models, images and
// instances too.
var expression = regexp.MustCompile(`[.)\]][*+]|[.)\]]\{\d|^\^|\$$|\||\(\?|\\[.dwsbDWSB\-/]|^[=!]?~|\*`)

// literal refuses regular expressions where values are compared as they are: such a label never matches.
func (l *loader) literal(path string, labels map[string]string) {
	for name, value := range labels {
		if expression.MatchString(value) {
			l.at(path+"."+name, "%q is compared as it is, and it reads like a regular expression; write the value in full, and "+
				"give each further value a pool of its own", value)
		}
	}
}
