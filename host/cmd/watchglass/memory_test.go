package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/embedetcd"
)

// putLargePods writes 20 pods of 200 KiB each, which compress to no less than half their size.
func putLargePods(t *testing.T, store *embedetcd.Server, round int) {
	t.Helper()
	noise := make([]byte, 100<<10)
	for i := range 20 {
		_, err := rand.Read(noise)
		require.NoError(t, err)
		_, err = store.Client().Put(t.Context(), fmt.Sprintf("/registry/pods/default/large-%d-%d", round, i),
			fmt.Sprintf(`{"metadata":{"name":"large-%d-%d","namespace":"default","uid":"u"},"spec":{"nodeName":%q}}`, round, i, hex.EncodeToString(noise)))
		require.NoError(t, err)
	}
}

func TestMemoryStaysBelowTheCeilingUnderLoad(t *testing.T) {
	store := startEtcd(t)
	putPod(t, store, "small")
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0",
		"--max-memory", "96MiB", "--log-format", "json")
	url := p.url()
	healthy := dial(t, url, "")
	s, err := healthy.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, healthy, func() bool { return s.Synced })

	refused := ""
	for round := 0; refused == "" && round < 100; round++ { // at most 400 MB
		putLargePods(t, store, round)
		version := putPod(t, store, "small")
		until(t, healthy, func() bool { return s.ResourceVersion >= version })
		r := dial(t, url, "")
		if r.Status != nil {
			require.Equal(t, 503, r.Status.Code)
			refused = r.Status.Cause
		}
		hangUp(r)
	}
	assert.Equal(t, "max-memory", refused)
	assert.Contains(t, p.log.String(), "memory is above the limit")
	for range 50 { // the load continues
		r := dial(t, url, "")
		hangUp(r)
	}
	resp := request(t, p.kubeURL()+"/api/v1/pods", func(*http.Request) {})
	if resp.StatusCode == http.StatusServiceUnavailable { // the memory may be below the limit temporarily
		assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	}
	code, _ := get(t, url+"/healthz")
	assert.Equal(t, http.StatusOK, code)
	_, metrics := get(t, url+"/metrics")
	assert.NotContains(t, metrics, "watchglass_limit_refusals_total{reason=\"max-memory\"} 0\n")
	assert.Contains(t, metrics, "watchglass_memory_bytes ")
	version := putPod(t, store, "small")
	until(t, healthy, func() bool { return s.ResourceVersion >= version })
	assert.Nil(t, healthy.Status, "the earlier readers remain connected")
	assert.False(t, strings.Contains(p.log.String(), "panic"))
}

// While its memory is far below the limit, a connector collects garbage less often than a
// Go program does by default, because collections delay readers. The variables GOGC and
// GOMEMLIMIT take precedence.
func TestConnectorsCollectGarbageLessOften(t *testing.T) {
	const source = " --etcd-endpoints 127.0.0.1:1"
	for name, test := range map[string]struct {
		command, variable, value string
		percent                  int
	}{
		"serve":                 {"serve" + source, "", "", 300},
		"push":                  {"push ws://127.0.0.1:1/feed --resources pods" + source, "", "", 300},
		"serve with GOGC":       {"serve" + source, "GOGC", "70", 70},
		"serve without a limit": {"serve" + source, "GOMEMLIMIT", "off", 100},
		"demo":                  {"demo --pods 10 --rate 0", "", "", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", "")
			t.Setenv("GOMEMLIMIT", "")
			if test.variable != "" {
				t.Setenv(test.variable, test.value)
			}
			address := freeAddress(t)
			startProcess(t, append(strings.Fields(test.command), "--listen", address)...)
			var metrics string
			eventually(t, func() bool {
				resp, err := http.Get("http://" + address + "/metrics")
				if err != nil {
					return false
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				metrics = string(body)
				return err == nil && resp.StatusCode == http.StatusOK
			})
			assert.Contains(t, metrics, fmt.Sprintf("go_gc_gogc_percent %d\n", test.percent))
		})
	}
}
