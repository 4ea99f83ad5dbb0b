package scenarios

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/host/internal/workerd"
)

// OnWorkerd replays transcripts on the module in a worker under workerd, Cloudflare's
// runtime. npm installs workerd for the package in js.
func (t Tree) OnWorkerd(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	binary, err := workerd.Find(t.Root)
	if err != nil {
		return nil, err
	}
	dir, err := layOut(module, transcripts)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := workerd.Start(ctx, workerd.Config{Binary: binary, Path: filepath.Join(dir, "workerd.capnp")})
	if err != nil {
		return nil, err
	}
	out, err := post(ctx, "http://"+server.Address()+"/", transcripts)
	if complaint := server.Stop(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, complaint)
	}
	if different, ok := verdicts(out, transcripts); ok {
		return different, nil
	}
	return nil, fmt.Errorf("the driver did not report every scenario:\n%s", out)
}

// post sends the transcripts one by one, so that no request is large, and
// returns the reports.
func post(ctx context.Context, url string, transcripts []*coretest.Transcript) (string, error) {
	all, err := texts(transcripts)
	if err != nil {
		return "", err
	}
	var reports strings.Builder
	for _, text := range all {
		report, err := ask(ctx, url, text)
		if err != nil {
			return "", err
		}
		reports.WriteString(report + "\n")
	}
	return reports.String(), nil
}

func ask(ctx context.Context, url, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
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
