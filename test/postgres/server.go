package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/vllm-medic/vllm-medic/test/ports"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// server is a private PostgreSQL on a port of 127.0.0.1, with its data in a folder of its own.
type server struct {
	url     string
	dir     string
	port    ports.Port
	process *process.Process
}

func start(ctx context.Context) (*server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s := &server{}
	if err := s.start(ctx, bin); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) start(ctx context.Context, bin string) (err error) {
	if s.dir, err = os.MkdirTemp("", "postgres-"); err != nil {
		return err
	}
	owner, err := unprivileged(s.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	// Whatever the locale of the machine is, texts are stored as production stores them.
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), //nolint:gosec // PostgreSQL's own program
		"-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: owner}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := demandPasswords(filepath.Join(data, "pg_hba.conf")); err != nil {
		return err
	}
	if s.port, err = ports.Hold(); err != nil {
		return err
	}
	// Nothing that the tests keep is worth an fsync: the durability of PostgreSQL is not what they ask about.
	//nolint:gosec,noctx // likewise; its life is that of the tests
	run := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(s.port.Number),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=400", "-c", "fsync=off")
	run.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
	if s.process, err = process.Start("postgres", s.dir, run); err != nil {
		return err
	}
	s.url = fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", s.port.Addr())
	return s.process.Await(ctx, "readiness of PostgreSQL", func(context.Context) error {
		return ready(filepath.Join(data, "postmaster.pid"))
	})
}

// WithPassword is the role whose members need their password to connect. Whoever needs one makes it: all others are let
// in without.
const WithPassword = "medic_with_password"

// demandPasswords asks the members of a role for their password, and nobody else.
func demandPasswords(hba string) error {
	rest, err := os.ReadFile(hba) //nolint:gosec // our own server's file
	if err != nil {
		return err
	}
	line := "host all +" + WithPassword + " 127.0.0.1/32 scram-sha-256\n"
	return os.WriteFile(hba, append([]byte(line), rest...), 0o600) //nolint:gosec // likewise
}

// stop ends the server at once, as nothing in it is needed again, and removes its folder.
func (s *server) stop() {
	if s.process != nil {
		s.process.Stop(syscall.SIGQUIT)
	}
	if err := errors.Join(s.port.Release(), os.RemoveAll(s.dir)); err != nil {
		fmt.Fprintf(os.Stderr, "postgres: %v\n", err)
	}
}

// ready reads the server's own note of its state, as pg_ctl does: the eighth line.
func ready(path string) error {
	b, err := os.ReadFile(path) //nolint:gosec // our own server's file
	if err != nil {
		return err
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 8 || strings.TrimSpace(lines[7]) != "ready" {
		return fmt.Errorf("it is not ready: %q", b)
	}
	return nil
}

// programs is the folder of PostgreSQL's programs: the newest of Debian's, which are not in the PATH, or those of the
// PATH.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return cmp.Compare(release(a), release(b)) })), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", fmt.Errorf("the tests need a server: install postgresql, or name a server in %s, or run the small "+
			"tests: %w", Variable, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// release is the number in /usr/lib/postgresql/17/bin/initdb; 0 when there is none.
func release(path string) float64 {
	n, err := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
	if err != nil {
		return 0
	}
	return n
}

// unprivileged gives the folder to the user postgres and returns who the server has to run as: it refuses to run as
// root. Anybody else runs it as they are.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(errUID, errGID, os.Chown(dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
