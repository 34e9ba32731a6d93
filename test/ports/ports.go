// Package ports gives tests addresses for programs that are yet to be started: free when they are given out, and nobody
// else's until they are released.
package ports

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Port is a TCP port of 127.0.0.1 that is held: bound and never listened on. Nobody who asks for any free port is given
// it, and a server that is told its number may have it, again and again. Use Hold or HoldShared.
type Port struct {
	// Number is the port.
	Number int
	fd     int
}

// Hold is for servers that set SO_REUSEADDR, as Go's listeners do.
func Hold() (Port, error) { return hold(unix.SO_REUSEADDR) }

// HoldShared is for servers that set SO_REUSEPORT and must not share with others: kube-apiserver with
// --permit-port-sharing.
func HoldShared() (Port, error) { return hold(unix.SO_REUSEPORT) }

func hold(option int) (Port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return Port{}, fmt.Errorf("hold a port: %w", err)
	}
	unix.CloseOnExec(fd)
	number, err := bind(fd, option)
	if err != nil {
		return Port{}, errors.Join(fmt.Errorf("hold a port: %w", err), unix.Close(fd))
	}
	return Port{Number: number, fd: fd}, nil
}

func bind(fd, option int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	in4, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the socket has an address of type %T", name)
	}
	return in4.Port, nil
}

// Addr is 127.0.0.1:12345.
func (p Port) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.Number) }

// URL is http://127.0.0.1:12345.
func (p Port) URL(scheme string) string { return scheme + "://" + p.Addr() }

// Release gives the port up. It is called once; the zero Port has nothing to give up.
func (p Port) Release() error {
	if p.Number == 0 {
		return nil
	}
	return unix.Close(p.fd)
}

// ForTest returns the address of a port that is held until the test ends.
func ForTest(t testing.TB) string {
	t.Helper()
	p, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Release(); err != nil {
			t.Errorf("release %s: %v", p.Addr(), err)
		}
	})
	return p.Addr()
}
