package kube_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
)

// BenchmarkChanges measures the cost of processing one change to a pod, from the bytes of
// a watch to the sink.
func BenchmarkChanges(b *testing.B) {
	raw, err := os.ReadFile("../../../testdata/objects/pod.json")
	require.NoError(b, err)
	pod := strings.Join(strings.Fields(string(raw)), " ")
	const batch = 100
	reader, writer := io.Pipe()
	src, err := kube.New(kube.Config{REST: &rest.Config{Host: "http://cluster", Transport: watchOf{reader}}})
	require.NoError(b, err)
	counted := &counter{received: make(chan int)}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- src.Stream(ctx, pods, 100, counted) }()
	rv := 1000
	next := func() (events []byte) {
		for range batch {
			rv++
			changed := strings.Replace(pod, `"name":`, fmt.Sprintf(`"resourceVersion": "%d", "name":`, rv), 1)
			events = append(events, `{"type":"MODIFIED","object":`+changed+"}\n"...)
		}
		return events
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(pod)))
	for n := 0; b.Loop(); n++ {
		if n%batch != 0 {
			continue
		}
		b.StopTimer()
		events := next()
		b.StartTimer()
		go writer.Write(events)
		for got := 0; got < batch; {
			got += <-counted.received
		}
	}
	cancel()
	require.ErrorIs(b, <-ended, context.Canceled)
}

// counter is a sink that counts changes.
type counter struct{ received chan int }

func (*counter) Identify(string) error                             { return nil }
func (*counter) BeginList() error                                  { return nil }
func (*counter) Object(api.Key, api.ResourceVersion, []byte) error { return nil }
func (*counter) EndList(api.ResourceVersion) error                 { return nil }
func (*counter) Progress(api.ResourceVersion) error                { return nil }
func (*counter) Wanted() <-chan struct{}                           { return nil }
func (c *counter) Changes(changes []source.Change) error           { c.received <- len(changes); return nil }

// watchOf is a transport that responds to a watch with events. It also answers the
// requests that a source sends before the watch.
type watchOf struct{ events *io.PipeReader }

// RoundTrip implements http.RoundTripper.
func (w watchOf) RoundTrip(r *http.Request) (*http.Response, error) {
	body := map[string]string{
		"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                          `{"kind":"APIGroupList","groups":[]}`,
		"/api/v1":                        `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}`,
		"/api/v1/namespaces/kube-system": `{"metadata":{"uid":"cluster-1"}}`,
		"/api/v1/pods":                   `{"metadata":{"resourceVersion":"100"},"items":[]}`,
	}[r.URL.Path]
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
	if isWatch(r) {
		context.AfterFunc(r.Context(), func() { w.events.CloseWithError(r.Context().Err()) })
		response.Body = io.NopCloser(w.events)
	}
	return response, nil
}
