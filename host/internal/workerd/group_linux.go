package workerd

import (
	"os/exec"
	"syscall"
)

// apart keeps a terminal's interrupt from the process: whoever started it ends it,
// when it is time. Where that one is killed, and cannot, the kernel does.
func apart(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
