//go:build unix && !linux

package workerd

import (
	"os/exec"
	"syscall"
)

// apart puts the process into a separate process group, so that terminal interrupts do not reach
// it. The parent ends the process when the parent is interrupted.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
