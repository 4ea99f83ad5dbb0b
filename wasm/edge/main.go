//go:build js && wasm

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/syumai/workers"
	"github.com/syumai/workers/cloudflare"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "dev"

func main() {
	handler, err := open()
	if err != nil {
		handler = misconfigured(err)
	}
	workers.Serve(served(handler))
}

// open creates the handler from the bindings.
func open() (http.Handler, error) {
	keys, err := token.ParseKeys(cloudflare.Getenv("WATCHGLASS_KEY"))
	if err != nil {
		return nil, fmt.Errorf("the secret WATCHGLASS_KEY: %w", err)
	}
	clusters, err := edge.ParseClusters(cloudflare.Getenv("WATCHGLASS_CLUSTERS"))
	if err != nil {
		return nil, fmt.Errorf("WATCHGLASS_CLUSTERS: %w", err)
	}
	objects, err := cloudflare.NewDurableObjectNamespace("WATCHGLASS")
	if err != nil {
		return nil, fmt.Errorf("the binding of the Durable Objects: %w", err)
	}
	return edge.NewHandler(edge.Config{
		Keys: keys, Clusters: clusters, Now: time.Now, Version: version,
		Object: func(name string) http.RoundTripper { return object{objects, name} },
	}), nil
}

// misconfigured logs a configuration error, and returns a handler that responds with a
// 500.
func misconfigured(err error) http.Handler {
	fmt.Fprintln(os.Stderr, "watchglass:", err)
	status := kubeapi.AppendStatus(nil, api.Internal("the configuration of this edge is incomplete; its log has the reason"))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		w.Write(append(status, '\n')) // an error means that the client is gone
	})
}

// object is an http.RoundTripper that sends requests to one Durable Object.
type object struct {
	objects *cloudflare.DurableObjectNamespace
	name    string
}

// RoundTrip implements http.RoundTripper.
func (o object) RoundTrip(r *http.Request) (*http.Response, error) {
	stub, err := o.objects.Get(o.objects.IdFromName(o.name))
	if err != nil {
		return nil, err
	}
	type fetched struct {
		response *http.Response
		err      error
	}
	done := make(chan fetched, 1)
	// A fetch cannot be canceled. It ends no later than the instance, which serves only
	// this request.
	go func() {
		response, err := stub.Fetch(r)
		done <- fetched{response, err}
	}()
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case f := <-done:
		if f.err != nil {
			return nil, f.err
		}
		f.response.Body = &body{ReadCloser: f.response.Body}
		return f.response, nil
	}
}

// body is the body of a response from a Durable Object. Close does not cancel a stream
// that has ended, because no code would handle the result of the cancellation.
type body struct {
	io.ReadCloser
	ended bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.ended {
		return nil
	}
	return b.ReadCloser.Close()
}

// served returns the handler adapted to the worker's response writer. The Flush of that
// writer has no effect, and only an exit can abort a response.
func served(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch broken := recover(); broken {
			case nil:
			case http.ErrAbortHandler:
				os.Exit(1)
			default:
				panic(broken)
			}
		}()
		handler.ServeHTTP(flusher{w}, r)
	})
}

// flusher is a response writer whose first Flush sends the headers.
type flusher struct{ http.ResponseWriter }

// FlushError is the method that http.ResponseController calls to flush.
func (f flusher) FlushError() error {
	if w, ok := f.ResponseWriter.(interface{ Ready() }); ok {
		w.Ready()
	}
	return nil
}
