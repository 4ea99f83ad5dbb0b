package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/chromedp/chromedp"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/host/internal/chromium"
)

// OnChromium replays transcripts on the module in headless Chromium. The module runs in a
// worker of a page. OnChromium uses the browser that $CHROMIUM names, or an installed browser.
func OnChromium(ctx context.Context, module []byte, transcripts []*coretest.Transcript) (map[string]error, error) {
	path, err := chromium.Find()
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

// visit opens a page and returns the report of the driver in that page. It closes the
// browser before it returns.
func visit(ctx context.Context, path, url string) (string, error) {
	browser, stop := chromedp.NewExecAllocator(ctx, chromium.Options(path)...)
	defer stop()
	page, leave := chromedp.NewContext(browser)
	defer leave()
	if _, err := chromedp.Run(page, chromedp.Navigate(url)); err != nil {
		return "", err
	}
	return chromedp.Run(page, chromedp.Evaluate[string]("replayed", chromedp.EvalAwaitPromise))
}
