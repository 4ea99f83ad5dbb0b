//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// floodCommand is the first argument that makes this program run one kind of abuse.
const floodCommand = "flood"

// flood is a process that runs the clients of an abuse. It has the lowest priority,
// because real abusers use other machines. If the abusers ran in the process of the
// healthy readers, they would also delay those readers.
type flood struct {
	cmd   *exec.Cmd
	stdin io.Closer // closing it stops the flood
	out   strings.Builder
	ended chan struct{}
	err   error // valid once ended is closed
}

// startFlood starts a process that runs all clients of an abuse. They connect from
// 127.0.1.N, where N is the number "address".
func startFlood(a *abuse, address int, target *process) (*flood, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &flood{ended: make(chan struct{})}
	f.cmd = exec.Command(program, floodCommand, "-name", a.name, "-clients", strconv.Itoa(a.clients),
		"-address", strconv.Itoa(address), "-watch", target.watch, "-kube-api", target.kubeAPI)
	f.cmd.Stdout, f.cmd.Stderr = &f.out, os.Stderr
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The child inherits the priority of this thread. The goroutine never unlocks the
		// thread, so the thread ends with the goroutine.
		runtime.LockOSThread()
		err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19)
		if err == nil {
			err = f.cmd.Start()
		}
		started <- err
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	go func() {
		defer close(f.ended)
		f.err = f.wait(a)
	}()
	return f, nil
}

// wait waits until the process has ended, and adds its number of attempts to a.
func (f *flood) wait(a *abuse) error {
	if err := f.cmd.Wait(); err != nil {
		return fmt.Errorf("the process of %s: %w", a.name, err)
	}
	attempts, err := strconv.ParseInt(strings.TrimSpace(f.out.String()), 10, 64)
	if err != nil {
		return fmt.Errorf("the process of %s printed %q, expected a number of attempts", a.name, f.out.String())
	}
	a.attempts.Add(attempts)
	return nil
}

// stop stops the flood and waits for its process.
func (f *flood) stop() error {
	_ = f.stdin.Close() // fails if the process has ended
	<-f.ended
	return f.err
}

// runFlood is the main function of a flood process. At EOF on stdin, it stops the clients and
// prints the number of attempts.
func runFlood(args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet(floodCommand, flag.ContinueOnError)
	name := flags.String("name", "", "kind of abuse")
	clients := flags.Int("clients", 1, "number of concurrent clients")
	address := flags.Int("address", 200, "last byte of the loopback address")
	target := &process{}
	flags.StringVar(&target.watch, "watch", "", "address of /watch")
	flags.StringVar(&target.kubeAPI, "kube-api", "", "address of the Kubernetes API")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, stdin) // returns at the end of stdin or after an error
		stop()
	}()
	for _, a := range abuses(Config{}) {
		if a.name == *name {
			a.clients = *clients
			a.flood(ctx, newHost(byte(*address), target, a.receiveBuffer))
			_, err := fmt.Fprintln(stdout, a.attempts.Load())
			return err
		}
	}
	return fmt.Errorf("-name %q: no such kind of abuse", *name)
}
