package apiserver

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

const podManifest = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"shop","labels":{"app":"web"}},
	"spec":{"containers":[{"name":"main","image":"example/web:1"}],"nodeName":"node-1"}}`

var address = regexp.MustCompile(`http://\S+`)

// The dashboard shows a real cluster after a user runs one command. Its rows appear,
// change and disappear, even after a restart of the server.
func TestTheDashboardShowsARealCluster(t *testing.T) {
	_, err := shared.put(api.Resource{Version: "v1", Name: "namespaces"}, "shop", []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`))
	require.NoError(t, err)
	t.Cleanup(func() { shared.must(t, http.MethodDelete, "/api/v1/namespaces/shop/pods?gracePeriodSeconds=0", "") })
	for i := range 30 {
		shared.must(t, http.MethodPost, "/api/v1/namespaces/shop/pods", fmt.Sprintf(podManifest, fmt.Sprint("web-", i)))
	}
	page := openPage(t, startDemo(t, shared.kubeconfig(t, admin)))
	shows := func(expression string) {
		t.Helper()
		require.Eventually(t, func() bool {
			ok, err := chromedp.Run(page, chromedp.Evaluate[bool]("!!("+expression+")"))
			return err == nil && ok
		}, patience, 100*time.Millisecond, expression)
	}
	shows(`document.getElementById("pill").dataset.state === "live"`)
	shows(`document.querySelector("[data-total]")?.dataset.total === "30"`)

	shared.must(t, http.MethodDelete, "/api/v1/namespaces/shop/pods/web-7?gracePeriodSeconds=0", "")
	shows(`document.querySelector("[data-total]")?.dataset.total === "29"`)
	shared.must(t, http.MethodPut, "/api/v1/namespaces/shop/pods/web-8/status", withVersion(t, "/api/v1/namespaces/shop/pods/web-8",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-8","namespace":"shop","labels":{"app":"web"}},"status":{"phase":"Running"}}`))
	shows(`watchglassDashboard.snapshot.rows.some((r) => r.key === "shop/web-8" && JSON.stringify(r).includes("Running"))`)

	shared.Stop()
	require.NoError(t, shared.Launch())
	shared.must(t, http.MethodPost, "/api/v1/namespaces/shop/pods", fmt.Sprintf(podManifest, "after"))
	shows(`document.querySelector("[data-total]")?.dataset.total === "30"`)
	shows(`document.getElementById("pill").dataset.state === "live"`)
	screenshot(t, page)
}

// startDemo runs the demo command of the README and returns the address it prints.
func startDemo(t *testing.T, kubeconfig string) string {
	t.Helper()
	return startBinary(t, 1, "demo", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0")[0]
}

// startBinary runs watchglass until the test ends, and returns the first n URLs that the
// program prints.
func startBinary(t *testing.T, n int, args ...string) []string {
	t.Helper()
	cmd := exec.Command("../../../build/watchglass", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "make conformance builds the binary first")
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	var urls []string
	for lines := bufio.NewReader(out); len(urls) < n; {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		urls = append(urls, address.FindAllString(line, -1)...)
	}
	return urls
}

func openPage(t *testing.T, url string) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	page, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	_, err := chromedp.Run(page, chromedp.Navigate(url))
	require.NoError(t, err)
	return page
}

// screenshot saves a picture of the page to the directory in the variable SCREENSHOTS, if
// the variable is set.
func screenshot(t *testing.T, page context.Context) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(page, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "real-cluster.png"), picture, 0o644))
}
