// Package chromium finds the Chromium binary that tests drive, and returns the options to
// start it.
package chromium

import (
	"errors"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// Find returns the path of the Chromium that $CHROMIUM names or, if there is none, of an
// installed Chromium. It searches in the same order as js/scripts/chromium.sh.
func Find() (string, error) {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium was found: run make scenarios, which installs one, or set CHROMIUM to the path of yours")
}

// Options returns options that start the Chromium at path in headless mode, without background
// network requests. They also disable two hidden pages of the address bar, which take more CPU
// time than a small test.
func Options(path string) []chromedp.ExecAllocatorOption {
	return append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		// This flag replaces the default flag of chromedp, which disables only the last two
		// features.
		chromedp.Flag("disable-features", "WebUIOmniboxPopup,WebUIOmniboxAimPopup,Translate,BlinkGenPropertyTrees"),
	)
}
