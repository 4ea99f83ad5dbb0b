//go:build unix && !linux

package workerd

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's interrupt from the process: whoever started it ends it,
// when it is time.
func apart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
