package config

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// secret reads a value from the environment variable or the file that the configuration names. The value itself never
// stands in an error.
func (l *loader) secret(path, env, file string, needed bool) string {
	switch {
	case env != "" && file != "":
		l.at(path+"_env", "give %s_env or %s_file, not both", last(path), last(path))
		return ""
	case env == "" && file == "":
		if needed {
			l.at(path+"_env", "is required: the name of an environment variable that holds it, or use %s_file", last(path))
		}
		return ""
	case l.opts.Offline, l.opts.PrometheusOnly && !strings.HasPrefix(path, "prometheus."):
		return "offline"
	case env != "":
		v, ok := l.opts.Getenv(env)
		if !ok || strings.TrimSpace(v) == "" {
			l.at(path+"_env", "the environment variable %s is unset or empty", shownVariable(env))
			return ""
		}
		return strings.TrimSpace(v)
	}
	b, err := boundedfile.ReadRegular(l.file(file), boundedfile.MaxSecret)
	switch {
	case err != nil:
		l.at(path+"_file", "%s cannot be read: %v", shownFile(file), reason(err))
	case strings.TrimSpace(string(b)) == "":
		l.at(path+"_file", "%s is empty", shownFile(file))
	}
	return strings.TrimSpace(string(b))
}

// reason is why a file could not be read, without its name.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

var (
	// variable is what a shell takes for the name of a variable.
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// customary is how people name them.
	customary = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
)

// shownVariable is the name of a variable for an error. A word that is not written as people name variables may be a
// password, so it is not repeated.
func shownVariable(name string) string {
	if customary.MatchString(name) {
		return name
	}
	return "that it names"
}

// shownFile is the name of a file for an error. A word that looks like no path may be a password, so it is not
// repeated.
func shownFile(path string) string {
	if strings.ContainsAny(path, "/.") {
		return path
	}
	return "the file that it names"
}

// pasted refuses secrets in place of the names of what holds them: a token in token_env. No error shows the value, and
// nothing else is said of it.
func (l *loader) pasted() {
	l.root.Walk(func(path, key string, value strictyaml.Value) {
		text, single := value.Text()
		if !single || text == "" {
			return
		}
		const then = "; the value isn't shown, because it may be the secret itself. If it is, replace it wherever this " +
			"file has been stored"
		say := func(format string, args ...any) {
			p := value.Problem("%s: "+format, append([]any{path}, args...)...)
			p.Kind = strictyaml.Grammar
			l.list = append(l.list, p)
		}
		switch {
		case strings.HasSuffix(key, "_env") && (!variable.MatchString(text) || redact.Pasted(text)):
			say("must be the name of an environment variable, such as %s"+then, exampleOf(key))
		case strings.HasSuffix(key, "_file") && redact.Pasted(text):
			say("must be the path of a file, such as /run/secrets/%s"+then, strings.TrimSuffix(key, "_file"))
		}
	})
}

// exampleOf is the name of a variable for a setting: MY_TOKEN for token_env.
func exampleOf(key string) string { return "MY_" + strings.ToUpper(strings.TrimSuffix(key, "_env")) }

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
