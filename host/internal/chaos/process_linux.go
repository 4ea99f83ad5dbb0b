package main

import "syscall"

// detached returns attributes that protect a child process from terminal interrupts. The kernel
// kills the child when the thread that started it ends.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
