package playbooks

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// A manual step's commands are lines of a shell that people copy. What is put into them are names of Kubernetes, of
// which some are labels of metrics: foreign text, so each becomes one word of the shell, or the line is left out. The
// bot runs none of them.

// Bounds on the commands of one step: what a person can take in, and a line that still fits into a message.
const (
	maxCommands    = 6
	maxCommand     = 300
	maxFilled      = 600
	maxCommandWord = 253 // the longest name in Kubernetes
)

// Words of a command.
const (
	wordNamespace = "namespace"
	wordPod       = "pod"
	wordNode      = "node"
	wordContainer = "container"
	wordWorkload  = "workload"
	wordModel     = "model"
)

func commandWords() []string {
	return []string{wordNamespace, wordPod, wordNode, wordContainer, wordWorkload, wordModel}
}

// inContainer is what a command says of its container. Without it kubectl takes the pod's default container.
const inContainer = " -c {" + wordContainer + "}"

var (
	commandWord = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	plainWord   = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)
	// asProgram and asFile find a name where the shell would run it, or write to it.
	asProgram = regexp.MustCompile("(^|[|;&(`])[\\s]*\\{[A-Za-z_]")
	asFile    = regexp.MustCompile(`[<>][|&]?\s*[^\s]*\{[A-Za-z_]`)
	asPort    = regexp.MustCompile(`:[0-9]+$`)
)

// commands reads the commands of a manual step.
func (l *loader) commands(at strictyaml.Value, list []string) {
	const field = "commands"
	if len(list) > maxCommands {
		l.add(at.Key(field).Problem("commands: %d are more than %d; a person works through a few", len(list), maxCommands))
	}
	l.repeated(at, field, list)
	for i, line := range list {
		if text := wrongCommand(line); text != "" {
			l.add(at.Key(field).Item(i).Problem("commands: %s", text))
		}
	}
}

// wrongCommand says what is wrong with a command; empty: nothing.
func wrongCommand(line string) string {
	switch {
	case line == "": // said of every list
		return ""
	case strings.TrimSpace(line) == "":
		return "an entry is empty"
	case utf8.RuneCountInString(line) > maxCommand:
		return "a command has at most 300 characters"
	case !printable(line):
		return "a command is one line of text that can be seen"
	case asProgram.MatchString(line):
		return "a name from the cluster cannot be the program that the shell runs"
	case asFile.MatchString(line):
		return "a name from the cluster cannot name a file to read or write; write a fixed name"
	}
	for _, m := range commandWord.FindAllStringSubmatch(unquoted(line), -1) {
		if !slices.Contains(commandWords(), m[1]) {
			return strictyaml.NotThere("placeholder", m[1], commandWords())
		}
	}
	if rest := unquoted(line); strings.ContainsAny(rest, `'"`) {
		return "a quotation mark is never closed"
	}
	for _, word := range commandWords() {
		name := "{" + word + "}"
		if strings.Count(unquoted(line), name) != strings.Count(line, name) {
			return "write " + name + " without quotation marks: it is quoted where that is needed"
		}
	}
	return ""
}

// quotedText is what stands in quotation marks, which have no escapes here.
var quotedText = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// unquoted is a command without what stands in quotation marks.
func unquoted(line string) string { return quotedText.ReplaceAllString(line, "") }

// printable says that all of a text can be seen and is on one line: no control characters, and none that turn the
// direction of text or have no width.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// names are the values for the words of commands; one that is not known is empty.
type names map[string]string

// namesFor are the names of what the diagnosis is about: the first of its pods, or the only one of the pool.
func namesFor(pool incident.Pool, ev incident.Evidence, affected []incident.AffectedPod) names {
	ref := ev.Cluster.Workload
	if ref.IsZero() {
		ref = pool.Workload
	}
	out := names{wordContainer: ref.Container, wordModel: firstOf(pool, "model_name")}
	if out[wordContainer] == "" {
		out[wordContainer] = pool.Workload.Container
	}
	out[wordNamespace] = ref.Namespace
	if ref.Namespace == "" {
		out[wordNamespace] = firstOf(pool, "namespace")
	}
	if !ref.IsZero() {
		out[wordWorkload] = strings.ToLower(ref.Kind) + "/" + ref.Name
	}
	pods := ev.Cluster.Pods
	switch {
	case len(affected) > 0:
		first := affected[0]
		out[wordPod], out[wordNode] = first.Pod, first.Node
		if first.Container != "" {
			out[wordContainer] = first.Container
		}
	case len(pods) == 1:
		out[wordPod], out[wordNode] = pods[0].Name, pods[0].Node
	}
	if asPort.MatchString(out[wordPod]) { // the address of a target, where metrics have no label pod
		out[wordPod] = ""
	}
	return out
}

// firstOf is a label of the pool's series.
func firstOf(pool incident.Pool, label string) string {
	if v := pool.Matchers[label]; v != "" {
		return v
	}
	return pool.Match[label]
}

// fill puts the names into a command. What is not known stands there as <pod>, which no shell runs; a command in a
// namespace that is not known is left out, because nothing says that this pool is in Kubernetes. ok is false for it,
// and where a name cannot be made one word.
func (n names) fill(line string) (text string, ok bool) {
	if n[wordContainer] == "" {
		line = strings.ReplaceAll(line, inContainer, "")
	}
	ok = true
	text = commandWord.ReplaceAllStringFunc(line, func(m string) string {
		word := m[1 : len(m)-1]
		if !slices.Contains(commandWords(), word) { // in quotation marks: the command's own
			return m
		}
		value := n[word]
		if value == "" {
			ok = ok && word != wordNamespace
			return "<" + word + ">"
		}
		shown, fine := oneWord(value)
		ok = ok && fine
		return shown
	})
	return text, ok && utf8.RuneCountInString(text) <= maxFilled
}

// oneWord is a name as one word of a POSIX shell. ok is false for one that could be taken for an option, that cannot be
// seen whole, or that is longer than a name of Kubernetes.
func oneWord(value string) (word string, ok bool) {
	switch {
	case value == "", strings.HasPrefix(value, "-"), len(value) > maxCommandWord, !printable(value):
		return "", false
	case plainWord.MatchString(value):
		return value, true
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'", true
}

// fillAll are those of the commands that can be filled.
func (n names) fillAll(lines []string) []string {
	var out []string
	for _, line := range lines {
		if text, ok := n.fill(line); ok {
			out = append(out, text)
		}
	}
	return out
}
