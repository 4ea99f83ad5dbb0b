//go:build unix && !linux

package main

import "syscall"

// detached returns attributes that protect a child process from terminal interrupts.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
