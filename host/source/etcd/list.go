package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
)

// list delivers the complete state in pages, as of the first page's revision (rules E5 to
// E7). It returns a 410 if etcd compacts that revision during the list.
func (st *stream) list(ctx context.Context) error {
	page, err := st.page(ctx, st.keyspace.prefix, 0)
	if err != nil {
		return err
	}
	if err := st.identify(page); err != nil {
		return err
	}
	revision := page.Header.Revision
	if err := st.sink.BeginList(); err != nil {
		return err
	}
	for {
		if err := st.objects(page.Kvs); err != nil {
			return err
		}
		if !page.More {
			break
		}
		if len(page.Kvs) == 0 {
			return st.explain(ctx, "list", errors.New("the server announced more keys but sent none"))
		}
		next := string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		if page, err = st.page(ctx, next, revision); err != nil {
			return err
		}
	}
	st.at = api.ResourceVersion(revision)
	return st.sink.EndList(st.at)
}

// page reads one page of the resource's keys, beginning at the key start. Revision zero
// means the latest.
func (st *stream) page(ctx context.Context, start string, revision int64) (*clientv3.GetResponse, error) {
	return st.get(ctx, "list", start,
		clientv3.WithRange(clientv3.GetPrefixRangeEnd(st.keyspace.prefix)),
		clientv3.WithLimit(int64(st.config.PageSize)),
		clientv3.WithRev(revision))
}

func (st *stream) get(ctx context.Context, doing, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	resp, err := st.request(ctx, key, opts...)
	if err != nil {
		return nil, st.explain(ctx, doing, err)
	}
	return resp, nil
}

func (st *stream) objects(kvs []*mvccpb.KeyValue) error {
	for _, kv := range kvs {
		key, ok := st.keyspace.key(kv.Key)
		if !ok {
			st.strange.report(kv.Key)
			continue
		}
		if err := st.sink.Object(key, api.ResourceVersion(kv.ModRevision), value(kv)); err != nil {
			return err
		}
	}
	return nil
}

func (st *stream) identify(resp *clientv3.GetResponse) error {
	return st.sink.Identify(identity(resp))
}

// checkResume identifies the cluster, and returns a 410 if the cluster has not reached
// the resume version. The package comment explains why.
func (st *stream) checkResume(ctx context.Context) error {
	resp, err := st.get(ctx, "resume", st.keyspace.prefix)
	if err != nil {
		return err
	}
	if err := st.identify(resp); err != nil {
		return err
	}
	newest := api.ResourceVersion(resp.Header.Revision)
	if st.at > newest {
		return api.Expired("resource version " + st.at.String() + " is beyond etcd's newest, " + newest.String() +
			": etcd was restored from a backup or is another cluster; list again")
	}
	return nil
}

// value returns the value of a key. It never returns nil, which would mean a deletion.
func value(kv *mvccpb.KeyValue) []byte {
	if kv.Value == nil {
		return []byte{}
	}
	return kv.Value
}
