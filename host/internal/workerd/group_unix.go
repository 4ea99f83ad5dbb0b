//go:build unix && !linux

package workerd

import (
	"os/exec"
	"syscall"
)

// apart puts the process into its own process group, so that an interrupt by the terminal
// does not reach it. The parent ends the process instead.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
