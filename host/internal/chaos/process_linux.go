package main

import "syscall"

// detached protects a process from a terminal's interrupt, and ends it with the
// thread that started it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
