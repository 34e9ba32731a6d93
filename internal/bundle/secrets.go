package bundle

import (
	"regexp"
	"strings"
)

// Sources are the names of what holds the secrets of a configuration, as far as its text tells, valid or not.
type Sources struct{ Variables, Files, Kubeconfigs []string }

var source = regexp.MustCompile(`\b[a-z_]*?(_env|_file|kubeconfig)"?\s*:\s*["']?([^\s"',}#]+)`)

// SourcesOf reads the names of the variables, files and kubeconfigs out of the text of a configuration.
func SourcesOf(text string) Sources {
	var out Sources
	for _, m := range source.FindAllStringSubmatch(text, -1) {
		switch m[1] {
		case "_env":
			out.Variables = append(out.Variables, m[2])
		case "_file":
			out.Files = append(out.Files, m[2])
		default:
			out.Kubeconfigs = append(out.Kubeconfigs, m[2])
		}
	}
	return out
}

var inKubeconfig = regexp.MustCompile(
	`(?m)\b(?:token|password|client-key-data|id-token|refresh-token|client-secret)"?` + `\s*:\s*["']?([^\s"',}]+)`)

// InKubeconfig are the secrets in a kubeconfig, and in the credentials of it.
func InKubeconfig(text string) []string {
	var out []string
	for _, m := range inKubeconfig.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	return out
}
