package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
	"github.com/watchglass/watchglass/host/source/kube"
)

// upstream is the source from which a command reads a cluster.
type upstream struct {
	source source.Source
	name   string                      // name of the source in messages
	ready  func(context.Context) error // returns an error if the source does not answer
	close  func()
}

// upstreamFlags select etcd or kube-apiserver as the source.
type upstreamFlags struct {
	etcdFlags
	kubeFlags
}

func (f *upstreamFlags) open(log *slog.Logger, files *reload.Watcher) (*upstream, error) {
	switch {
	case f.kubeFlags.given() && len(f.endpoints) > 0:
		return nil, errors.New("--etcd-endpoints and --kubeconfig, --context or --in-cluster exclude each other: read either etcd or kube-apiserver")
	case len(f.endpoints) == 0 && f.detail() != "":
		return nil, errors.New(f.detail() + " requires --etcd-endpoints")
	case f.kubeFlags.given():
		return f.openKube(log, files)
	case len(f.endpoints) > 0:
		return f.openEtcd(log, files)
	}
	return nil, errors.New("no source is selected: give --kubeconfig FILE, --in-cluster, or --etcd-endpoints 127.0.0.1:2379")
}

func (f *upstreamFlags) openEtcd(log *slog.Logger, files *reload.Watcher) (*upstream, error) {
	client, err := f.client(files)
	if err != nil {
		return nil, err
	}
	src, err := etcd.New(client, etcd.Config{Prefix: f.prefix, Logger: log})
	if err != nil {
		client.Close()
		return nil, err
	}
	return &upstream{
		source: src, name: "etcd " + strings.Join(f.endpoints, ","),
		ready: src.Ready, close: func() { client.Close() },
	}, nil
}

func (f *kubeFlags) openKube(log *slog.Logger, files *reload.Watcher) (*upstream, error) {
	if f.inCluster && (f.kubeconfig != "" || f.context != "") {
		return nil, errors.New("--in-cluster and --kubeconfig or --context exclude each other")
	}
	interval, err := f.metricsInterval()
	if err != nil {
		return nil, err
	}
	rest, err := kube.Load(f.access())
	if err != nil {
		return nil, err
	}
	src, err := kube.New(kube.Config{REST: rest, MetricsInterval: interval, Logger: log})
	if err != nil {
		return nil, err
	}
	name := "--kubeconfig"
	if f.inCluster {
		name = "--in-cluster"
	}
	err = files.Add(reload.Group{
		Name:  name,
		Files: func() []string { return kube.Files(f.access(), rest) },
		Load: func() error {
			loaded, err := kube.Load(f.access())
			if err != nil {
				return err
			}
			rest = loaded
			return src.Reconfigure(rest)
		},
	})
	if err != nil {
		return nil, err
	}
	return &upstream{source: src, name: "kube-apiserver " + src.Host(), ready: src.Ready, close: src.Close}, nil
}

// servingAnyway is the text that a host logs while its source is unreachable.
const servingAnyway = "serving anyway; readers wait until the source answers"

// retrying is the text that record and push log while their source is unreachable.
const retrying = "retrying until the source answers"

// warnUnreachable logs a warning if the source does not respond within three seconds. The
// caller continues, because the source is retried.
func warnUnreachable(ctx context.Context, log *slog.Logger, up *upstream, meanwhile string) {
	bounded, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := up.ready(bounded); err != nil && ctx.Err() == nil {
		log.Warn("the source cannot be read; "+meanwhile, "source", up.name, "error", err)
	}
}
