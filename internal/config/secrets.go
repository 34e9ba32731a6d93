package config

import (
	"regexp"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Secret is a value that never shows in text, logs or JSON. Use Reveal where it is sent. One from a file changes with
// the file, so nobody keeps what Reveal returns.
type Secret struct{ now func() string }

// Fixed is a secret that never changes.
func Fixed(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{func() string { return value }}
}

// String hides the value.
func (Secret) String() string { return redact.Hidden }

// GoString hides the value.
func (Secret) GoString() string { return redact.Hidden }

// MarshalText hides the value.
func (Secret) MarshalText() ([]byte, error) { return []byte(redact.Hidden), nil }

// Reveal is the value itself, as it is now; empty when there is none.
func (s Secret) Reveal() string {
	if s.now == nil {
		return ""
	}
	return s.now()
}

// Equal compares the values.
func (s Secret) Equal(o Secret) bool { return s.Reveal() == o.Reveal() }

// Webhook is what Alertmanager has to present. The zero value demands nothing.
type Webhook struct {
	user            string
	token, password Secret
	// clientNames are those of which one must be in the client certificate; nil: none is demanded.
	clientNames []string
}

// Current is what Alertmanager has to present now.
func (w Webhook) Current() credential.Credential {
	return credential.Credential{
		BearerToken: w.token.Reveal(), User: w.user, Password: w.password.Reveal(), ClientNames: w.clientNames,
	}
}

// offline stands in for secrets that are not read.
const offline = "offline"

// secret reads a value from the environment variable or the file that the configuration names. parse makes the secret
// of it or says what is wrong with it, then and whenever the file has changed; nil takes it as it is. The value itself
// never stands in an error.
func (l *loader) secret(path, env, file string, needed bool, parse func(string) (string, error)) Secret {
	if parse == nil {
		parse = func(v string) (string, error) { return v, nil }
	}
	switch {
	case env != "" && file != "":
		l.at(path+"_env", "give %s_env or %s_file, not both", last(path), last(path))
		return Secret{}
	case env == "" && file == "":
		if needed {
			l.at(path+"_env", "is required: the name of an environment variable that holds it, or use %s_file", last(path))
		}
		return Secret{}
	case l.unread(path):
		return Fixed(offline)
	case env != "":
		v, ok := l.opts.Getenv(env)
		if v = strings.TrimSpace(v); !ok || v == "" {
			l.at(path+"_env", "the environment variable %s is unset or empty", shownVariable(env))
			return Secret{}
		}
		v, err := parse(v)
		if err != nil {
			l.at(path+"_env", "%v", err)
		}
		return Fixed(v)
	}
	s, err := reread.SecretFile(l.files, path+"_file", l.file(file), parse)
	if err != nil {
		l.at(path+"_file", "%s", strings.Replace(err.Error(), l.file(file), shownFile(file), 1))
		return Secret{}
	}
	return Secret{s.Value}
}

// unread says that the secrets of a setting are not read.
func (l *loader) unread(path string) bool {
	return l.opts.Offline || l.opts.PrometheusOnly && !strings.HasPrefix(path, "prometheus.")
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
