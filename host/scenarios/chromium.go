package scenarios

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"

	"github.com/watchglass/watchglass/core/coretest"
)

// OnChromium replays on the module in a worker of a page in headless Chromium. It
// uses the browser in $CHROMIUM, or an installed one.
func OnChromium(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	path, err := findChromium()
	if err != nil {
		return nil, err
	}
	dir, err := layOut(module, transcripts)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	out, err := visit(ctx, path, server.URL+"/browser.html")
	if err != nil {
		return nil, err
	}
	if different, ok := verdicts(out, transcripts); ok {
		return different, nil
	}
	return nil, fmt.Errorf("the driver did not finish:\n%s", out)
}

func findChromium() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed, and the scenarios must pass in it; install it with: make scenarios (or set CHROMIUM to its path)")
}

// visit opens a page and returns its driver's report. It closes the browser before
// it returns.
func visit(ctx context.Context, path, url string) (string, error) {
	// Flags that prevent network requests of the browser.
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	browser, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	page, leave := chromedp.NewContext(browser)
	defer leave()
	if _, err := chromedp.Run(page, chromedp.Navigate(url)); err != nil {
		return "", err
	}
	return chromedp.Run(page, chromedp.Evaluate[string]("replayed", chromedp.EvalAwaitPromise))
}
