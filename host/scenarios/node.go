package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/core/coretest/replay"
)

// OnNode replays on the module under Node, with the driver of core/coretest/replay.
func OnNode(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed, and the scenarios must hold there as well; any version from 20 on will do")
	}
	dir, err := os.MkdirTemp("", "watchglass-scenarios")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, err := lay(dir, module, transcripts)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, node, args...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if different, ok := verdicts(string(out), transcripts); ok {
		return different, nil
	}
	return nil, fmt.Errorf("the driver did not come to an end: %w\n%s%s", err, out, complaint.String())
}

// lay puts driver, module and transcripts into a directory and returns the
// arguments for node.
func lay(dir string, module []byte, transcripts []*coretest.Transcript) ([]string, error) {
	files := map[string][]byte{"replay.mjs": replay.Driver, "node.mjs": replay.Node, "module.wasm": module}
	args := []string{filepath.Join(dir, "node.mjs"), filepath.Join(dir, "module.wasm")}
	for _, t := range transcripts {
		var text bytes.Buffer
		if _, err := t.WriteTo(&text); err != nil {
			return nil, err
		}
		name := t.Name + ".jsonl"
		files[name] = text.Bytes()
		args = append(args, filepath.Join(dir, name))
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// verdicts reads what the driver printed. It is complete if there is one for
// each transcript.
func verdicts(out string, transcripts []*coretest.Transcript) (map[string]error, bool) {
	different := map[string]error{}
	seen := 0
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "ok ") {
			seen++
		} else if rest, ok := strings.CutPrefix(line, "DIFFERENT "); ok {
			seen++
			name, what, _ := strings.Cut(rest, ": ")
			different[name] = errors.New(what)
		}
	}
	return different, seen == len(transcripts)
}
