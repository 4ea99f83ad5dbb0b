package scenarios

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
)

// OnWorkerd replays on the module in a worker under workerd, the runtime of
// Cloudflare, as npm has installed it for the package in js.
func (t Tree) OnWorkerd(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	binary, err := t.workerd()
	if err != nil {
		return nil, err
	}
	dir, err := layOut(module, transcripts)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := startWorkerd(ctx, binary, filepath.Join(dir, "workerd.capnp"))
	if err != nil {
		return nil, err
	}
	out, err := server.post(ctx, transcripts)
	if complaint := server.stop(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, complaint)
	}
	if different, ok := verdicts(out, transcripts); ok {
		return different, nil
	}
	return nil, fmt.Errorf("the driver did not report on everything:\n%s", out)
}

// workerd finds the binary itself: killing the script that npm can put before
// it would leave it running.
func (t Tree) workerd() (string, error) {
	modules := filepath.Join(t.Root, "js", "node_modules")
	for _, pattern := range []string{"@cloudflare/workerd-*/bin/workerd", "workerd/bin/workerd"} {
		found, err := filepath.Glob(filepath.Join(modules, filepath.FromSlash(pattern)))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Abs(found[0])
		}
	}
	return "", errors.New("workerd is not installed, and the scenarios must hold there as well; install it with: make js/node_modules")
}

// workerd is a process that serves on a port of its choice.
type workerd struct {
	command   *exec.Cmd
	kill      context.CancelFunc
	control   *os.File
	complaint bytes.Buffer
	url       string
}

func startWorkerd(ctx context.Context, binary, config string) (*workerd, error) {
	control, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(ctx)
	w := &workerd{command: exec.CommandContext(ctx, binary, "serve", config, "--control-fd=3"), kill: kill, control: control}
	w.command.ExtraFiles = []*os.File{theirs}
	w.command.Stderr = &w.complaint
	err = w.command.Start()
	_ = theirs.Close()
	if err != nil {
		kill()
		return nil, errors.Join(err, control.Close())
	}
	if err := w.listening(); err != nil {
		return nil, fmt.Errorf("workerd does not start: %w\n%s", err, w.stop())
	}
	return w, nil
}

// listening waits until workerd says where it listens.
func (w *workerd) listening() error {
	var event struct {
		Event string
		Port  int
	}
	if err := json.NewDecoder(w.control).Decode(&event); err != nil {
		return err
	}
	if event.Event != "listen" {
		return fmt.Errorf("%q was said instead of a port", event.Event)
	}
	w.url = fmt.Sprintf("http://127.0.0.1:%d/", event.Port)
	return nil
}

// stop ends the process and returns what it complained about.
func (w *workerd) stop() string {
	w.kill()
	_ = w.command.Wait() // it was killed, and says so
	_ = w.control.Close()
	return w.complaint.String()
}

// post sends the transcripts one by one, so that no request is large, and
// returns the reports.
func (w *workerd) post(ctx context.Context, transcripts []*coretest.Transcript) (string, error) {
	all, err := texts(transcripts)
	if err != nil {
		return "", err
	}
	var reports strings.Builder
	for _, text := range all {
		report, err := w.ask(ctx, text)
		if err != nil {
			return "", err
		}
		reports.WriteString(report + "\n")
	}
	return reports.String(), nil
}

func (w *workerd) ask(ctx context.Context, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	report, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the driver failed with HTTP %d: %s", response.StatusCode, report)
	}
	return string(report), err
}
