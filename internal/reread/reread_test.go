package reread_test

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/test/identity"
)

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// mount makes a folder look as the kubelet makes it: the files are links into ..data, which is a link that is replaced.
func mount(t *testing.T, dir string, version int, files map[string][]byte) {
	t.Helper()
	is := fmt.Sprintf("..2026_11_26_%d", version)
	if err := os.Mkdir(filepath.Join(dir, is), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		put(t, filepath.Join(dir, is, name), data)
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)) // there already, later on
	}
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(is, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

func authority(t *testing.T, name string) (*identity.Authority, []byte) {
	t.Helper()
	a, err := identity.NewAuthority(t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(a.File)
	if err != nil {
		t.Fatal(err)
	}
	return a, pem
}

// expires is a change of a certificate.
func expires(at time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = at }
}

// A pair is replaced as the kubelet does it. Half a pair, a key of another certificate, garbage, an empty file and a
// missing one leave the last valid pair in force, and each is logged once; the state says so until it is mended.
func TestAPairIsReplacedAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	ca, _ := authority(t, "ca")
	soon, late := time.Now().Add(time.Hour).Truncate(time.Second), time.Now().Add(9*time.Hour).Truncate(time.Second)
	firstCert, firstKey := ca.Sign(t, "first", nil, expires(soon))
	nextCert, nextKey := ca.Sign(t, "next", nil, expires(late))
	dir, set, version := t.TempDir(), &reread.Set{}, 0
	replace := func(cert, key []byte) {
		version++
		mount(t, dir, version, map[string][]byte{"tls.crt": cert, "tls.key": key})
	}
	replace(firstCert, firstKey)
	pair, err := reread.KeyPairFiles(set, "listen.tls.api.cert_file", filepath.Join(dir, "tls.crt"),
		filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	holds := func(what, want, problem string, until time.Time) {
		t.Helper()
		for range 2 { // the second time there is nothing new to say
			set.Reload(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		}
		leaf, err := x509.ParseCertificate(pair.Value().TLS.Certificate[0])
		if err != nil || leaf.Subject.CommonName != want {
			t.Errorf("%s: %s is in force, want %s: %v", what, leaf.Subject.CommonName, want, err)
		}
		m := set.Members()[0]
		if (m.State.Problem == "") != (problem == "") || !strings.Contains(m.State.Problem, problem) {
			t.Errorf("%s: the problem is %q, want %q in it", what, m.State.Problem, problem)
		}
		if !m.Validity.NotAfter.Equal(until) {
			t.Errorf("%s: it holds until %s, want %s", what, m.Validity.NotAfter, until)
		}
		if n := strings.Count(log.String(), "\n"); n > 1 || problem != "" && n != 1 {
			t.Errorf("%s: the log has %d lines:\n%s", what, n, log.String())
		}
		log.Reset()
	}
	holds("at the start", "first", "", soon)
	replace(nextCert, nextKey)
	holds("replaced", "next", "", late)
	replace(firstCert, nextKey)
	holds("a key of another", "next", "no pair", late)
	replace(firstCert[:len(firstCert)/2], firstKey)
	holds("half a certificate", "next", "no pair", late)
	replace(nil, nil)
	holds("empty", "next", "is empty", late)
	if err := os.Remove(filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	holds("gone", "next", "cannot be read", late)
	replace(firstCert, firstKey)
	holds("mended", "first", "", soon)
}

// What a secret was, is and may not become is in no log and in no state.
func TestASecretIsReplacedHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	put(t, path, []byte(" first-s3cret\n"))
	set := &reread.Set{}
	s, err := reread.SecretFile(set, "alertmanager.auth.bearer_token_file", path, func(v string) (string, error) {
		if strings.HasPrefix(v, "bad") {
			return "", errors.New("is too short")
		}
		return v, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, tt := range []struct {
		what        string
		change      func()
		want, state string
	}{
		{"as it was", func() {}, "first-s3cret", ""},
		{"in place", func() { put(t, path, []byte("second-s3cret")) }, "second-s3cret", ""},
		{"by a rename", func() {
			put(t, path+".new", []byte("third-s3cret\n"))
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, "third-s3cret", ""},
		{"while it is being written", func() { put(t, path, nil) }, "third-s3cret", "is empty"},
		{"by a bad one", func() { put(t, path, []byte("bad-s3cret")) }, "third-s3cret", "is too short"},
		{"by something that never ends", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/dev/zero", path); err != nil {
				t.Fatal(err)
			}
		}, "third-s3cret", "not a regular file"},
	} {
		tt.change()
		set.Reload(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		is := s.State().Problem
		if s.Value() != tt.want || (is == "") != (tt.state == "") || !strings.Contains(is, tt.state) {
			t.Errorf("%s: it is %q (%s), want %q (%s)", tt.what, s.Value(), is, tt.want, tt.state)
		}
	}
	if strings.Contains(log.String(), "s3cret") || strings.Count(log.String(), "\n") != 5 {
		t.Errorf("the log:\n%s", log.String())
	}
}

// While authorities change, both are there: the file holds as long as the last of them. A file that ends within a
// certificate is being written, though the certificates before it could be read.
func TestAFileOfAuthoritiesIsTakenWhole(t *testing.T) {
	t.Parallel()
	_, old := authority(t, "old")
	_, next := authority(t, "next")
	both := append(bytes.Clone(old), next...)
	path, set := filepath.Join(t.TempDir(), "ca.crt"), &reread.Set{}
	put(t, path, old)
	s, err := reread.AuthorityFile(set, "listen.tls.api.client_ca_file", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		data, want []byte
		problem    string
	}{
		{both, both, ""},
		{append(bytes.Clone(both), next[:len(next)/2]...), both, "ends within a certificate"},
		{[]byte("no certificate"), both, "holds no certificate"},
		{next, next, ""},
	} {
		put(t, path, tt.data)
		set.Reload(t.Context(), slog.New(slog.DiscardHandler))
		if is := s.State().Problem; !bytes.Equal(s.Value().PEM, tt.want) || !strings.Contains(is, tt.problem) ||
			(is == "") != (tt.problem == "") {
			t.Errorf("%q: %q (%s)", tt.data, s.Value().PEM, is)
		}
		if s.Value().Validity().NotAfter.Before(time.Now()) {
			t.Error("it holds no longer")
		}
	}
}

// What cannot be read at the start is an error that names the file: there is nothing valid to keep.
func TestNothingStartsWithoutAValidFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "empty"), nil)
	for _, name := range []string{"empty", "missing"} {
		path := filepath.Join(dir, name)
		_, asSecret := reread.SecretFile(nil, "s", path, func(v string) (string, error) { return v, nil })
		_, asPair := reread.KeyPairFiles(nil, "s", path, path)
		_, asAuthority := reread.AuthorityFile(nil, "s", path)
		for _, err := range []error{asSecret, asPair, asAuthority} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var none *reread.Set
	none.Reload(t.Context(), slog.New(slog.DiscardHandler))
	if len(none.Members()) != 0 {
		t.Error("no Set has members")
	}
}
