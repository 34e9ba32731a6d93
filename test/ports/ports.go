// Package ports gives tests addresses for programs that are yet to be started: free when they are given out, and nobody else's until they are released.
package ports

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Hold returns an address of 127.0.0.1 that stays free for a server that says its port by number, until release is called. The port is bound with
// SO_REUSEADDR and never listened on: a listener that sets SO_REUSEADDR, as Go's do, may bind it too, again and again, while nobody who asks for any
// free port is given it.
func Hold() (addr string, release func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, fmt.Errorf("hold a port: %w", err)
	}
	unix.CloseOnExec(fd)
	number, err := bind(fd)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("hold a port: %w", err), unix.Close(fd))
	}
	return fmt.Sprintf("127.0.0.1:%d", number), func() error { return unix.Close(fd) }, nil
}

func bind(fd int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
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

// ForTest is Hold until the test ends.
func ForTest(t testing.TB) string {
	t.Helper()
	addr, release, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Errorf("release %s: %v", addr, err)
		}
	})
	return addr
}
