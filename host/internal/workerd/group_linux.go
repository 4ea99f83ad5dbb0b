package workerd

import (
	"os/exec"
	"syscall"
)

// apart protects the process from a terminal's interrupt, because its parent ends it
// in time. If the parent is killed, the kernel ends it.
func apart(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
