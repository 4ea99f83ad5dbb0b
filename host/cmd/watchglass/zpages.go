package main

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/internal/settings"
)

// The pages /statusz and /flagz have the format of those of Kubernetes components.
const zpageWarning = "Warning: This endpoint is for debugging by people. Its format may change."

// statusz describes the process. paths are the other endpoints.
func (a *admin) statusz(paths []string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		up := time.Since(a.started)
		zpage(w, "watchglass statusz", fmt.Sprintf("Started: %s\nUp: %d hr %02d min %02d sec\nGo version: %s\nBinary version: %s\nSource: %s\nPaths: %s\n",
			a.started.UTC().Format(time.UnixDate), int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60,
			runtime.Version(), versionText(), a.source, strings.Join(paths, " ")))
	}
}

// flagz lists the settings in effect, without passwords.
func (a *admin) flagz(w http.ResponseWriter, _ *http.Request) {
	var flags strings.Builder
	a.settings.Each(func(f *pflag.Flag, _ string) {
		fmt.Fprintf(&flags, "%s=%s\n", f.Name, settings.Text(f))
	})
	zpage(w, "watchglass flags", flags.String())
}

func zpage(w http.ResponseWriter, title, content string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintf(w, "\n%s\n%s\n\n%s", title, zpageWarning, content)
}
