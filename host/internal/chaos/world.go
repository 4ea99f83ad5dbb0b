//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// world contains all processes and connections of a run.
type world struct {
	dir         string
	etcd        *etcd
	authority   *authority
	proxies     *proxies
	connectors  []*connector
	balancer    *balancer
	readerLinks []*link
	readers     []reader
	writers     *writers
	witness     *witness // witness of the current round
	closers     []func()
}

// build starts all processes and connections of a world. The caller must close the world,
// even if build returns an error.
func build(ctx context.Context, c Config) (w *world, err error) {
	w = &world{dir: c.Dir, proxies: newProxies()}
	w.closers = append(w.closers, w.proxies.close)
	if w.authority, err = newAuthority(c.Dir); err != nil {
		return w, err
	}
	// The Go clients verify certificates with the system's roots, which Go reads only
	// once.
	if err := os.Setenv("SSL_CERT_FILE", w.authority.caFile()); err != nil {
		return w, err
	}
	if w.etcd, err = startEtcd(ctx, c.Dir); err != nil {
		return w, fmt.Errorf("start etcd: %w", err)
	}
	w.closers = append(w.closers, w.etcd.close)
	if w.writers, err = populate(ctx, w.etcd.client, c.Seed, c.Objects, c.Rate); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.writers.close)
	if err := w.startConnectors(ctx, c.Binary); err != nil {
		return w, fmt.Errorf("start the connectors: %w", err)
	}
	if err := w.openReaders(ctx, c); err != nil {
		return w, fmt.Errorf("open the readers: %w", err)
	}
	return w, nil
}

func (w *world) startConnectors(ctx context.Context, binary string) (err error) {
	var addresses []string
	for n := range connectors {
		c, err := newConnector(n, binary, w.dir, w.etcd, w.authority, w.proxies)
		if err != nil {
			return err
		}
		if err := c.start(ctx); err != nil {
			return err
		}
		w.connectors = append(w.connectors, c)
		w.closers = append(w.closers, func() { c.process.kill() })
		addresses = append(addresses, c.address)
	}
	if w.balancer, err = newBalancer(addresses...); err == nil {
		w.closers = append(w.closers, w.balancer.close)
	}
	return err
}

func (w *world) openReaders(ctx context.Context, c Config) error {
	for _, r := range []struct {
		name              string
		collection, watch scope
	}{
		{name: "go-all"},
		{name: "go-selector", collection: scope{tier: "web"}},
		{name: "go-namespace", collection: scope{namespace: "chaos-1"}, watch: scope{tier: "db"}},
	} {
		l, err := w.readerLink(r.name)
		if err != nil {
			return err
		}
		opened, err := openGoReader(ctx, r.name, l.address(), filepath.Join(w.dir, r.name+".log"), r.collection, r.watch)
		if err != nil {
			return err
		}
		w.add(opened)
	}
	l, err := w.readerLink("chromium")
	if err != nil {
		return err
	}
	opened, err := openPage(ctx, c.Chromium, c.Package, l.address())
	if err != nil {
		return err
	}
	w.add(opened)
	return nil
}

func (w *world) readerLink(name string) (*link, error) {
	l, err := w.proxies.link(name, w.balancer.address())
	w.readerLinks = append(w.readerLinks, l)
	return l, err
}

func (w *world) add(r reader) {
	w.readers = append(w.readers, r)
	w.closers = append(w.closers, r.close)
}

func (w *world) backup() string { return filepath.Join(w.dir, "backup.db") }

// alive returns an error if a process has ended unexpectedly.
func (w *world) alive() error {
	var errs []error
	for i, p := range w.etcd.process {
		if !p.running() {
			errs = append(errs, fmt.Errorf("etcd member %d ended on its own: %v", i, p.cmd.ProcessState))
		}
	}
	for i, c := range w.connectors {
		if !c.process.running() {
			errs = append(errs, fmt.Errorf("connector %d ended on its own: %v", i, c.process.cmd.ProcessState))
		}
	}
	return errors.Join(errs...)
}

func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
}
