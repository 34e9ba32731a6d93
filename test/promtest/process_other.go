//go:build !linux

package promtest

import "syscall"

// attributes: only Linux can end a process with its parent.
func attributes() *syscall.SysProcAttr { return nil }
