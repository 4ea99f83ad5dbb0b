package main

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noEtcd is an address at which no etcd listens.
const noEtcd = "127.0.0.1:1"

func TestOperatorsSeeStatusAndFlags(t *testing.T) {
	t.Setenv("WATCHGLASS_MAX_READERS", "7")
	admin := freeAddress(t)
	c := start(t, "serve", "--etcd-endpoints", noEtcd, "--listen", "127.0.0.1:0", "--admin", admin, "--max-object-bytes", "2MiB")
	url := c.url()
	code, status := get(t, "http://"+admin+"/statusz")
	assert.Equal(t, http.StatusOK, code)
	assert.Regexp(t, `^
watchglass statusz
Warning: This endpoint is for debugging by people\. Its format may change\.

Started: [A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d UTC \d{4}
Up: 0 hr \d\d min \d\d sec
Go version: `+runtime.Version()+`
Binary version: .+
Source: etcd 127.0.0.1:1
Paths: /flagz /inspect /metrics /readyz /statusz
$`, status)

	code, flags := get(t, "http://"+admin+"/flagz")
	assert.Equal(t, http.StatusOK, code)
	assert.Regexp(t, `^\nwatchglass flags\nWarning: .+\n\nadmin="`+admin+`"\n`, flags)
	for _, line := range []string{`max-readers=7`, `max-object-bytes=2MiB`, `listen="127.0.0.1:0"`, `etcd-endpoints=["127.0.0.1:1"]`, `profiling=false`} {
		assert.Contains(t, flags, "\n"+line+"\n")
	}
	assert.Regexp(t, `\nmax-memory=\d+[KMG]?i?B?\n`, flags, "the value that was computed at the start")

	code, body := get(t, "http://"+admin+"/")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, body, "/inspect, /metrics, /readyz, /statusz")
	for _, path := range []string{"/statusz", "/flagz", "/inspect", "/debug/pprof/"} {
		code, _ = get(t, url+path)
		assert.Equal(t, http.StatusNotFound, code, "%s is on the admin address only", path)
	}
	code, _ = get(t, "http://"+admin+"/debug/pprof/")
	assert.Equal(t, http.StatusNotFound, code, "profiling is off by default")
	for _, path := range []string{"/healthz", "/livez"} {
		code, body = get(t, url+path)
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, "ok\n", body)
	}
}

func TestProgramsReadTheStatusAsJSON(t *testing.T) {
	admin := freeAddress(t)
	c := start(t, "serve", "--etcd-endpoints", noEtcd, "--listen", "127.0.0.1:0", "--admin", admin)
	c.url()
	for name, c := range map[string]struct{ query, accept, kind string }{
		"query":              {"?format=json", "", "application/json"},
		"header":             {"", "application/json", "application/json"},
		"header of client":   {"", "application/json, */*", "application/json"},
		"query over header":  {"?format=text", "application/json", "text/plain; charset=utf-8"},
		"a browser":          {"", "text/html,*/*;q=0.8", "text/plain; charset=utf-8"},
		"neither":            {"", "", "text/plain; charset=utf-8"},
		"a format not known": {"?format=yaml", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/statusz"+c.query, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", c.accept)
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			if c.kind == "" {
				assert.Equal(t, http.StatusBadRequest, response.StatusCode)
				return
			}
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, c.kind, response.Header.Get("Content-Type"))
			assert.Equal(t, "no-store", response.Header.Get("Cache-Control"))
			assert.Contains(t, response.Header.Values("Vary"), "Accept")
			if c.kind != "application/json" {
				return
			}
			var got map[string]any
			require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
			started, err := time.Parse(time.RFC3339, got["startTime"].(string))
			require.NoError(t, err)
			assert.False(t, started.After(time.Now()))
			assert.GreaterOrEqual(t, got["uptimeSeconds"], 0.0)
			delete(got, "startTime")
			delete(got, "uptimeSeconds")
			assert.Equal(t, map[string]any{
				"kind": "Statusz", "metadata": map[string]any{"name": "watchglass"}, "goVersion": runtime.Version(), "binaryVersion": versionText(),
				"source": "etcd 127.0.0.1:1", "paths": []any{"/flagz", "/inspect", "/metrics", "/readyz", "/statusz"},
			}, got)
		})
	}
}

func TestProfilesAreServedOnTheAdminAddress(t *testing.T) {
	admin := freeAddress(t)
	p := startProcess(t, "serve", "--etcd-endpoints", noEtcd, "--listen", "127.0.0.1:0", "--admin", admin, "--profiling", "--shutdown-delay", "0s")
	url := p.url()
	code, index := get(t, "http://"+admin+"/debug/pprof/")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, index, "goroutine")
	code, stacks := get(t, "http://"+admin+"/debug/pprof/goroutine?debug=2")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, stacks, "(*host).run(")
	code, _ = get(t, "http://"+admin+"/debug/pprof/cmdline")
	assert.Equal(t, http.StatusNotFound, code, "arguments may contain passwords")
	code, _ = get(t, url+"/debug/pprof/heap")
	assert.Equal(t, http.StatusNotFound, code)
}

// A profile that would run for an hour does not delay the shutdown.
func TestShutdownEndsRunningProfiles(t *testing.T) {
	admin := freeAddress(t)
	p := startProcess(t, "serve", "--etcd-endpoints", noEtcd, "--listen", "127.0.0.1:0", "--admin", admin, "--profiling", "--shutdown-delay", "0s")
	p.url()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+admin+"/debug/pprof/trace?seconds=3600", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request) // Do returns before the trace ends, because the header precedes it
	require.NoError(t, err)
	defer response.Body.Close()
	p.signal(syscall.SIGTERM)
	<-p.ended
	assert.NoError(t, p.wait)
	assert.NotContains(t, p.log.String(), "did not disconnect in time")
}
