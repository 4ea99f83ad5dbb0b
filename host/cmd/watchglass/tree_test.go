package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/workerd/workerdtest"
)

// tree consists of the edge object home, which two connectors feed, and the edge object
// region, which reads from home.
type tree struct {
	*testing.T
	address string
	token   string // path of a file with the token
	store   *embedetcd.Server
	churn   func()
	readers []*command
	changes int
}

func startTree(t *testing.T) *tree {
	needsModule(t)
	r := &tree{T: t, address: workerdtest.Objects(t, "../../.."), token: file(t, "token", workerdtest.FeedGrant), store: startEtcd(t)}
	r.churn = simulate(t, r.store)
	return r
}

func (r *tree) push() *command {
	return start(r.T, "push", "ws://"+r.address+"/home/feed", "--resources", "pods", "--token-file", r.token, "--etcd-endpoints", r.store.Endpoints()[0])
}

// read starts a reader of an edge object, and returns the file to which the reader records
// its events.
func (r *tree) read(object, name string, args ...string) (file string) {
	file = filepath.Join(r.TempDir(), name+".jsonl")
	args = append([]string{"watch", "pods", "-o", "json", "--record", file, "--server", "ws://" + r.address + "/" + object + "/watch", "--token", workerdtest.Grant}, args...)
	c := start(r.T, args...)
	c.find(`"ADDED"`)
	r.readers = append(r.readers, c)
	return file
}

// change makes many changes, then adds a pod, and waits until every reader has received
// the pod.
func (r *tree) change() {
	r.Helper()
	r.churn()
	r.changes++
	name := fmt.Sprintf("changes-%d", r.changes)
	putPod(r.T, r.store, name)
	for _, reader := range r.readers {
		reader.find(`"` + name + `"`)
	}
}

// Readers of a home object and of a region receive every change once and in order (rules
// G1 to G17). Failures between the readers and the cluster do not change this.
func TestReadersOfATreeReceiveEachChangeOnce(t *testing.T) {
	r := startTree(t)
	atSource := filepath.Join(t.TempDir(), "source.jsonl")
	source := start(t, "record", "pods", atSource, "--etcd-endpoints", r.store.Endpoints()[0])
	source.find("recording v1/pods of etcd")
	active := r.push()
	require.Eventually(t, func() bool { return len(requestObject(t, r.address, "home", "/status").Feeds.Connected) == 1 }, time.Minute, 10*time.Millisecond)
	r.push()
	require.Eventually(t, func() bool { return len(requestObject(t, r.address, "home", "/status").Feeds.Connected) == 2 }, time.Minute, 10*time.Millisecond)
	files := []string{r.read("region", "all", "-A"), r.read("region", "one", "-n", "default"), r.read("home", "home", "-A")}
	r.change()

	assert.Zero(t, active.stop(), active.log)
	r.change() // through the second connector

	awake := requestObject(t, r.address, "home", "/status").AwakeSince
	require.Eventually(t, func() bool { return requestObject(t, r.address, "home", "/status").Settled }, time.Minute, 10*time.Millisecond)
	requestObject(t, r.address, "home", "/evict") // the platform also evicts idle objects
	r.change()
	assert.Greater(t, requestObject(t, r.address, "home", "/status").AwakeSince, awake, "home was out of memory")

	requestObject(t, r.address, "home", "/break") // home loses its unsaved data
	r.change()
	require.Eventually(t, func() bool {
		pods := requestObject(t, r.address, "region", "/status").Resources["v1/pods"]
		return pods.Stored.ResourceVersion == pods.ResourceVersion
	}, time.Minute, 10*time.Millisecond, "what a region has stored is of use for as long as home remembers what came next")
	r.change()
	requestObject(t, r.address, "region", "/break")
	r.change()

	for _, reader := range r.readers {
		assert.Zero(t, reader.stop(), reader.log)
	}
	untilRecorded(t, atSource, fmt.Sprintf("changes-%d", r.changes))
	assert.Zero(t, source.stop(), source.log)
	c := start(t, append([]string{"verify", atSource}, files...)...)
	<-c.ended
	require.Zero(t, c.code, c.log)
	assert.Contains(t, c.out.String(), ": 3 watches, ")
	assert.Contains(t, c.out.String(), " 3 lists, 0 relists;", "they resumed, each time")
}
