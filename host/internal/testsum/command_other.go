//go:build !unix

package main

import (
	"context"
	"os/exec"
	"time"
)

// command returns a command that is killed when ctx is done.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = 10 * time.Second
	return c
}
