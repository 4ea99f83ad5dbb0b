package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/core/coretest/replay"
)

// layOut creates a directory with all files that the JavaScript drivers read. The caller
// must remove the directory.
func layOut(module []byte, transcripts []*coretest.Transcript) (dir string, err error) {
	all, err := texts(transcripts)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	dir, err = os.MkdirTemp("", "watchglass-scenarios")
	if err != nil {
		return "", err
	}
	err = errors.Join(
		os.CopyFS(dir, fs.FS(replay.Files)),
		os.WriteFile(filepath.Join(dir, "module.wasm"), module, 0o600),
		os.WriteFile(filepath.Join(dir, "transcripts.json"), list, 0o600),
	)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

func texts(transcripts []*coretest.Transcript) ([]string, error) {
	var all []string
	for _, t := range transcripts {
		var text bytes.Buffer
		if _, err := t.WriteTo(&text); err != nil {
			return nil, err
		}
		all = append(all, text.String())
	}
	return all, nil
}

// verdicts parses the report of a driver. It returns the differences, and whether the
// report has as many verdicts as there are transcripts.
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
