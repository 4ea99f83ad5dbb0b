package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
	"github.com/watchglass/watchglass/host/source/sourcetest"
)

var (
	configMaps = sourcetest.ConfigMaps
	server     *embedetcd.Server // shared by all tests
	prefixes   atomic.Int64
)

func TestMain(m *testing.M) {
	var err error
	if server, err = embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	server.Close()
	os.Exit(code)
}

// fresh returns a configuration with a unique prefix, so that tests do not share keys.
func fresh() etcd.Config {
	return etcd.Config{
		Prefix:           fmt.Sprintf("/test-%d", prefixes.Add(1)),
		PageSize:         7,
		ProgressInterval: time.Second,
	}
}

func open(t *testing.T, config etcd.Config) (*etcd.Source, *etcd.Writer) {
	src, err := etcd.New(server.Client(), config)
	require.NoError(t, err)
	writer, err := etcd.NewWriter(server.Client(), config)
	require.NoError(t, err)
	return src, writer
}

func compact(t *testing.T, rv api.ResourceVersion) {
	t.Helper()
	_, err := server.Client().Compact(context.Background(), int64(rv))
	require.NoError(t, err)
}

func put(t *testing.T, key, value string) api.ResourceVersion {
	t.Helper()
	resp, err := server.Client().Put(context.Background(), key, value)
	require.NoError(t, err)
	return api.ResourceVersion(resp.Header.Revision)
}

// The suite checks that the source follows the rules E2, E3, E5, E7, E8, E9, E11, E13,
// E17, E19, E23, E25 and E28.
func TestContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Harness {
		config := fresh()
		src, writer := open(t, config)
		return sourcetest.Harness{Source: src, Writer: writer, Compact: compact, PageSize: config.PageSize}
	})
}

// sink forwards calls to the functions that are set.
type sink struct {
	object   func(api.Key) error
	endList  func() error
	changes  func([]source.Change) error
	progress func(api.ResourceVersion) error
	wanted   chan struct{}
}

func (s *sink) Identify(string) error   { return nil }
func (s *sink) BeginList() error        { return nil }
func (s *sink) Wanted() <-chan struct{} { return s.wanted }

func (s *sink) Object(key api.Key, _ api.ResourceVersion, _ []byte) error {
	if s.object == nil {
		return nil
	}
	return s.object(key)
}

func (s *sink) EndList(api.ResourceVersion) error {
	if s.endList == nil {
		return nil
	}
	return s.endList()
}

func (s *sink) Changes(changes []source.Change) error {
	if s.changes == nil {
		return nil
	}
	return s.changes(changes)
}

func (s *sink) Progress(rv api.ResourceVersion) error {
	if s.progress == nil {
		return nil
	}
	return s.progress(rv)
}

// await waits until event is closed. It fails the test if the stream ends first.
func await(t *testing.T, event <-chan struct{}, done <-chan error) {
	t.Helper()
	select {
	case <-event:
	case err := <-done:
		require.FailNow(t, "the stream ended too early", "%v", err)
	}
}

var errEnough = errors.New("seen enough")

func TestE6_CompactionDuringPagingIsA410(t *testing.T) {
	config := fresh()
	src, _ := open(t, config)
	for i := range 2 * config.PageSize {
		put(t, fmt.Sprintf("%s/configmaps/a/%02d", config.Prefix, i), "1")
	}
	first := true
	err := src.Stream(t.Context(), configMaps, 0, &sink{object: func(api.Key) error {
		if first {
			first = false
			compact(t, put(t, config.Prefix+"/configmaps/a/00", "2"))
		}
		return nil
	}})
	require.ErrorIs(t, err, api.Expired(""))
	assert.ErrorContains(t, err, config.Prefix+"/configmaps/")
}

// A slow sink slows etcd down. If etcd compacts revisions that the sink has not
// received, the stream ends with 410.
func TestE19_CompactionOvertakesASlowStream(t *testing.T) {
	config := fresh()
	src, _ := open(t, config)
	key := config.Prefix + "/configmaps/a/a"
	put(t, key, "0")
	listed, behind := make(chan struct{}), make(chan struct{})
	var seen atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- src.Stream(t.Context(), configMaps, 0, &sink{
			endList: func() error { close(listed); return nil },
			changes: func(c []source.Change) error { <-behind; seen.Add(int64(len(c))); return nil },
		})
	}()
	await(t, listed, done)
	const writes = 3000 // exceeds the buffers of gRPC and the server
	var last api.ResourceVersion
	for range writes {
		last = put(t, key, strings.Repeat("x", 1<<14))
	}
	compact(t, last)
	close(behind)
	require.ErrorIs(t, <-done, api.Expired(""))
	assert.Less(t, seen.Load(), int64(writes), "the stream was not buffered without limit")
}

// A stream of configmaps does not read the keys of resources with similar names, such as
// configmaps2 (rule E1).
func TestPrefixIsolation(t *testing.T) {
	config := fresh()
	src, _ := open(t, config)
	p := config.Prefix
	put(t, p+"/configmaps/a/mine", "1")
	for _, key := range []string{p + "/configmaps2/a/x", p + "/configmapsmetrics/a/x", p + "2/configmaps/a/x", p + "/configmap/a/x"} {
		put(t, key, "1")
	}
	var keys []api.Key
	err := src.Stream(t.Context(), configMaps, 0, &sink{
		object: func(k api.Key) error { keys = append(keys, k); return nil },
		endList: func() error {
			put(t, p+"/configmaps2/a/y", "2")
			put(t, p+"/configmaps/a/last", "2")
			return nil
		},
		changes: func(changes []source.Change) error {
			for _, c := range changes {
				keys = append(keys, c.Key)
			}
			return errEnough
		},
	})
	require.Same(t, errEnough, err)
	assert.Equal(t, []api.Key{"a/mine", "a/last"}, keys)
}

func TestUnknownKeysAreSkippedAndLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	config := fresh()
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	src, _ := open(t, config)
	p := config.Prefix + "/configmaps/"
	for _, key := range []string{"noslash", "a/b/c", "/x", "a/", "a/good"} {
		put(t, p+key, "1")
	}
	var keys []api.Key
	err := src.Stream(t.Context(), configMaps, 0, &sink{
		object: func(k api.Key) error { keys = append(keys, k); return nil },
		endList: func() error {
			put(t, p+"noslash", "2")
			put(t, p+"a/last", "2")
			return nil
		},
		changes: func(changes []source.Change) error {
			for _, c := range changes {
				keys = append(keys, c.Key)
			}
			return errEnough
		},
	})
	require.Same(t, errEnough, err)
	assert.Equal(t, []api.Key{"a/good", "a/last"}, keys)
	assert.Equal(t, 1, strings.Count(log.String(), p+"noslash"))
	assert.Equal(t, 4, strings.Count(log.String(), "level=WARN"))
}

func TestResourceKeysMatchKubernetes(t *testing.T) {
	config := fresh()
	src, _ := open(t, config)
	put(t, config.Prefix+"/minions/node-1", "1")
	put(t, config.Prefix+"/deployments/a/web", "1")
	assert.Equal(t, []api.Key{"node-1"}, list(t, src, sourcetest.Nodes))
	assert.Equal(t, []api.Key{"a/web"}, list(t, src, api.Resource{Group: "apps", Version: "v1", Name: "deployments"}))
}

func TestCustomResourceKeysContainTheGroup(t *testing.T) {
	config := fresh()
	gadgets := api.Resource{Group: "example.com", Version: "v1", Name: "gadgets"}
	config.Resources = []api.Schema{{Resource: gadgets, Namespaced: true}}
	src, _ := open(t, config)
	put(t, config.Prefix+"/example.com/gadgets/a/web", "1")
	assert.Equal(t, []api.Key{"a/web"}, list(t, src, gadgets))
}

func TestPathsMoveAResource(t *testing.T) {
	config := fresh()
	config.Paths = map[api.Resource]string{configMaps: "elsewhere"}
	src, _ := open(t, config)
	put(t, config.Prefix+"/elsewhere/a/map", "1")
	assert.Equal(t, []api.Key{"a/map"}, list(t, src, configMaps))
}

func list(t *testing.T, src *etcd.Source, resource api.Resource) (keys []api.Key) {
	t.Helper()
	err := src.Stream(t.Context(), resource, 0, &sink{
		object:  func(k api.Key) error { keys = append(keys, k); return nil },
		endList: func() error { return errEnough },
	})
	require.Same(t, errEnough, err)
	return keys
}

func TestE25_LargeTransactionIsNotSplit(t *testing.T) {
	config := fresh()
	src, writer := open(t, config)
	var writes []source.Write
	for i := range 128 { // 1.3 MB: more than one gRPC window, close to etcd's limit
		writes = append(writes, source.Write{Resource: configMaps, Key: api.NewKey("a", fmt.Sprintf("%03d", i)), Value: bytes.Repeat([]byte("x"), 10_000)})
	}
	err := src.Stream(t.Context(), configMaps, 0, &sink{
		endList: func() error { _, err := writer.Txn(t.Context(), writes...); return err },
		changes: func(changes []source.Change) error {
			assert.Len(t, changes, len(writes))
			return errEnough
		},
	})
	require.Same(t, errEnough, err)
}

func TestE10_AStreamEndsWhenTheLeaderIsLost(t *testing.T) {
	servers, err := embedetcd.StartCluster(3, embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	defer servers[0].Close()
	src, err := etcd.New(servers[0].Client(), etcd.Config{})
	require.NoError(t, err)
	var once sync.Once
	live := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- src.Stream(t.Context(), configMaps, 0, &sink{progress: func(api.ResourceVersion) error {
			once.Do(func() { close(live) })
			return nil
		}})
	}()
	await(t, live, done)
	servers[1].Close()
	servers[2].Close()
	err = <-done
	require.ErrorContains(t, err, "no leader")
	var status *api.Status
	assert.False(t, errors.As(err, &status), "it can be retried")
}

func TestAStoppedServerEndsTheStream(t *testing.T) {
	server, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	client, err := clientv3.New(clientv3.Config{Endpoints: server.Endpoints(), Logger: zap.NewNop()})
	require.NoError(t, err)
	defer client.Close()
	src, err := etcd.New(client, etcd.Config{})
	require.NoError(t, err)
	stop, stopped := sync.Once{}, make(chan struct{})
	err = src.Stream(t.Context(), configMaps, 0, &sink{progress: func(api.ResourceVersion) error {
		go stop.Do(func() { defer close(stopped); server.Close() })
		return nil
	}})
	<-stopped
	require.ErrorContains(t, err, server.Endpoints()[0])
	require.ErrorContains(t, err, "/registry/configmaps/")

	src, err = etcd.New(client, etcd.Config{RequestTimeout: 100 * time.Millisecond})
	require.NoError(t, err)
	err = src.Stream(t.Context(), configMaps, 0, &sink{})
	require.ErrorContains(t, err, "cannot connect: check that etcd listens on this address, and whether it requires TLS")
	assert.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context did not end")
}

func TestReady(t *testing.T) {
	src, err := etcd.New(server.Client(), etcd.Config{})
	require.NoError(t, err)
	require.NoError(t, src.Ready(t.Context()))

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer client.Close()
	src, err = etcd.New(client, etcd.Config{RequestTimeout: 100 * time.Millisecond})
	require.NoError(t, err)
	require.EqualError(t, src.Ready(t.Context()),
		"etcd 127.0.0.1:1: cannot connect: check that etcd listens on this address, and whether it requires TLS")
	_, err = src.ClusterID(t.Context())
	require.ErrorContains(t, err, "cannot connect")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, src.Ready(ctx), context.Canceled)
}

func TestConfigIsChecked(t *testing.T) {
	_, err := etcd.New(server.Client(), etcd.Config{PageSize: -1})
	assert.ErrorContains(t, err, "must not be negative")
	_, err = etcd.New(clientv3.NewCtxClient(t.Context()), etcd.Config{})
	assert.ErrorContains(t, err, "clientv3.New")
}

// A stream requests progress as soon as a reader wants it. With only the regular
// requests, one per hour, twenty responses would take most of a day.
func TestC35_WantedProgressIsRequestedImmediately(t *testing.T) {
	config := fresh()
	config.ProgressInterval = time.Hour
	src, writer := open(t, config)
	_, err := writer.Txn(t.Context(), source.Write{Resource: configMaps, Key: "a/a", Value: []byte(`{}`)})
	require.NoError(t, err)
	wanted, reached := make(chan struct{}, 1), make(chan api.ResourceVersion)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- src.Stream(ctx, configMaps, 0, &sink{wanted: wanted, progress: func(rv api.ResourceVersion) error {
			select {
			case reached <- rv:
			case <-ctx.Done():
			}
			return nil
		}})
	}()
	<-reached // shortly after its start, the stream requests progress by itself
	for range 20 {
		rv := put(t, config.Prefix+"-elsewhere", "x")
		for at := api.ResourceVersion(0); at < rv; {
			select {
			case wanted <- struct{}{}:
			case at = <-reached:
			case err := <-ended:
				t.Fatal(err)
			}
		}
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
