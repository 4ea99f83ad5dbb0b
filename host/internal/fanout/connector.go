package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing/fstest"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

var podsName = pods.String()

// objects is the number of pods in most measurements. The measurement of first syncs uses
// syncedObjects pods.
const (
	objects       = 5000
	syncedObjects = 10_000
)

// connectorSide is the measured connector with its server and an in-memory source.
type connectorSide struct {
	source    *memory.Source
	connector *connector.Connector
	server    *server.Server
	served    chan error
	url       string
	readers   *readerProcess
	share     int
	shards    int
	pods      []source.Write
	next      int
	changes   []source.Write   // changes of the next round
	total     connector.Totals // the totals when the readers were ready
	delivered uint64
	empty     uint64 // live memory of the process, in bytes, before the connector has objects
}

func newConnectorSide(ctx context.Context, readers, share int) (*connectorSide, error) {
	s, err := startConnector(ctx, objects, readers/share)
	if err != nil {
		return nil, err
	}
	s.share = share
	if s.readers, err = startReaders(ctx, s.url, connectorKind, readers, share); err != nil {
		s.close()
		return nil, err
	}
	return s, s.confirmProgress(readers)
}

// confirmProgress sends one progress report to every reader and waits until all reports are
// written. The following rounds do not count these messages.
func (s *connectorSide) confirmProgress(readers int) error {
	s.total, s.delivered = s.connector.Stats().Totals, uint64(readers)
	s.source.Progress()
	err := s.settle()
	s.total, s.delivered = s.connector.Stats().Totals, 0
	return err
}

// noProgress is a progress interval longer than any run. Periodic progress reports are not
// part of the cost of a change, and settle would count them as messages.
const noProgress = 24 * 60 * 60 * 1000

// startConnector starts a connector for the given number of pods, whose label "shard" has
// the given number of values.
func startConnector(ctx context.Context, objects, shards int) (*connectorSide, error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := &connectorSide{source: memory.New(), shards: shards, served: make(chan error, 1)}
	cluster, err := clustersim.New((*collector)(s), clustersim.Config{Pods: objects, Seed: 1, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		return nil, err
	}
	if err := cluster.Populate(ctx, nil); err != nil {
		return nil, err
	}
	slices.SortFunc(s.pods, func(a, b source.Write) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	for i := range s.pods {
		p := s.change(i)
		s.source.Put(p.Resource, p.Key, p.Value)
	}
	s.empty = liveMemory()
	s.connector = connector.New(connector.Config{Source: s.source, Logger: quiet, Session: session.Config{ProgressMillis: noProgress}})
	if s.server, err = server.New(server.Config{Connector: s.connector, Logger: quiet, Page: fstest.MapFS{}}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { s.served <- s.server.Serve(listener) }()
	s.url = "ws://" + listener.Addr().String() + "/watch"
	_, err = s.connector.Hold(ctx, pods)
	return s, err
}

// collector implements the writer of the simulated cluster. It collects the pods that the
// cluster writes.
type collector connectorSide

var collecting sync.Mutex

func (c *collector) Txn(_ context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	collecting.Lock()
	defer collecting.Unlock()
	for _, w := range writes {
		if w.Resource == pods && w.Value != nil {
			c.pods = append(c.pods, w)
		}
	}
	return 1, nil
}

// change returns a new version of a pod. The version has the label of its shard, and a
// restartCount that varies with s.next.
func (s *connectorSide) change(i int) source.Write {
	p := s.pods[i%len(s.pods)]
	labels := []byte(`"labels":{"shard":"` + strconv.Itoa(i%len(s.pods)%s.shards) + `",`)
	p.Value = bytes.Replace(p.Value, []byte(`"labels":{`), labels, 1)
	p.Value = bytes.Replace(p.Value, []byte(`"restartCount":`), []byte(`"restartCount":`+strconv.Itoa(s.next%9+1)), 1)
	return p
}

// patience limits how long settle and close wait.
const patience = 30 * time.Second

func (s *connectorSide) prepare(events int) {
	s.changes = s.changes[:0]
	for range events {
		s.changes = append(s.changes, s.change(s.next*37))
		s.next++
	}
}

func (s *connectorSide) round() error {
	for _, p := range s.changes {
		s.source.Put(p.Resource, p.Key, p.Value)
		s.delivered += uint64(s.share)
		rest()
		if err := s.settle(); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until all messages for all readers have been written. It returns an error if
// that takes longer than patience.
func (s *connectorSide) settle() error {
	for end := time.Now().Add(patience); ; rest() {
		messages := s.connector.Stats().Totals.Messages - s.total.Messages
		if messages >= s.delivered {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d messages were sent, expected %d", messages, s.delivered)
		}
	}
}

// messageBytes returns the average size, in bytes, of the messages since the readers were
// ready.
func (s *connectorSide) messageBytes() int {
	t := s.connector.Stats().Totals
	return int((t.BytesOut - s.total.BytesOut) / (t.Messages - s.total.Messages))
}

func (s *connectorSide) close() {
	if s.readers != nil {
		s.readers.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(s.connector.Close(ctx), s.server.Shutdown(ctx)); err != nil {
		slog.Warn("the connector did not close cleanly", "error", err)
	}
	<-s.served
}

// rest pauses so that the readers can catch up. Both sides are measured with readers that keep
// up, so that sockets are never full.
func rest() { time.Sleep(time.Millisecond) }
