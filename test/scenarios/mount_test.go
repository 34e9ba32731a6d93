package scenarios

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/identity"
)

// mountedTLS is the setting by which the API listener serves HTTPS with a pair of the folder mounted, which the journey
// fills.
func (j *journey) mountedTLS() string {
	ca, err := os.ReadFile(bots.File)
	if err != nil {
		j.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	j.https = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	return "{api: {cert_file: mounted/tls.crt, key_file: mounted/tls.key}}"
}

// mount puts the files of a folder where the bot reads them, as the kubelet does it with a Secret: all at once, by
// links into ..data, which leads somewhere else from then on: mount FOLDER FROM.
func mount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mount FOLDER FROM")
	}
	to, from := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(to, 0o700))
	versions, err := filepath.Glob(filepath.Join(to, "..2*"))
	ts.Check(err)
	dir, err := os.MkdirTemp(to, "..2026_11_26_03_11_01.")
	ts.Check(err)
	ts.Check(os.CopyFS(dir, os.DirFS(from)))
	files, err := os.ReadDir(from)
	ts.Check(err)
	for _, f := range files {
		if err := os.Symlink(filepath.Join("..data", f.Name()), filepath.Join(to, f.Name())); !errors.Is(err, fs.ErrExist) {
			ts.Check(err)
		}
	}
	ts.Check(os.Symlink(filepath.Base(dir), filepath.Join(to, "..data_tmp")))
	ts.Check(os.Rename(filepath.Join(to, "..data_tmp"), filepath.Join(to, "..data")))
	for _, old := range versions {
		ts.Check(os.RemoveAll(old))
	}
}

// pair writes a server's certificate and its key, tls.crt and tls.key, into a folder: pair NAME FOLDER.
func pair(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pair NAME FOLDER")
	}
	cert, key := bots.Sign(of(ts).t, args[0], nil, identity.Serving("medic.example.com"))
	ts.Check(os.MkdirAll(ts.MkAbs(args[1]), 0o700))
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[1]), name), data, 0o600))
	}
}

// served waits until the bot shows the certificate of this name to who connects: served NAME.
func served(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: served NAME")
	}
	of := of(ts)
	config := of.https.Transport.(*http.Transport).TLSClientConfig
	poll(ts, "the certificate "+args[0], func() bool {
		conn, err := (&tls.Dialer{Config: config}).DialContext(of.t.Context(), "tcp",
			strings.TrimPrefix(ts.Getenv("API"), "https://"))
		if err != nil {
			ts.Fatalf("the bot refuses a handshake: %v", err)
		}
		defer conn.Close() //nolint:errcheck // it has been used
		shown := conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject
		return shown.CommonName == args[0]
	})
}

// sighup asks the bot to read its files again; it must go on.
func sighup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 || of(ts).bot == nil {
		ts.Fatalf("usage: sighup, while a bot runs")
	}
	ts.Check(of(ts).bot.cmd.Process.Signal(syscall.SIGHUP))
}
