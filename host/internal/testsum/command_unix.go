//go:build unix

package main

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// command returns a command that is killed when ctx is done, with all processes in its process
// group.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 10 * time.Second
	return c
}
