package postgres

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

func TestAPrivateServerAnswersUntilItIsStopped(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	s, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() error {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	if err := dial(); err != nil {
		t.Errorf("a server that is ready: %v", err)
	}
	s.stop()
	if err := dial(); err == nil {
		t.Error("a server that has been stopped takes connections")
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its data are still there: %v", err)
	}
}

func TestAServerWithoutProgramsLeavesNothing(t *testing.T) {
	t.Parallel()
	s := &server{}
	if err := s.start(t.Context(), t.TempDir()); err == nil {
		t.Error("a server started without programs")
	}
	s.stop()
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestAServerIsReadyWhenItSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "postmaster.pid")
	for text, want := range map[string]bool{
		"": false,
		"1\n/d\n2\n3\n\n127.0.0.1\n4\nstarting\n": false,
		"1\n/d\n2\n3\n\n127.0.0.1\n4\nready   \n": true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ready(path); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheNewestServerIsTaken(t *testing.T) {
	t.Parallel()
	older, newer := release("/usr/lib/postgresql/9.6/bin/initdb"), release("/usr/lib/postgresql/17/bin/initdb")
	if older != 9.6 || newer != 17 {
		t.Errorf("read as %v and %v", older, newer)
	}
}
