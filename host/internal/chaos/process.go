//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child process that writes its output to a log file.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// launch starts a command and appends its output to the named file.
func launch(log string, command *exec.Cmd) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	command.Stdout, command.Stderr, command.SysProcAttr = out, out, detached()
	p := &process{cmd: command, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(p.ended)
		defer out.Close()
		runtime.LockOSThread() // the kernel kills the process when the thread that started it ends; see detached
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // the caller decides whether the process was expected to end
		}
	}()
	return p, <-started
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // fails if the process has ended

// kill kills the process, even if it is suspended, and waits until it has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// startUntilReady starts a process and returns when it is ready. If the process ends before it
// is ready, startUntilReady starts it again, because its port may still have been in use.
func startUntilReady(ctx context.Context, start func() (*process, error), ready func(context.Context) error) (*process, error) {
	for {
		p, err := start()
		if err != nil {
			return nil, err
		}
		for p.running() {
			if err = ready(ctx); err == nil {
				return p, nil
			}
			if !pause(ctx, 50*time.Millisecond) {
				p.kill()
				return nil, fmt.Errorf("%s is not ready: %w", p.cmd.Path, err)
			}
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("%s ended: %v", p.cmd.Path, p.cmd.ProcessState)
		}
	}
}

// pause waits for a duration. It returns true, or false if ctx is done first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
