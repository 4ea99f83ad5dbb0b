package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source"
)

// Source reads an etcd cluster. It is safe for concurrent use.
type Source struct {
	client  *clientv3.Client
	config  Config
	strange strangeKeys
}

var (
	_ source.Source     = (*Source)(nil)
	_ source.Identifier = (*Source)(nil)
)

// New returns a source that reads with client. The caller closes the client after all
// Streams have ended. Give the client keep-alive settings
// (clientv3.Config.DialKeepAliveTime) so that it quickly disconnects from a dead member.
// Give the client grpc.WithConnectParams with a low MaxDelay so that it quickly reconnects
// to a recovered member.
func New(client *clientv3.Client, config Config) (*Source, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if client.ActiveConnection() == nil {
		return nil, errors.New("etcd source: the client has no connection of its own; create it with clientv3.New")
	}
	return &Source{client: client, config: config, strange: strangeKeys{logger: config.Logger}}, nil
}

// Schema implements source.Source.
func (s *Source) Schema(_ context.Context, resource api.Resource) (*api.Schema, error) {
	return catalog.Lookup(s.config.Resources, resource)
}

// Resources implements source.Source.
func (s *Source) Resources(context.Context) ([]api.Resource, error) {
	return catalog.Names(s.config.Resources), nil
}

// ClusterID implements source.Identifier.
func (s *Source) ClusterID(ctx context.Context) (string, error) {
	resp, err := s.request(ctx, s.config.Prefix, clientv3.WithCountOnly())
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.name(), err)
	}
	return identity(resp), nil
}

// Ready implements source.Prober. It performs a linearizable read, as lists do, so it
// fails if etcd has no quorum.
func (s *Source) Ready(ctx context.Context) error {
	_, err := s.request(ctx, s.config.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(1))
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.unanswered(ctx, "in time")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	return nil
}

func (s *Source) name() string { return "etcd " + strings.Join(s.client.Endpoints(), ",") }

// identity returns the ID of the cluster. etcd derives the ID from the initial cluster
// token and the URLs of the members. After a restore from a backup, the ID differs only
// if the token or a URL differs.
func identity(resp *clientv3.GetResponse) string {
	return "etcd-" + strconv.FormatUint(resp.Header.ClusterId, 16)
}

// Stream implements source.Source.
func (s *Source) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	keyspace, err := s.config.keyspace(resource)
	if err != nil {
		return err
	}
	st := &stream{Source: s, keyspace: keyspace, sink: sink, at: from}
	if from == 0 {
		err = st.list(ctx)
	} else {
		err = st.checkResume(ctx)
	}
	if err != nil {
		return err
	}
	return st.watch(ctx)
}

// stream is the state of one call to Stream.
type stream struct {
	*Source
	keyspace keyspace
	sink     source.Sink
	at       api.ResourceVersion // everything up to this version was delivered
}

// strangeKeys logs each key that does not have the form of an object key, once per key.
type strangeKeys struct {
	logger *slog.Logger
	mu     sync.Mutex
	seen   map[string]struct{}
}

// maxStrangeKeys limits how many keys strangeKeys stores and logs.
const maxStrangeKeys = 1000

func (s *strangeKeys) report(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.seen[string(key)]; ok || len(s.seen) >= maxStrangeKeys {
		return
	}
	if s.seen == nil {
		s.seen = map[string]struct{}{}
	}
	s.seen[string(key)] = struct{}{}
	s.logger.Warn("ignoring an etcd key that does not have the form of an object's key; is another program writing under this prefix?",
		"key", string(key))
	if len(s.seen) == maxStrangeKeys {
		s.logger.Warn("too many invalid etcd keys; further ones are ignored without a log message", "limit", maxStrangeKeys)
	}
}
