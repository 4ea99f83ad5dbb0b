//go:build unix && !linux

package workerd

import (
	"os/exec"
	"syscall"
)

// apart protects the process from a terminal's interrupt, because the parent ends the
// process when necessary.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
