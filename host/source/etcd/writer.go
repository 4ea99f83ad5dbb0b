package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// Writer writes objects to the location that a Source with the same Config reads. Only
// tests, the simulator and the demo use a Writer. It is safe for concurrent use.
type Writer struct {
	client *clientv3.Client
	config Config
}

var _ source.Writer = (*Writer)(nil)

// NewWriter returns a writer that sends its requests with client. The caller closes
// client.
func NewWriter(client *clientv3.Client, config Config) (*Writer, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Writer{client: client, config: config}, nil
}

// Txn implements source.Writer. By default, etcd accepts 128 writes per transaction.
func (w *Writer) Txn(ctx context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	ops := make([]clientv3.Op, 0, len(writes))
	for _, write := range writes {
		keyspace, err := w.config.keyspace(write.Resource)
		if err != nil {
			return 0, err
		}
		key := keyspace.prefix + string(write.Key)
		if write.Value == nil {
			ops = append(ops, clientv3.OpDelete(key))
		} else {
			ops = append(ops, clientv3.OpPut(key, string(write.Value)))
		}
	}
	resp, err := w.client.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return 0, fmt.Errorf("write of %d objects to etcd: %w", len(writes), err)
	}
	return api.ResourceVersion(resp.Header.Revision), nil
}
