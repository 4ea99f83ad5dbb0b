//go:build unix && !linux

package main

import "syscall"

// detached keeps a terminal's interrupt from a process.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
