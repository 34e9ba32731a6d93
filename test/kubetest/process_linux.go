package kubetest

import "syscall"

// attributes put a process into a group of its own, so that an interrupt at the terminal reaches only the test, and end it with the test even when
// the test is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
