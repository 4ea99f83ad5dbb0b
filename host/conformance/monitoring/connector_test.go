package monitoring

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	binary = "../../../build/watchglass"
	token  = "d41d8cd98f00b204e9800998"
)

// start runs watchglass until the test ends. It waits for lines of the output that match
// the expressions, in order, and returns the first group of each match.
func start(t *testing.T, args []string, expressions ...string) (found []string) {
	t.Helper()
	require.FileExists(t, binary, "run make build")
	cmd := exec.Command(binary, args...)
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // the process may have ended
		_ = cmd.Wait()                       // the exit status does not matter
	})
	lines := bufio.NewScanner(stdout)
	for len(found) < len(expressions) && lines.Scan() {
		if groups := regexp.MustCompile(expressions[len(found)]).FindStringSubmatch(lines.Text()); groups != nil {
			found = append(found, groups[1])
		}
	}
	require.Len(t, found, len(expressions), "%s ended: %s", args, &log)
	go io.Copy(io.Discard, stdout) // ends with the process
	return found
}

// scrape returns the metrics of a connector that has served a reader and a request to its
// Kubernetes API.
var scrape = func() func(t *testing.T) string {
	var once sync.Once
	var text string
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() { text = serveAndScrape(t) })
		require.NotEmpty(t, text)
		return text
	}
}()

func serveAndScrape(t *testing.T) string {
	etcd := start(t, []string{"demo", "--pods", "50", "--rate", "50", "--listen", "127.0.0.1:0"}, `^etcd: (\S+)`, `^watchglass demo: (\S+)`)[0]
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte(token), 0o600))
	found := start(t, []string{"serve", "--etcd-endpoints", etcd, "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--token-file", tokens,
		"--audit-log", filepath.Join(t.TempDir(), "audit.jsonl")}, `kubectl --server (\S+)`, `^watchglass serve: (\S+)`)
	kubeAPI, url := found[0], found[1]
	read, err := exec.CommandContext(t.Context(), binary, "get", "pods", "-A", "--server", "ws"+strings.TrimPrefix(url, "http")+"/watch", "--token", token).CombinedOutput()
	require.NoError(t, err, "%s", read)
	get(t, kubeAPI+"/api/v1/pods?limit=1")
	return get(t, url+"/metrics")
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	return string(body)
}
