package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edge is a running process of build/edge, which "make edge" starts.
type edge struct {
	cmd     *exec.Cmd
	out     *logged
	address string
	token   string
	secure  string // address with TLS; caFile contains the certificate
	caFile  string
}

func startEdge(t *testing.T, flags ...string) *edge {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	path := filepath.Join(root, "build", "edge")
	_, err = os.Stat(path)
	require.NoError(t, err, `build it first: "make build/edge"`)
	e := &edge{cmd: exec.Command(path, append([]string{"-root", root, "-listen", "127.0.0.1:0", "-tls-listen", "127.0.0.1:0"}, flags...)...), out: &logged{}}
	e.cmd.Stdout, e.cmd.Stderr = e.out, e.out
	require.NoError(t, e.cmd.Start())
	t.Cleanup(func() {
		_ = e.cmd.Process.Signal(syscall.SIGINT)
		_ = e.cmd.Wait() // the test checks the result
		if t.Failed() {
			t.Log(e.out.String())
		}
	})
	output := regexp.MustCompile(`(?s)TOKEN=(\S+)\n.*--server https://(\S+) --certificate-authority (\S+) .*watchglass edge: http://(\S+) `)
	require.Eventually(t, func() bool { return output.MatchString(e.out.String()) }, within, 50*time.Millisecond, "the edge did not become ready")
	found := output.FindStringSubmatch(e.out.String())
	e.token, e.secure, e.caFile, e.address = found[1], found[2], found[3], found[4]
	return e
}

// client returns an HTTP client that trusts the edge's certificate.
func (e *edge) client(t *testing.T) *http.Client {
	t.Helper()
	text, err := os.ReadFile(e.caFile)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(text))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// An edge serves three kinds of readers at the same time: a page, the terminal, and a
// client of the Kubernetes API.
func TestEdge_serves_three_readers_live(t *testing.T) {
	const pods = 300
	e := startEdge(t, "-pods", "300", "-rate", "50")

	page := openPage(t, "http://"+e.address+"/")
	signIn(t, page, e.token)
	waitFor(t, page, state("live"))
	waitFor(t, page, `Number(document.querySelector("[data-total]")?.dataset.total) > `+itoa(pods/2))
	version := mustEvaluate[string](t, page, `watchglassDashboard.snapshot.resourceVersion`)
	waitFor(t, page, `watchglassDashboard.snapshot.resourceVersion !== "`+version+`"`)

	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	terminal := exec.CommandContext(ctx, binary(t), "watch", "pods", "-A", "--server", "ws://"+e.address+"/watch", "--token", e.token)
	events := lines(t, terminal)
	for range pods + 20 { // the existing pods, and some changes
		require.NotEmpty(t, <-events, "the terminal's watch ended")
	}

	client := e.client(t)
	for modified := 0; modified < 10; { // the edge ends the watch of a slow reader, so the test opens another watch, as informers do
		modified += countModified(t, ctx, client, "https://"+e.secure+"/api/v1/pods?watch=true", e.token, 10-modified)
	}
	waitFor(t, page, state("live"))

	metrics := e.metrics(t, client)
	require.Regexp(t, `(?m)^watchglass_build_info{cluster="default",version=".+",goversion="go1\..+"} 1$`, metrics)
	require.NotContains(t, metrics, `version="dev"`)
	require.Regexp(t, `(?m)^watchglass_readers{cluster="default",object="all"} [1-9]`, metrics)
}

// metrics returns the metrics of the edge.
func (e *edge) metrics(t *testing.T, client *http.Client) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+e.secure+"/metrics", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+e.token)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	return string(text)
}

// countModified opens a watch and counts MODIFIED events until the watch ends or the count
// reaches the parameter most.
func countModified(t *testing.T, ctx context.Context, client *http.Client, url, token string, most int) (modified int) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	stream := bufio.NewScanner(response.Body)
	stream.Buffer(nil, 1<<20)
	for modified < most && stream.Scan() {
		if strings.HasPrefix(stream.Text(), `{"type":"MODIFIED"`) {
			modified++
		}
	}
	require.NoError(t, stream.Err(), "the watch broke off")
	return modified
}

func signIn(t *testing.T, page context.Context, token string) {
	t.Helper()
	waitFor(t, page, `document.querySelector("#overlay .ask input")`)
	mustEvaluate[bool](t, page, `(() => { const form = document.querySelector("#overlay .ask"); form.querySelector("input").value = "`+token+`"; form.requestSubmit(); return true })()`)
}

// If pods are divided by namespace, "watchglass get" prints the pods of one namespace or
// one shard. The edge refuses a request for all pods with an explanation, which the
// terminal and the page show.
func TestEdge_divided_by_namespace(t *testing.T) {
	e := startEdge(t, "-pods", "60", "-rate", "0.001", "-clusters",
		`{"default": {"groups": [{"name": "pods", "resources": ["v1/pods"], "shards": 3}, {"name": "rest"}]}}`)
	get := func(query string, args ...string) (string, error) {
		args = append([]string{"get", "--server", "ws://" + e.address + "/watch" + query, "--token", e.token, "--no-headers"}, args...)
		output, err := exec.CommandContext(t.Context(), binary(t), args...).CombinedOutput()
		return string(output), err
	}
	perNamespace := map[string]int{}
	for _, shard := range []string{"0-of-3", "1-of-3", "2-of-3"} {
		output, err := get("?shard="+shard, "pods", "-A")
		require.NoError(t, err, output)
		for line := range strings.Lines(output) {
			perNamespace[strings.Fields(line)[0]]++
		}
	}
	total := 0
	for namespace, pods := range perNamespace {
		output, err := get("", "pods", "-n", namespace)
		require.NoError(t, err, output)
		assert.Equal(t, pods, strings.Count(output, "\n"), namespace)
		total += pods
	}
	assert.Equal(t, 60, total)
	output, err := get("", "pods", "-A")
	require.Error(t, err)
	assert.Contains(t, output, "v1/pods is divided by namespace over 3 objects of this edge, 0-of-3 to 2-of-3: connect with ?resource=v1/pods&namespace=NAME")
	page := openPage(t, "http://"+e.address+"/")
	signIn(t, page, e.token)
	waitFor(t, page, `document.body.innerText.includes("v1/pods is divided by namespace over 3 objects")`)
	output, err = get("", "nodes")
	require.NoError(t, err, output)
	assert.NotEmpty(t, output)
}

// An interrupt ends the edge and its runtime without an error.
func TestEdge_ends_when_interrupted(t *testing.T) {
	e := startEdge(t, "-pods", "20", "-rate", "0")
	require.NoError(t, e.cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, e.cmd.Wait(), e.out.String())
	assert.NotContains(t, e.out.String(), "Error")
	_, err := http.Get("http://" + e.address + "/healthz")
	require.Error(t, err, "the runtime is still there")
}

// lines runs a command and sends each line of its output to the returned channel.
func lines(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	complaint := &logged{}
	cmd.Stderr = complaint
	require.NoError(t, cmd.Start())
	all := make(chan string)
	ended := make(chan struct{})
	go func() { // ends with the command
		defer close(all)
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case all <- s.Text():
			case <-ended:
			}
		}
	}()
	t.Cleanup(func() {
		close(ended)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(complaint.String())
		}
	})
	return all
}
