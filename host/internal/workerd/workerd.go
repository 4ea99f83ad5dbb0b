// Package workerd runs Cloudflare's runtime, as npm has installed it for the
// package in js.
package workerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Find finds the binary in a checkout; that itself, because killing the script
// that npm can put before it would leave it running.
func Find(root string) (string, error) {
	modules := filepath.Join(root, "js", "node_modules")
	for _, pattern := range []string{"@cloudflare/workerd-*/bin/workerd", "workerd/bin/workerd"} {
		found, err := filepath.Glob(filepath.Join(modules, filepath.FromSlash(pattern)))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Abs(found[0])
		}
	}
	return "", errors.New("workerd is not installed; install it with: make js/node_modules")
}

// Process serves on the port that its configuration names, or on one of its
// choice.
type Process struct {
	command   *exec.Cmd
	kill      context.CancelFunc
	control   *os.File
	complaint bytes.Buffer
	done      chan struct{}
	port      int
}

// Config is what to run: the binary, a configuration with one socket, more flags
// and more environment than this process has.
type Config struct {
	Binary, Path string
	Flags, Env   []string
}

// Start runs a configuration. The process ends with ctx, or by Stop, which the
// caller owes it in any case.
func Start(ctx context.Context, config Config) (*Process, error) {
	control, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(ctx)
	arguments := append([]string{"serve", config.Path, "--control-fd=3"}, config.Flags...)
	p := &Process{command: exec.CommandContext(ctx, config.Binary, arguments...), kill: kill, control: control, done: make(chan struct{})}
	p.command.Env = append(os.Environ(), config.Env...)
	p.command.ExtraFiles = []*os.File{theirs}
	p.command.Stderr = &p.complaint
	apart(p.command)
	err = p.command.Start()
	_ = theirs.Close()
	if err != nil {
		kill()
		return nil, errors.Join(err, control.Close())
	}
	go func() { // ends with the process
		_ = p.command.Wait() // it was killed, and says so
		close(p.done)
	}()
	if err := p.listening(); err != nil {
		return nil, fmt.Errorf("workerd does not start: %w\n%s", err, p.Stop())
	}
	return p, nil
}

// listening waits until workerd says where it listens.
func (p *Process) listening() error {
	var event struct {
		Event string
		Port  int
	}
	err := json.NewDecoder(p.control).Decode(&event)
	if errors.Is(err, io.EOF) {
		return errors.New("it ended before it listened")
	}
	if err != nil {
		return err
	}
	if event.Event != "listen" {
		return fmt.Errorf("%q was said instead of a port", event.Event)
	}
	p.port = event.Port
	return nil
}

// Address is host:port of its socket.
func (p *Process) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// Pid is its process id.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the process and returns what it complained about.
func (p *Process) Stop() string {
	p.kill()
	<-p.done
	_ = p.control.Close()
	return p.complaint.String()
}
