package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/slowlink"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
)

// These constants describe the simulated network link of P14 and P26.
const (
	linkBytesPerSecond = 20_000_000 / 8
	linkRoundTrip      = 40 * time.Millisecond
)

// pageItems is the number of objects on the first page of a paged list.
const pageItems = 500

// runLink measures P14: the time until a table is complete, loaded over a slow link from a
// connector and from the list of a kube-apiserver. The list is compressed in advance, and
// contains no managedFields.
func runLink(ctx context.Context, b *bench) (list []Result, err error) {
	const objects = 50_000
	w, err := newWorld(pods, clustersim.Config{Pods: objects})
	if err != nil {
		return nil, err
	}
	whole, err := zippedList(w, objects)
	if err != nil {
		return nil, err
	}
	page, err := zippedList(w, pageItems)
	if err != nil {
		return nil, err
	}
	handle := func(response http.ResponseWriter, r *http.Request) {
		body := whole
		if r.FormValue("limit") != "" {
			body = page
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Content-Encoding", "gzip")
		response.Write(body)
	}
	err = withLink(ctx, w, map[string]http.HandlerFunc{"GET /api/v1/pods": handle}, func(addr string) error {
		list, err = b.script(ctx, "link.js", modulePath, "http://"+addr)
		return err
	})
	return list, err
}

// withLink calls use with the address of a server behind the slow link. The server has a
// connector whose source is w, and the given handlers.
func withLink(ctx context.Context, w *world, handlers map[string]http.HandlerFunc, use func(addr string) error) (err error) {
	c := connector.New(connector.Config{Source: w, Logger: slog.New(slog.DiscardHandler)})
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	s, err := server.New(server.Config{Connector: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	for pattern, handler := range handlers {
		mux.HandleFunc(pattern, handler)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &http.Server{Handler: mux}
	s.Attach(h)
	go h.Serve(l) // ends with Close
	defer h.Close()
	link, err := slowlink.Forward(l.Addr().String(), linkBytesPerSecond, linkRoundTrip)
	if err != nil {
		return err
	}
	defer link.Close()
	return use(link.Addr())
}

// zippedList returns the list of the first n objects, in one gzip stream of level 6.
func zippedList(w *world, n int) ([]byte, error) {
	scanner, err := catalog.NewScanner(w.schema)
	if err != nil {
		return nil, err
	}
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, 6)
	if err != nil {
		return nil, err
	}
	list := &kubernetes{list: z, objects: n}
	for i, p := range w.planned[:n] {
		o, err := scanner.Scan(p.Render().Value, objectjson.Options{})
		if err != nil {
			return nil, err
		}
		list.item(source.Change{Key: p.Key, ResourceVersion: api.ResourceVersion(i + 1), Value: o.Body.Data})
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return zipped.Bytes(), nil
}
