//go:build unix && !linux

package workerd

import (
	"os/exec"
	"syscall"
)

// apart protects the process from a terminal's interrupt, because its parent ends it
// in time.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
