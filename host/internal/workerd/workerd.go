// Package workerd runs workerd, Cloudflare's runtime. npm installs the binary as a
// dependency of the package in js.
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

// Find returns the path of the binary in the checkout at root. It avoids npm's wrapper
// script, because killing that script would leave the binary running.
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

// Process is a running workerd process. It listens on the port in its configuration or, if
// that port is zero, on a free port.
type Process struct {
	command   *exec.Cmd
	kill      context.CancelFunc
	control   *os.File
	complaint bytes.Buffer
	done      chan struct{}
	port      int
}

// Config configures a process. Binary is the path of workerd, and Path is the path of a
// workerd configuration with one socket. Flags and Env are additional arguments and
// environment variables.
type Config struct {
	Binary, Path string
	Flags, Env   []string
}

// Start starts a process, and returns when it is listening. The process ends when ctx is done or
// Stop is called. The caller must call Stop, even after the process has ended.
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
		_ = p.command.Wait() // an error would only report that the process was killed
		close(p.done)
	}()
	if err := p.listening(); err != nil {
		return nil, fmt.Errorf("workerd does not start: %w\n%s", err, p.Stop())
	}
	return p, nil
}

// listening waits until workerd reports its port.
func (p *Process) listening() error {
	var event struct {
		Event string
		Port  int
	}
	err := json.NewDecoder(p.control).Decode(&event)
	if errors.Is(err, io.EOF) {
		return errors.New("it ended before it was listening")
	}
	if err != nil {
		return err
	}
	if event.Event != "listen" {
		return fmt.Errorf("expected the event listen with a port, got %q", event.Event)
	}
	p.port = event.Port
	return nil
}

// Address returns the address of the process's socket, in the form host:port.
func (p *Process) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// Pid returns the ID of the process.
func (p *Process) Pid() int { return p.command.Process.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop kills the process, waits until it has ended, and returns its standard error.
func (p *Process) Stop() string {
	p.kill()
	<-p.done
	_ = p.control.Close()
	return p.complaint.String()
}
