package main

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
)

// keepBusy uses one processor until it reads EOF from "in", and then exits the process. The
// parent process holds the write end of the pipe, so this process ends even if the parent is
// killed.
func keepBusy(in io.Reader) {
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0)
	}()
	for block := sha256.Sum256(nil); ; {
		block = sha256.Sum256(block[:])
	}
}

// startLoad starts n busy processes. The returned function stop ends the processes and
// waits for them.
func startLoad(ctx context.Context, n int) (stop func(), err error) {
	var running []*exec.Cmd
	var pipes []io.Closer
	stop = func() {
		for _, p := range pipes {
			_ = p.Close() // closing the pipe ends the process
		}
		for _, c := range running {
			_ = c.Wait()
		}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range n {
		c := exec.CommandContext(ctx, program, "-busy")
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		running, pipes = append(running, c), append(pipes, in)
	}
	return stop, nil
}
