//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watchglass/watchglass/host/internal/freeport"
)

// process is a "watchglass serve" process.
type process struct {
	cmd     *exec.Cmd
	watch   string // address of /watch
	admin   string // address of /metrics
	kubeAPI string // address of the Kubernetes API
	ended   chan struct{}
}

// serve starts a "watchglass serve" process, and returns when it is ready.
func serve(ctx context.Context, binary, log string, flags ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	p := &process{ended: make(chan struct{})}
	for _, address := range []*string{&p.watch, &p.kubeAPI, &p.admin} {
		port, err := freeport.Reserve()
		if err != nil {
			return nil, err
		}
		*address = freeport.Address(port)
	}
	p.cmd = exec.Command(binary, append([]string{"serve", "--listen", p.watch, "--kube-api", p.kubeAPI, "--admin", p.admin}, flags...)...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer close(p.ended)
		defer out.Close()
		runtime.LockOSThread() // the kernel kills the process when the thread that started it ends
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // the caller decides whether the process was expected to end
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, p.awaitReady(ctx, log)
}

func (p *process) awaitReady(ctx context.Context, log string) error {
	for {
		response, err := http.Get("http://" + p.watch + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("/readyz returned %s", response.Status)
		}
		select {
		case <-p.ended:
			return fmt.Errorf("watchglass ended while starting, see %s", log)
		case <-ctx.Done():
			return fmt.Errorf("watchglass is not ready, see %s: %w", log, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if the process has ended
	<-p.ended
}

// running returns nil while the process runs, and an error after it has ended.
func (p *process) running() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the connector ended: %v", p.cmd.ProcessState)
	default:
		return nil
	}
}

// memory returns the resident bytes of the process.
func (p *process) memory() (int64, error) { return p.status("VmRSS:") }

// peak returns the highest number of resident bytes since the process started.
func (p *process) peak() (int64, error) { return p.status("VmHWM:") }

func (p *process) status(name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kB, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kB << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s has the process ended?", p.cmd.Process.Pid, name)
}

// busy returns the processor time that the process has used so far.
func (p *process) busy() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, in units of 10 ms
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// refusals returns the number of requests and connections that each limit has refused.
func (p *process) refusals() (map[string]int, error) {
	response, err := http.Get("http://" + p.admin + "/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), `watchglass_limit_refusals_total{reason="`)
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(rest, `"} `)
		if counts[name], err = strconv.Atoi(value); err != nil {
			return nil, fmt.Errorf("/metrics: %q: %w", lines.Text(), err)
		}
	}
	return counts, nil
}
