package main

import "syscall"

// detached returns attributes that protect a process from a terminal's interrupt, and end
// it with the thread that started it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
