//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/recording"
	"github.com/watchglass/watchglass/host/source"
)

// history is a source that reads etcd with the etcd client library. The library resumes
// interrupted watches at other members. This source shares no code with the connector's
// source.
type history struct {
	client  *clientv3.Client
	counted *atomic.Int64 // number of changes
}

func (h history) Schema(context.Context, api.Resource) (*api.Schema, error) {
	return catalog.Find(resource), nil
}

func (h history) Resources(context.Context) ([]api.Resource, error) {
	return []api.Resource{resource}, nil
}

func (h history) Stream(ctx context.Context, _ api.Resource, from api.ResourceVersion, sink source.Sink) error {
	if from != 0 {
		return errors.New("the witness's watch broke")
	}
	r, err := h.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	if err := sink.Identify("etcd-" + strconv.FormatUint(r.Header.ClusterId, 16)); err != nil {
		return err
	}
	if err := sink.BeginList(); err != nil {
		return err
	}
	for _, kv := range r.Kvs {
		if err := sink.Object(keyOf(kv.Key), api.ResourceVersion(kv.ModRevision), kv.Value); err != nil {
			return err
		}
	}
	if err := sink.EndList(api.ResourceVersion(r.Header.Revision)); err != nil {
		return err
	}
	for w := range h.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(r.Header.Revision+1)) {
		if err := w.Err(); err != nil {
			if errors.Is(err, rpctypes.ErrCompacted) {
				return api.Expired(err.Error())
			}
			return err
		}
		h.counted.Add(int64(len(w.Events)))
		if err := sink.Changes(changes(w.Events)); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), errors.New("the witness's watch ended"))
}

func changes(events []*clientv3.Event) []source.Change {
	all := make([]source.Change, len(events))
	for i, e := range events {
		all[i] = source.Change{Key: keyOf(e.Kv.Key), ResourceVersion: api.ResourceVersion(e.Kv.ModRevision)}
		if e.Type == clientv3.EventTypePut {
			all[i].Value = e.Kv.Value
		}
	}
	return all
}

func keyOf(raw []byte) api.Key { return api.Key(strings.TrimPrefix(string(raw), prefix)) }

// witness records the changes in etcd during one round.
type witness struct {
	file    *os.File
	record  *recording.Recorder
	at      atomic.Uint64 // revision up to which the recording contains all changes
	changes atomic.Int64
	stop    context.CancelFunc
	ended   chan error
}

func observe(ctx context.Context, client *clientv3.Client, name string) (*witness, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	w := &witness{file: file, stop: stop, ended: make(chan error, 1)}
	w.record = recording.New(file, resource, stop)
	go func() {
		w.ended <- w.record.Source(ctx, history{client, &w.changes}, resource, func(rv api.ResourceVersion) { w.at.Store(uint64(rv)) })
	}()
	return w, w.reach(ctx, 1)
}

// reach waits until the recording contains all changes up to a revision.
func (w *witness) reach(ctx context.Context, rv api.ResourceVersion) error {
	for w.at.Load() < uint64(rv) {
		select {
		case err := <-w.ended:
			w.ended <- err
			return errors.Join(errors.New("the witness ended"), err)
		default:
		}
		if !pause(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (w *witness) close() error {
	w.stop()
	return errors.Join(<-w.ended, w.record.Close(), w.file.Close())
}
