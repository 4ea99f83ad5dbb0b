package workerd

import (
	"os/exec"
	"syscall"
)

// apart protects the process from a terminal's interrupt, because the parent ends the
// process when necessary. If the parent is killed, the kernel ends the process.
func apart(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
