package promtest

import "syscall"

// attributes put the process into a group of its own, so that an interrupt at the terminal reaches only the test, and end it even when the test
// is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
