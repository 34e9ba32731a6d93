package postgres

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// Pooled puts a PgBouncer of its own in front of the server of a URL, in a pool mode (session, transaction, statement)
// with so many connections to it, and returns the URL that leads through it. It ends with the test, a medium one.
func Pooled(t testing.TB, rawURL, mode string, connections int) string {
	t.Helper()
	size.Needs(t, size.Medium)
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's, which is not in everybody's PATH
	}
	dir, err := os.MkdirTemp("", "pgbouncer-") //nolint:usetesting // another user has to get into it
	if err != nil {
		t.Fatal(err)
	}
	port, err := ports.Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := port.Release(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = %s
default_pool_size = %d
`, u.Hostname(), u.Port(), port.Number, mode, connections)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	run := exec.Command(program, file) //nolint:gosec,noctx // its life is that of the test
	owner, err := unprivileged(dir)    // it refuses to run as root, too
	if err != nil {
		t.Fatal(err)
	}
	run.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	p, err := process.Start("pgbouncer", dir, run)
	if err != nil {
		t.Fatalf("%v; install pgbouncer", err)
	}
	t.Cleanup(func() { p.Stop(syscall.SIGQUIT) })
	err = p.Await(t.Context(), "PgBouncer", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", port.Addr())
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	u.Host = port.Addr()
	return u.String()
}
