package main

import "syscall"

// detached keeps a terminal's interrupt from a process, and ends the process with
// the thread that started it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
