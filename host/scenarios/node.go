package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/watchglass/watchglass/core/coretest"
)

// OnNode replays transcripts on the module under Node.
func OnNode(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not installed, and the scenarios must pass in it; install version 20 or later")
	}
	dir, err := layOut(module, transcripts)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command := exec.CommandContext(ctx, node, filepath.Join(dir, "node.mjs"))
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if different, ok := verdicts(string(out), transcripts); ok {
		return different, nil
	}
	return nil, fmt.Errorf("the driver did not finish: %w\n%s%s", err, out, complaint.String())
}
