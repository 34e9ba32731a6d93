package config

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// store reads where incidents are kept. The Source is nil unless a file says it: then the URL may change while the bot
// runs, as far as sameDatabase lets it.
func (l *loader) store(f storeFile) (Secret, *reread.Source[string]) {
	given := 0
	for _, s := range []string{f.URL, f.URLEnv, f.URLFile} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		l.at("store", "give one of url, url_env and url_file")
		return Secret{}, nil
	}
	raw := f.URL
	switch {
	case f.URL == "" && l.unread("store.url"):
		if given > 0 {
			return Fixed(offline), nil
		}
	case f.URLEnv != "":
		raw = l.secret("store.url", f.URLEnv, "", true, nil).Reveal()
	case f.URLFile != "":
		source := l.storeFile(f.URLFile)
		if source == nil {
			return Secret{}, nil
		}
		return Secret{source.Value}, source
	}
	raw = cmp.Or(raw, "sqlite:///var/lib/vllm-medic/medic.db")
	switch scheme := schemeOf(raw); {
	case scheme == "":
		l.at("store.url", "%v", errNoStore)
	case f.URL == "":
	case hasPassword(raw):
		l.at("store.url", "must not hold a password; put the URL in a file or an environment variable and name it in "+
			"url_file or url_env")
	case scheme != "sqlite" && unreadable(raw):
		// Whatever it holds, a password included, could not be told. The parser's own words repeat it.
		l.at("store.url", "is not a valid URL: percent-encode special characters (%% is %%25)")
	}
	return Fixed(raw), nil
}

var errNoStore = errors.New("must begin with sqlite:// or postgres://")

// schemeOf is the kind of database; empty when it is none.
func schemeOf(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || rest == "" || !slices.Contains([]string{"sqlite", "postgres", "postgresql"}, scheme) {
		return ""
	}
	return scheme
}

// storeFile reads a URL from a file, now and whenever the file has changed.
func (l *loader) storeFile(file string) *reread.Source[string] {
	first := ""
	s, err := reread.SecretFile(l.files, "store.url_file", l.file(file), func(raw string) (string, error) {
		switch {
		case schemeOf(raw) == "":
			return "", errNoStore
		case schemeOf(raw) != "sqlite" && unreadable(raw):
			return "", errors.New("holds no valid URL: percent-encode special characters (% is %25)")
		case first != "" && !sameDatabase(first, raw):
			return "", errors.New("names another database than at the start; restart the bot to use that one")
		}
		first = cmp.Or(first, raw)
		return raw, nil
	})
	if err != nil {
		l.at("store.url_file", "%v", err)
	}
	return s
}

// sameDatabase says whether two URLs differ at most in who connects. With another database a running bot would lose
// sight of its own writes.
func sameDatabase(a, b string) bool {
	if a == b {
		return true
	}
	u, errA := url.Parse(a)
	v, errB := url.Parse(b)
	return errA == nil && errB == nil && u.Scheme == v.Scheme && u.Host == v.Host && u.Path == v.Path &&
		maps.EqualFunc(withoutCredentials(u), withoutCredentials(v), slices.Equal)
}

// withoutCredentials are the parameters of a URL without those that say who connects.
func withoutCredentials(u *url.URL) url.Values {
	q := u.Query()
	for _, name := range []string{"user", "password", "passfile", "sslcert", "sslkey", "sslpassword", "sslrootcert"} {
		q.Del(name)
	}
	return q
}
