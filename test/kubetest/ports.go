package kubetest

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that is held for a process to come: bound, never listened on, and shared with SO_REUSEPORT. So nobody else gets
// it between its choice and its use, nor while a process that had it is restarted.
type port struct {
	fd     int
	number int
}

func holdPort() (port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return port{}, fmt.Errorf("hold a port: %w", err)
	}
	unix.CloseOnExec(fd)
	number, err := bindAny(fd)
	if err != nil {
		_ = unix.Close(fd)
		return port{}, fmt.Errorf("hold a port: %w", err)
	}
	return port{fd: fd, number: number}, nil
}

func bindAny(fd int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
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

// url is http://127.0.0.1:12345.
func (p port) url(scheme string) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, p.number) }

func (p port) release() { _ = unix.Close(p.fd) }
