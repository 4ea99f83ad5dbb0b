package apiserver

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
)

func watchDeletions(client *clientv3.Client) *deletions {
	ctx, cancel := context.WithCancel(context.Background())
	d := &deletions{cancel: cancel, done: make(chan struct{}), last: map[string]api.ResourceVersion{}, changed: make(chan struct{})}
	events := client.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithFilterPut())
	go func() {
		defer close(d.done)
		for resp := range events {
			d.mu.Lock()
			for _, e := range resp.Events {
				d.last[string(e.Kv.Key)] = api.ResourceVersion(e.Kv.ModRevision)
			}
			close(d.changed)
			d.changed = make(chan struct{})
			d.mu.Unlock()
		}
	}()
	return d
}
