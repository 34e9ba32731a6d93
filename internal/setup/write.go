package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// schemaURL is what editors complete the file by; docs/config.md has the same line.
const schemaURL = "https://raw.githubusercontent.com/vllm-medic/vllm-medic/main/docs/config.schema.json"

// width bounds the lines of comments.
const width = 110

// Write shows a proposal as a commented medic.yaml. What is not certain is commented out, with its question.
func Write(p Proposal) []byte {
	w := &writer{}
	w.line(0, "# yaml-language-server: $schema=%s", schemaURL)
	w.head(p, "vllm-medic check --config medic.yaml --live")
	w.line(0, "mode: dry-run")
	w.section("Where the bot listens.")
	w.listen(p.Given)
	w.rest(p)
	return w.buf.Bytes()
}

// WriteValues shows a proposal as values of the Helm chart. Where the bot listens, and which token Alertmanager sends,
// are the chart's own settings.
func WriteValues(p Proposal) []byte {
	w := &writer{}
	w.head(p, Install(p, "FILE"))
	w.line(0, "config:")
	w.base = 2
	w.line(0, "mode: dry-run")
	p.Prometheus = inCluster(p.Prometheus)
	w.rest(p)
	w.base = 0
	w.monitoring(p.Connection)
	return w.buf.Bytes()
}

// rest is what both forms have.
func (w *writer) rest(p Proposal) {
	w.section("Prometheus.")
	guessLines(w, 0, p.Prometheus)
	w.prometheus(p)
	w.kubernetes(p)
	w.people(p.Given)
	w.section("Pools, one for each served model.")
	w.line(0, "pools:")
	sure := slices.DeleteFunc(slices.Clone(p.Pools), func(p Pool) bool { return !p.Sure() })
	for _, pool := range sure {
		w.pool(pool, false)
	}
	for _, pool := range p.Pools {
		if !pool.Sure() {
			w.pool(pool, true)
		}
	}
}

// Questions are how many questions a text asks.
func Questions(text []byte) int { return bytes.Count(text, []byte(questionMark)) }

// questionMark begins every question.
const questionMark = "# Question: "

type writer struct {
	buf bytes.Buffer
	// base is the indentation of all lines.
	base int
	// off comments every line out.
	off bool
}

// line is a line of the file, with its indentation.
func (w *writer) line(indent int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.off && !strings.HasPrefix(text, "# ") {
		text = "# " + text
	}
	w.buf.WriteString(strings.Repeat(" ", w.base+indent) + text + "\n")
}

// section begins a part of the file.
func (w *writer) section(title string) {
	w.buf.WriteString("\n")
	w.line(0, "# %s", title)
}

// say is a comment, in as many lines as it takes. What came from outside is made one line before.
func (w *writer) say(indent int, text string) {
	pad := strings.Repeat(" ", w.base+indent) + "# "
	at := 0
	for word := range strings.FieldsSeq(printable(text)) {
		switch {
		case at == 0:
			w.buf.WriteString(pad)
			at = len(pad)
		case at+1+len(word) > width:
			w.buf.WriteString("\n" + pad)
			at = len(pad)
		default:
			w.buf.WriteString(" ")
			at++
		}
		w.buf.WriteString(word)
		at += len(word)
	}
	if at > 0 {
		w.buf.WriteString("\n")
	}
}

func (w *writer) ask(indent int, text string) {
	if text != "" {
		w.say(indent, strings.TrimPrefix(questionMark, "# ")+text)
	}
}

func guessLines[T any](w *writer, indent int, g Guess[T]) {
	w.say(indent, g.Why)
	w.ask(indent, g.Question)
}

// head says what was read, and what to do with the file: next is a command.
func (w *writer) head(p Proposal, next string) {
	w.say(0, fmt.Sprintf("Proposed by vllm-medic init on %s.", p.At.UTC().Format(time.DateOnly)))
	for _, from := range p.From {
		w.say(0, "Read: "+from)
	}
	w.line(0, "#")
	w.say(0, "The mode is dry-run: incidents are diagnosed and steps are proposed, and nothing is changed. A comment "+
		"says where each value is from. Answer the lines with \"Question:\". Then:")
	w.line(0, "#   %s", next)
	if len(p.Notes) > 0 {
		w.line(0, "#")
	}
	for _, note := range p.Notes {
		w.say(0, "Note: "+note)
	}
}

func (w *writer) listen(given Given) {
	if given.WebhookTokenFile != "" {
		w.say(0, "From --webhook-token-file: Alertmanager sends the token in this file.")
		w.line(0, "alertmanager:")
		w.line(2, "auth: {bearer_token_file: %s}", quoted(given.WebhookTokenFile))
		return
	}
	w.ask(0, "Which token does Alertmanager send, and in which file is it in the bot's pod? Until it is named, only this "+
		"machine may post alerts. Then remove listen and use these lines.")
	w.line(0, "# alertmanager:")
	w.line(0, "#   auth: {bearer_token_file: /etc/vllm-medic/am-token}")
	w.line(0, `listen: {api: "127.0.0.1:8080"}`)
}

// prometheus has the address, and what goes with every query. Credentials are elsewhere in the bot's pod.
func (w *writer) prometheus(p Proposal) {
	w.line(0, "prometheus:")
	w.line(2, "url: %s", quoted(p.Prometheus.Value))
	for _, other := range p.Prometheus.Others {
		w.line(2, "# url: %s", quoted(other))
	}
	if len(p.Connection.Headers) > 0 {
		w.say(2, "From --header.")
		w.line(2, "headers: %s", labels(p.Connection.Headers))
	}
	if len(p.Connection.Params) > 0 {
		w.say(2, "From --param.")
		w.line(2, "extra_params: %s", labels(p.Connection.Params))
	}
	if len(p.Connection.Connection) > 0 {
		w.ask(2, "Where are the bot's own credentials and certificates? These flags were used: "+
			strings.Join(p.Connection.Connection, ", ")+". docs/config.md has the settings.")
		w.line(2, "# http_config: {authorization: {credentials_file: /etc/vllm-medic/prometheus-token}}")
	}
}

func (w *writer) kubernetes(p Proposal) {
	w.section("Kubernetes.")
	if !p.Kubernetes {
		w.ask(0, "Does the bot run in the cluster of the models? Without this section it looks at no pod and proposes no "+
			"step.")
		w.line(0, `# kubernetes: {}`)
		return
	}
	w.say(0, "The service account of the bot's pod.")
	w.line(0, `kubernetes: {}`)
}

// people are the sections about Slack and approvers, which nothing but a person can know.
func (w *writer) people(given Given) {
	w.section("Slack. Without it messages go to the log.")
	hash := ""
	if given.SlackChannel == "" {
		w.ask(0, "Which channel, workspace and app? A channel's ID is at the end of its About tab; docs/slack-setup.md "+
			"shows where the others are, and where the app's tokens come from.")
		hash = "# "
		given.SlackChannel, given.SlackTeam, given.SlackApp = "C0123456789", "T0123456789", "A0123456789"
	} else {
		w.say(0, "From --slack-channel, --slack-team and --slack-app. The tokens are the app's: docs/slack-setup.md.")
	}
	w.line(0, "%sslack:", hash)
	for _, f := range []Field{
		{"mode", "socket"},
		{"channel", quoted(given.SlackChannel)},
		{"team", quoted(given.SlackTeam)},
		{"app_id", quoted(given.SlackApp)},
		{"token_env", "SLACK_BOT_TOKEN"},
		{"app_token_env", "SLACK_APP_TOKEN"},
	} {
		w.line(0, "%s  %s: %s", hash, f.Name, f.Text)
	}
	w.section("Approvers: who may decide on a step. Nobody else can.")
	if len(given.Approvers) == 0 {
		w.ask(0, "Who? A user's ID is in the profile (Copy member ID), a group's in its menu (Copy group ID).")
		w.line(0, "# approvers: {default: {users: [U0123456789], groups: [S0123456789]}}")
		return
	}
	w.say(0, "From --approver.")
	users, groups := []string{}, []string{}
	for _, id := range given.Approvers {
		if strings.HasPrefix(id, "S") {
			groups = append(groups, quoted(id))
		} else {
			users = append(users, quoted(id))
		}
	}
	var both []string
	for name, ids := range map[string][]string{"users": users, "groups": groups} {
		if len(ids) > 0 {
			both = append(both, name+": ["+strings.Join(ids, ", ")+"]")
		}
	}
	slices.Sort(both)
	slices.Reverse(both)
	w.line(0, "approvers: {default: {%s}}", strings.Join(both, ", "))
}

// pool is one pool; with off it is commented out as a whole.
func (w *writer) pool(p Pool, off bool) {
	w.off = off
	defer func() { w.off = false }()
	if off {
		w.say(2, "This pool is not complete. Answer its questions, and uncomment it.")
	}
	w.line(2, "- name: %s", quoted(p.Name))
	guessLines(w, 4, p.Matchers)
	w.line(4, "matchers: %s", labels(p.Matchers.Value))
	if p.Match.Sure {
		w.say(4, "An alert with these labels belongs here.")
		w.line(4, "match: %s", labels(p.Match.Value))
	} else {
		guessLines(w, 4, p.Match)
		w.line(4, "# match: %s", labels(p.Match.Value))
	}
	w.workload(p.Workload)
	if !p.Autoscaler.IsZero() {
		w.say(4, fmt.Sprintf("%s scales it: the bot raises the minimum of this one, and of no other.", p.Autoscaler))
		w.line(4, "autoscaler: %s", Setting{
			{"kind", quoted(p.Autoscaler.Kind)}, {"name", quoted(p.Autoscaler.Name)},
		}.text())
	}
	w.route(p.Route)
	guessLines(w, 4, p.SLO)
	w.line(4, "slo: %s", p.SLO.Value)
	w.knobs(p.Knobs)
}

func (w *writer) workload(g Guess[incident.WorkloadRef]) {
	guessLines(w, 4, g)
	if g.Sure {
		w.line(4, "workload: %s", workload(g.Value))
		return
	}
	all := g.Others
	if !g.Value.IsZero() {
		all = append([]incident.WorkloadRef{g.Value}, all...)
	}
	for _, other := range all {
		w.line(4, "# workload: %s", workload(other))
	}
}

func (w *writer) route(g Guess[incident.RouteRef]) {
	guessLines(w, 4, g)
	if g.Sure {
		w.line(4, "http_route: %s", route(g.Value))
		return
	}
	for _, other := range g.Others {
		w.line(4, "# http_route: %s", route(other))
	}
}

func (w *writer) knobs(all []Knob) {
	if len(all) == 0 {
		return
	}
	mark := map[bool]string{true: "", false: "# "}
	indent := 4
	if slices.ContainsFunc(all, func(k Knob) bool { return k.Value != nil }) {
		w.line(4, "%sknobs:", mark[slices.ContainsFunc(all, func(k Knob) bool { return k.Sure })])
		indent = 6
	}
	for _, k := range all {
		if k.Value == nil {
			w.say(indent, fmt.Sprintf("No %s: %s", k.Kind, k.Why))
			continue
		}
		guessLines(w, 6, k.Guess)
		for n, s := range append([]Setting{k.Value}, k.Others...) {
			w.line(6, "%s%s: %s", mark[k.Sure && n == 0], k.Kind, s.text())
		}
	}
}

func (s Setting) text() string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Name + ": " + f.Text
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func workload(ref incident.WorkloadRef) string {
	s := Setting{
		{"apiVersion", quoted(ref.APIVersion)},
		{"kind", quoted(ref.Kind)},
		{"namespace", quoted(ref.Namespace)},
		{"name", quoted(ref.Name)},
	}
	if ref.Container != "" {
		s = append(s, Field{"container", quoted(ref.Container)})
	}
	return s.text()
}

func route(ref incident.RouteRef) string {
	return Setting{{"namespace", quoted(ref.Namespace)}, {"name", quoted(ref.Name)}}.text()
}

func labels(m map[string]string) string {
	var s Setting
	for _, name := range slices.Sorted(maps.Keys(m)) {
		s = append(s, Field{quoted(name), quoted(m[name])})
	}
	return s.text()
}

// plain are texts that YAML takes for what they are without quotes.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$`)

// quoted is a text as YAML has it. A JSON string is one, too.
func quoted(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plain.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	b, err := json.Marshal(strings.ToValidUTF8(text, "?"))
	if err != nil {
		return `""`
	}
	var out strings.Builder
	for _, r := range string(b) {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff { // JSON leaves them as they are, and YAML has no place for them
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// printable drops what would move a cursor or end a comment.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x2028 || r == 0x2029 || redact.Invisible(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
