//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// Tie puts the command into a process group of its own, so that an interrupt at the terminal reaches only the test.
// Only Linux can end a process with its parent.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid // the leader of a session has a group of its own
}
