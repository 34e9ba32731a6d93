package config

import (
	"os"
	"strings"
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
			l.at(path+"_env", "the environment variable %s is unset or empty", env)
			return ""
		}
		return strings.TrimSpace(v)
	}
	b, err := os.ReadFile(l.file(file)) //nolint:gosec // the path is the operator's own
	switch {
	case err != nil:
		l.at(path+"_file", "cannot be read: %v", err)
	case strings.TrimSpace(string(b)) == "":
		l.at(path+"_file", "%s is empty", file)
	}
	return strings.TrimSpace(string(b))
}

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
