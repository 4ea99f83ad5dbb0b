package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/internal/settings"
)

// zpageWarning precedes the content of /statusz and /flagz. Both pages use the format of
// the pages with these names in Kubernetes components.
const zpageWarning = "Warning: This endpoint is for debugging by people. Its format may change."

// status is the JSON of /statusz, with the fields of Kubernetes components.
type status struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	StartTime     time.Time `json:"startTime"`
	UptimeSeconds int64     `json:"uptimeSeconds"`
	GoVersion     string    `json:"goVersion"`
	BinaryVersion string    `json:"binaryVersion"`
	Source        string    `json:"source"`
	Paths         []string  `json:"paths"`
}

// statusz returns a handler that describes the process, as text or as JSON. The slice
// paths lists the endpoints of the admin address.
func (a *admin) statusz(paths []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		up := time.Since(a.started)
		w.Header().Add("Vary", "Accept")
		asJSON, ok := wantsJSON(r)
		switch {
		case !ok:
			http.Error(w, fmt.Sprintf("format=%q: expected text or json", r.URL.Query().Get("format")), http.StatusBadRequest)
			return
		case asJSON:
			s := status{
				Kind: "Statusz", StartTime: a.started.UTC().Truncate(time.Second), UptimeSeconds: int64(up.Seconds()),
				GoVersion: runtime.Version(), BinaryVersion: versionText(), Source: a.source, Paths: paths,
			}
			s.Metadata.Name = "watchglass"
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			json.NewEncoder(w).Encode(s)
			return
		}
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

// wantsJSON reports whether a request selects JSON, with ?format=json or the header
// Accept. The result ok is false if the parameter format is unknown.
func wantsJSON(r *http.Request) (yes, ok bool) {
	switch r.URL.Query().Get("format") {
	case "json":
		return true, true
	case "text":
		return false, true
	case "":
		return strings.Contains(r.Header.Get("Accept"), "application/json"), true
	}
	return false, false
}

func zpage(w http.ResponseWriter, title, content string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprintf(w, "\n%s\n%s\n\n%s", title, zpageWarning, content)
}
