//go:build unix && !linux

package main

import "syscall"

// detached returns attributes that protect a process from a terminal's interrupt.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
